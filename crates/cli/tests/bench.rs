//! `bench` and `report` of its records start the program `blockmill-bench`: next to this one, else
//! on `PATH`.

#![cfg(unix)]

use crate::program::{Scratch, blockmill, command, document, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with this program alone.
fn program_in(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).expect("a folder");
    let (from, to) = (env!("CARGO_BIN_EXE_blockmill"), folder.join("blockmill"));
    if fs::hard_link(from, &to).is_err() {
        written_by("cp \"$1\" \"$0\"", &to, from);
    }
    to
}

/// Has a shell write the program `path`. A file that this process writes may still be open for
/// writing in a child that another test starts at the same time, and could not be executed.
fn written_by(script: &str, path: &Path, argument: &str) {
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", script]).arg(path).arg(argument).status().expect("sh");
    assert!(status.success(), "{script}");
}

/// A program in the place of `blockmill-bench`: it prints its name, its process and its arguments.
fn bench_in(folder: &Path, name: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let program = format!("#!/bin/sh\necho {name} $$\nfor word; do echo \"$word\"; done\nexit 7\n");
    let script = "printf %s \"$1\" >\"$0\" && chmod +x \"$0\"";
    written_by(script, &folder.join("blockmill-bench"), &program);
}

/// What the other program was started with, and whether it took the place of this one.
fn started(command: &mut Command) -> Vec<String> {
    let child = command.spawn().expect("the program starts");
    let id = child.id().to_string();
    let ended = crate::program::wait(child, "bench");
    assert_eq!(ended.code, Some(7), "its exit code: {}", ended.stderr);
    let mut lines: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
    let first = lines.remove(0);
    let (name, process) = first.split_once(' ').expect("a name and a process");
    assert_eq!(process, id, "the same process");
    lines.insert(0, name.to_owned());
    lines
}

#[test]
fn the_program_next_to_this_one_comes_before_the_path() {
    let scratch = Scratch::new("bench-next");
    let program = program_in(&scratch.path("here"));
    bench_in(&scratch.path("path"), "on-path");
    let path = format!("{}:/usr/bin:/bin", scratch.path("path").display());
    let words = "bench headers --ladder --help";
    assert_eq!(
        started(command(&program, words).env("PATH", &path)),
        ["on-path", "headers", "--ladder", "--help"]
    );
    bench_in(&scratch.path("here"), "next");
    assert_eq!(
        started(command(&program, words).env("PATH", &path)),
        ["next", "headers", "--ladder", "--help"]
    );
    for (words, expected) in [
        ("--json bench headers --pairs 1", "next headers --json --pairs 1"),
        ("bench --json report x", "next report --json x"),
        ("bench --list", "next --list"),
        ("-q bench headers", "next headers --quiet"),
        ("--color never bench -v headers", "next headers --verbose --color=never"),
        ("bench", "next"),
    ] {
        assert_eq!(started(&mut command(&program, words)).join(" "), expected, "{words}");
    }
}

#[test]
fn completions_and_the_manual_have_the_flags_of_bench_and_the_names_of_benches() {
    let scratch = Scratch::new("bench-manual");
    // those of fish have no values of arguments without a flag
    let (flags, names) = (&["ablate", "history"][..], &["rlp-hash-each", "reindex-index"][..]);
    for (shell, words) in
        [("bash", [flags, names]), ("zsh", [flags, names]), ("fish", [flags, &[]])]
    {
        let script = run(&mut blockmill(&format!("completions {shell}"))).stdout;
        for word in words.concat() {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let ended = run(blockmill("man").arg(scratch.path("man")));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let page = fs::read_to_string(scratch.path("man/blockmill-bench.1")).expect("a page");
    for word in ["ablate", "history", "rlp\\-hash\\-each"] {
        assert!(page.contains(word), "{word}: {page}");
    }
}

#[test]
fn a_record_of_a_bench_is_handed_over_with_all_that_was_asked_for() {
    let scratch = Scratch::new("bench-record");
    let program = program_in(&scratch.path("here"));
    bench_in(&scratch.path("here"), "next");
    let record = scratch.path("bench.json");
    fs::write(&record, r#"{"schema": 2, "comparisons": []}"#).expect("a file");
    let mut command = command(&program, "--json report --out o");
    let record = record.display().to_string();
    let expected = ["next", "report", "--out", "o", "--json", "--", &record];
    assert_eq!(started(command.arg(&record)), expected);
}

#[test]
fn without_the_other_program_the_message_says_how_to_get_it() {
    let scratch = Scratch::new("bench-none");
    let program = program_in(&scratch.path("here"));
    let alone = |words: &str| run(command(&program, words).env("PATH", scratch.path("empty")));
    let ended = alone("bench headers");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    for part in ["cannot start blockmill-bench", "cargo build --release -p blockmill-bench"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    let document = document(&alone("--json bench headers"));
    assert_eq!((&document["command"], &document["exit_code"]), (&"bench".into(), &5.into()));
}

#[test]
fn the_help_names_the_other_program() {
    let ended = run(&mut blockmill("help bench"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("blockmill-bench"), "{}", ended.stdout);
}
