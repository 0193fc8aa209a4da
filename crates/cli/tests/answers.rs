//! Every end of a command has its exit code and its document, and is said once.

use crate::program::{Ended, Scratch, blockmill, document, run, succeed};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A small archive of 30 blocks.
fn blocks(scratch: &Scratch) -> PathBuf {
    let path = scratch.path("blocks.rlp");
    succeed(blockmill("generate ethereum --headers 30 --format rlp --out").arg(&path));
    path
}

/// How a command ends with `--json`: its document, after the checks that hold for all.
fn ends(words: &str, path: Option<&Path>, status: &str) -> Value {
    let ended = run(blockmill(&format!("--json {words}")).args(path));
    let document = document(&ended);
    assert_eq!(document["status"], status, "{words}: {document}");
    assert!(!ended.stderr.contains("panicked"), "{words}: {}", ended.stderr);
    let failed = document["exit_code"] != 0 && status != "interrupted";
    let has_error = document["error"]["message"].as_str().is_some_and(|text| !text.is_empty());
    let finds = words.starts_with("inspect");
    assert_eq!(failed && !finds, has_error, "{words}: {document}");
    document
}

#[test]
fn each_end_has_a_document_and_an_exit_code() {
    let scratch = Scratch::new("answers");
    let blocks = blocks(&scratch);
    let document = ends("verify --seal off --level bodies", Some(&blocks), "verified");
    assert_eq!(document["command"], "verify");
    assert_eq!(document["result"]["result"]["tip_number"], 30);
    assert_eq!(document["result"]["result"]["status"], "verified");
    ends("inspect", Some(&blocks), "ok");
    let missing = scratch.path("missing");
    let document = ends("verify", Some(&missing), "usage");
    assert!(document["error"]["message"].as_str().unwrap().contains("missing"), "{document}");
    let document = ends("verify --no-such-flag", None, "usage");
    assert_eq!(document["command"], "");
    ends("verify", None, "usage");
    ends("verify --threads 0", Some(&blocks), "usage");
    ends("import --chunk 0", Some(&blocks), "usage");
    let store = blocks.join("store");
    ends(&format!("import --data {}", store.display()), Some(&blocks), "environment");
    assert!(!store.exists());
}

#[test]
fn a_fault_and_corruption_are_reported_in_fields() {
    let scratch = Scratch::new("answers-fault");
    let blocks = blocks(&scratch);
    let good = fs::read(&blocks).unwrap();
    let mut wrong = good.clone();
    // the last byte of the last header's parent hash
    let last = good.len() - 600;
    let at = last + good[last..].windows(2).position(|pair| pair == [0xf9, 0x02]).unwrap();
    wrong[at + 3 + 3 + 1 + 31] ^= 1;
    fs::write(&blocks, &wrong).unwrap();
    let document = ends("verify --seal off --level bodies", Some(&blocks), "invalid");
    let error = &document["error"];
    assert_eq!(error["block"], 30, "{document}");
    assert_eq!(error["rule"], "parent hash", "{document}");
    for part in ["hash", "file", "offset", "expected", "found", "hint"] {
        assert!(!error[part].is_null(), "{part}: {document}");
    }
    assert_eq!(document["result"]["result"]["fault"], *error);

    fs::write(&blocks, &good[..good.len() - 1]).unwrap();
    let document = ends("verify --seal off --level bodies", Some(&blocks), "incomplete");
    assert_eq!(document["shortfalls"][0]["kind"], "cut", "{document}");
    assert_eq!(document["result"]["result"]["tip_number"], 29, "{document}");

    let mut wrong = good;
    // the last header is no list any more
    wrong[at + 3] = 0xb9;
    fs::write(&blocks, &wrong).unwrap();
    let document = ends("verify --seal off --level bodies", Some(&blocks), "corrupt");
    assert!(document["error"]["offset"].is_u64(), "{document}");
    assert_eq!(document["result"]["result"]["tip_number"], 29, "{document}");
}

#[test]
fn an_error_is_said_once_and_on_standard_error() {
    let scratch = Scratch::new("answers-once");
    let missing = scratch.path("missing");
    let Ended { code, stdout, stderr } = run(blockmill("verify").arg(&missing));
    assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
    assert_eq!(stderr.matches("No such file").count(), 1, "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
}

#[test]
fn names_in_the_config_file_that_nothing_has_are_errors() {
    let scratch = Scratch::new("answers-config");
    let blocks = blocks(&scratch);
    let config = scratch.path("config.toml");
    for (text, code) in [
        ("[verify]\nseal = 'off'", 0),
        ("[verify]\nseals = 'off'", 2),
        ("[verity]\nseal = 'off'", 2),
        ("seal = 'off'", 2),
    ] {
        fs::write(&config, text).unwrap();
        let ended =
            run(blockmill("verify --seal off --level bodies --config").arg(&config).arg(&blocks));
        assert_eq!(ended.code, Some(code), "{text}: {}", ended.stderr);
    }
}

#[test]
fn a_log_gets_what_is_said_and_no_other_file_is_touched() {
    let scratch = Scratch::new("answers-log");
    let (blocks, log) = (blocks(&scratch), scratch.path("log"));
    for runs in 1..=2 {
        let said =
            succeed(blockmill("verify --seal off --level bodies --log").arg(&log).arg(&blocks));
        let text = fs::read_to_string(&log).unwrap();
        assert_eq!(text.matches(" begins: ").count(), runs, "{text}");
        assert_eq!(text.matches("Verified 31 blocks").count(), runs, "{text}");
        assert!(said.lines().all(|line| text.contains(line)), "{said} is not all in {text}");
        assert!(text.lines().all(|line| line.as_bytes()[19] == b'Z'), "{text}");
    }
    let before = fs::read(&blocks).unwrap();
    let ended = run(blockmill("verify --seal off --level bodies --log").arg(&blocks).arg(&blocks));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(fs::read(&blocks).unwrap(), before);
}

#[test]
fn messages_say_what_fits_to_what_is_there() {
    let scratch = Scratch::new("answers-hints");
    let chain = scratch.path("chain.rlp");
    succeed(blockmill("generate ethereum --headers 100 --format rlp --out").arg(&chain));
    let path = chain.display().to_string();
    for (words, code, said) in [
        ("check", 6, "hint: an archive: `verify` checks it"),
        ("verify --level bodies --from 100 --until 50", 2, "--until 50 is before --from 100"),
        ("report", 2, "not a run record"),
    ] {
        let ended = run(blockmill(words).arg(&chain));
        assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
        assert!(ended.stderr.contains(said), "{words}: {}", ended.stderr);
        assert!(ended.stderr.matches(&path).count() < 2, "{words}: {}", ended.stderr);
    }
    // tables that every chain has are the default
    let to = scratch.path("tables");
    let words = "export --seal off --level bodies --to";
    succeed(blockmill(words).arg(&to).arg(&chain));
    for table in ["blocks", "transactions"] {
        let files = std::fs::read_dir(&to).expect("tables").flatten();
        let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        assert!(names.any(|name| name.contains(table)), "{table}");
    }
}
