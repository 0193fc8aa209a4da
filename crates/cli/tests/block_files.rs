//! Block files that lack blocks or are damaged: `verify`, `import` and `convert` say so, each with
//! an exit code of its own; and nothing is said to be stored that is not.

use crate::program::{Scratch, blockmill, run, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Exit code of an archive that lacks something.
const INCOMPLETE: i32 = 3;

fn generate(folder: &Path) {
    let recipe = "--inputs 1000 --blocks 300 --file-size 60000 --xor";
    succeed(blockmill("generate bitcoin").args(recipe.split(' ')).arg("--out").arg(folder));
}

/// Runs a command, which ends with this code and status; its document.
fn ends(command: &mut Command, code: i32, status: &str) -> Value {
    let ended = run(command.arg("--json"));
    assert_eq!(ended.code, Some(code), "{command:?}\n{}{}", ended.stdout, ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(document["status"], status, "{document}");
    document
}

#[test]
fn a_missing_block_file_is_incomplete_and_expected_only_when_said() {
    let scratch = Scratch::new("missing-block-file");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    generate(&blocks);
    let verify = |words: &str| {
        let mut command = blockmill("verify");
        command.arg(&blocks).args(words.split_whitespace());
        command
    };
    ends(&mut verify(""), 0, "verified");
    fs::remove_file(blocks.join("blk00001.dat")).expect("a second file");
    for words in ["", "--level bodies", "--level headers"] {
        let document = ends(&mut verify(words), INCOMPLETE, "incomplete");
        let kinds: Vec<&str> = document["shortfalls"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|shortfall| shortfall["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["unconnected", "missing-blocks"], "{words}: {document}");
        assert!(document["shortfalls"][0]["blocks"].as_u64() > Some(100), "{document}");
        assert_eq!(document["result"]["result"]["status"], "incomplete");
        ends(verify(words).arg("--partial"), 0, "partial");
        // a person reads the same
        let ended = run(&mut verify(words));
        assert!(ended.stdout.starts_with("Incomplete: "), "{}", ended.stdout);
        let ended = run(verify(words).arg("--partial"));
        assert!(ended.stdout.starts_with("Partly verified: "), "{}", ended.stdout);
    }
    let import = || {
        let mut command = blockmill("import --data");
        command.arg(&store).arg(&blocks);
        command
    };
    ends(&mut import(), INCOMPLETE, "incomplete");
    ends(import().arg("--partial"), 0, "partial");
    for (to, out) in [("blk", "in-order"), ("core", "datadir")] {
        let convert = |out: &str| {
            let mut command = blockmill("convert --to");
            command.arg(to).arg("--data").arg(&store).arg("--out").arg(scratch.path(out));
            command.arg(&blocks);
            command
        };
        ends(&mut convert(out), INCOMPLETE, "incomplete");
        ends(convert(&format!("{out}-again")).arg("--partial"), 0, "partial");
    }
}

#[test]
fn block_files_that_are_no_files_are_refused_at_once() {
    for path in ["/dev/zero", "/dev/null"] {
        for verb in ["verify", "import --data nowhere", "convert --to blk --out nowhere"] {
            let ended = run(blockmill(verb).args(["--chain", "regtest", path]));
            assert_eq!(ended.code, Some(2), "{verb} {path}: {}{}", ended.stdout, ended.stderr);
            assert!(ended.stderr.contains("found a device"), "{}", ended.stderr);
        }
    }
    assert!(!Path::new("nowhere").exists());
}

#[test]
fn what_a_killed_process_left_is_not_in_the_way_of_one_with_its_number() {
    let scratch = Scratch::new("verify-beside-leftovers");
    let blocks = scratch.path("blocks");
    generate(&blocks);
    let temporary = scratch.path("temporary");
    // processes to come have the next numbers
    for process in 0..5_000 {
        let left = format!("blockmill-verify-{}", std::process::id() + process);
        fs::create_dir_all(temporary.join(left)).expect("a folder");
    }
    let mut command = blockmill("verify");
    ends(command.arg(&blocks).env("TMPDIR", &temporary), 0, "verified");
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 5_000);
}

#[test]
fn nothing_new_is_said_of_whole_files_only_and_never_before_a_failure() {
    let scratch = Scratch::new("nothing-new-block-files");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    generate(&blocks);
    let import = || {
        let mut command = blockmill("import --data");
        command.arg(&store).arg(&blocks);
        command
    };
    ends(&mut import(), 0, "verified");
    let again = run(&mut import());
    assert!(again.stdout.contains("nothing new"), "{}", again.stdout);
    assert!(again.stdout.contains("300 blocks that the store has were read again"), "{again:?}");
    // a byte of a body, which no header shows
    let file = blocks.join("blk00001.dat");
    let mut bytes = fs::read(&file).expect("a block file");
    bytes[8 + 80 + 60] ^= 1;
    fs::write(&file, bytes).expect("a block file");
    let ended = run(&mut import());
    assert!(matches!(ended.code, Some(1 | 4)), "{ended:?}");
    assert!(!ended.stdout.contains("nothing new"), "{}", ended.stdout);
    assert!(ended.stderr.contains("blk00001.dat"), "{}", ended.stderr);
    // the store is as good as before
    assert!(ended.stderr.contains("everything up to height 300 is verified"), "{}", ended.stderr);
}

#[test]
fn nothing_is_said_to_be_committed_that_cannot_be_read_again() {
    let scratch = Scratch::new("committed-block-files");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    generate(&blocks);
    // at level bodies nothing is kept but the index
    let mut command = blockmill("import --level bodies --data");
    let ended = run(command.arg(&store).arg(&blocks));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("stored         nothing"), "{}", ended.stdout);
    assert!(ended.stdout.contains("level bodies keeps no coins"), "{}", ended.stdout);
}

#[test]
fn more_memory_than_there_is_and_no_time_at_all_are_refused() {
    let scratch = Scratch::new("cache-of-block-files");
    let blocks = scratch.path("blocks");
    generate(&blocks);
    let refused = |words: &str, expected: &str| {
        let ended = run(blockmill(words).arg(&blocks));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    };
    refused("verify --cache 1048575", "--cache 1048575: expected fewer MiB than this machine has");
    refused("verify --commit-every 0", "--commit-every");
}
