//! How the program ends: stopped, without a reader, with odd names, on the folder of another, in
//! another build, and on a command line that is not understood.

#![cfg(target_os = "linux")]

use crate::signals::stop;
use crate::{Scratch, bench, document, run, succeed, succeed_json};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::pipe;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A bench of a moment, which writes into `folder`.
fn short(folder: &Path) -> Command {
    let mut command = bench("headers --set headers=2000 --pairs 1 --scratch");
    command.arg(folder.join("scratch")).arg("--out").arg(folder.join("out"));
    command
}

#[test]
fn measuring_stops() {
    let scratch = Scratch::new("bench-stop");
    for words in
        ["headers --set headers=3000000 --pairs 9", "rlp --pairs 99", "signatures --pairs 99"]
    {
        let start = || {
            let mut command = bench(words);
            command.arg("--scratch").arg(scratch.path("scratch"));
            command.arg("--out").arg(scratch.path("out"));
            command
        };
        stop(&start, |_| ());
    }
}

#[test]
fn a_reader_that_went_away_changes_no_verdict_and_a_full_output_is_trouble() {
    let scratch = Scratch::new("bench-stdout");
    let closed = || {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let full = || Stdio::from(File::options().write(true).open("/dev/full").expect("a device"));
    let ended = run(short(&scratch.path("closed")).stdout(closed()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("standard output"), "{}", ended.stderr);
    let ended = run(short(&scratch.path("full")).stdout(full()));
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("cannot write to standard output").count(), 1);
    for stderr in [closed(), full()] {
        assert_eq!(run(short(&scratch.path("unread")).stderr(stderr)).code, Some(0));
    }
}

#[test]
fn names_of_any_bytes_are_those_that_were_meant() {
    let scratch = Scratch::new("bench-odd-names");
    let folder = scratch.path("").join(OsStr::from_bytes(b"caf\xe9 \xff\xfe"));
    fs::create_dir(&folder).expect("a folder of that name");
    let mut command = bench("headers --set headers=2000 --pairs 1 --scratch odd-scratch --out");
    succeed(command.arg(folder.join("out")).current_dir(&folder));
    assert!(folder.join("out/index.html").exists() && folder.join("odd-scratch").exists());
    assert_eq!(fs::read_dir(scratch.path("")).expect("a folder").count(), 1);
}

#[test]
fn a_folder_of_others_is_refused_and_stays() {
    let scratch = Scratch::new("bench-foreign-folder");
    fs::create_dir(scratch.path("folder")).expect("a folder");
    fs::write(scratch.path("folder/kept"), "precious").expect("a file");
    let mut command = bench("headers --set headers=2000 --pairs 1 --scratch");
    let command = command.arg(scratch.path("scratch")).arg("--out").arg(scratch.path("folder"));
    let ended = run(command);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("expected"), "{}", ended.stderr);
    assert_eq!(fs::read(scratch.path("folder/kept")).expect("a file"), b"precious");
    assert!(!scratch.path("scratch").exists());
}

#[test]
fn what_this_program_was_built_without_is_refused_and_left_out() {
    let scratch = Scratch::new("bench-features");
    let folder = scratch.path("none");
    let mut command = bench("execution-flat-rocksdb --pairs 1 --benchmarks");
    command.arg(&folder).arg("--out").arg(scratch.path("out"));
    if blockmill_ethereum::state::HAS_ROCKSDB {
        let listed = succeed(bench("--list --benchmarks").arg(&folder));
        assert!(listed.contains("execution-flat-rocksdb"), "{listed}");
    } else {
        let ended = run(&mut command);
        assert_ne!(ended.code, Some(0));
        let needs = "needs a program that was built with `--features rocksdb`";
        assert!(ended.stderr.contains(needs), "{}", ended.stderr);
    }
}

#[test]
fn every_setting_step_option_value_and_peer_says_what_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = succeed_json(bench("all --list --benchmarks").arg(root.join("benchmarks")));
    let all = all.as_array().expect("a list");
    assert!(all.len() > 50, "{}", all.len());
    for one in all {
        let parts = ["steps", "options", "peers"].map(|part| one[part].as_array().expect("a list"));
        for part in parts.into_iter().flatten() {
            let about = part["about"].as_str().expect("a text");
            assert!(!about.is_empty(), "{}: {part}", one["name"]);
            let meanings = part["meanings"].as_object().into_iter().flatten();
            for (value, meaning) in meanings {
                assert!(meaning != "" && meaning != about, "{}: {value} of {part}", one["name"]);
            }
        }
    }
}

#[test]
fn each_end_has_a_document() {
    let scratch = Scratch::new("bench-documents");
    let listed = succeed_json(&mut bench("--list"));
    assert!(listed.as_array().is_some_and(|all| all.len() > 20), "{listed}");
    assert_eq!(succeed_json(&mut bench("")), listed, "by itself it lists what there is");
    for words in ["nothing", "headers --pairs 0", "--ladder", "report", "--ladder report x"] {
        let mut command = bench(words);
        let document = document(&run(command.arg("--json").current_dir(scratch.path(""))));
        assert_eq!(document["status"], "usage", "{words}: {document}");
        assert!(document["error"]["message"].is_string(), "{words}: {document}");
    }
}

#[test]
fn flags_of_the_config_file_hold_and_those_of_the_other_program_do_not_matter() {
    let scratch = Scratch::new("bench-config");
    let folder = scratch.path("");
    let text = "[import]\nthreads = 2\n[bench]\npairs = 1\nset = ['headers=1000']";
    fs::write(scratch.path("blockmill.toml"), text).expect("a file");
    let mut command = bench("headers --scratch scratch --out out");
    let session = succeed_json(command.current_dir(&folder));
    let comparison = &session["comparisons"][0];
    assert_eq!(comparison["settings"]["headers"], "1000", "{}", comparison["settings"]);
    assert_eq!(comparison["runs"].as_array().map(Vec::len), Some(5), "one to warm up, and a pair");
    fs::write(scratch.path("blockmill.toml"), "[bench]\nruns = 2").expect("a file");
    let ended = run(bench("headers").current_dir(&folder));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("runs: expected a flag"), "{}", ended.stderr);
}

#[test]
fn completions_and_the_manual_know_the_flags() {
    let scratch = Scratch::new("bench-manual");
    let script = succeed(&mut bench("completions bash"));
    assert!(script.contains("blockmill-bench") && script.contains("--ladder"), "{script}");
    succeed(bench("man").arg(scratch.path("")));
    let page = fs::read_to_string(scratch.path("blockmill-bench.1")).expect("a page");
    assert!(page.contains("\\-\\-sweep"), "{page}");
    assert!(scratch.path("blockmill-bench-report.1").exists());
}
