//! Block files that lack blocks or are corrupt: `verify`, `import` and `convert` say so, each with
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
    let scratch = Scratch::new("verify-with-leftovers");
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
    assert!(again.stdout.contains("Nothing new"), "{}", again.stdout);
    assert!(again.stdout.contains("300 blocks that the store has were read again"), "{again:?}");
    let until = run(import().args(["--until", "120"]));
    let text = "Nothing new: the store has all blocks up to height 120 already.";
    assert!(until.stdout.starts_with(text), "{}", until.stdout);
    // a byte of a body, which no header shows
    let file = blocks.join("blk00001.dat");
    let mut bytes = fs::read(&file).expect("a block file");
    bytes[8 + 80 + 60] ^= 1;
    fs::write(&file, bytes).expect("a block file");
    let ended = run(&mut import());
    assert!(matches!(ended.code, Some(1 | 4)), "{ended:?}");
    assert!(!ended.stdout.contains("Nothing new"), "{}", ended.stdout);
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
    assert!(ended.stdout.contains("stored       nothing"), "{}", ended.stdout);
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

/// What each command says of these block files.
fn verdicts(path: &Path, code: i32, status: &str) -> Vec<Value> {
    let scratch = Scratch::new("one-verdict");
    let (data, blk, core) = (scratch.path("data"), scratch.path("blk"), scratch.path("core"));
    let good = |command: &str| match (status, command) {
        ("verified", "inspect" | "convert") => "ok",
        _ => status,
    };
    let mut all = vec![];
    for words in ["verify", "verify --level headers", "inspect", "inspect --deep"] {
        let command = words.split(' ').next().unwrap();
        all.push(ends(blockmill(words).arg(path), code, good(command)));
    }
    for _ in 0..2 {
        all.push(ends(blockmill("import").arg(path).arg("--data").arg(&data), code, status));
    }
    let to_blk = |out: &Path| {
        let mut command = blockmill("convert --to blk");
        command.arg(path).arg("--out").arg(out);
        command
    };
    all.push(ends(&mut to_blk(&blk), code, good("convert")));
    let mut to_core = blockmill("convert --to core");
    to_core.arg(path).arg("--data").arg(&data).arg("--out").arg(&core);
    all.push(ends(&mut to_core, code, good("convert")));
    // what is written has all blocks, and no corruption
    for written in [&blk, &core.join("blocks"), &core.join("signet/blocks")] {
        if written.exists() {
            ends(blockmill("inspect --deep").arg(written), 0, "ok");
        }
    }
    all
}

#[blockmill_testkit::needs(cases)]
#[test]
fn a_corrupt_length_is_corruption_for_every_command() {
    let file = |name: &str| blockmill_testkit::case("14-bitcoin-damaged-length").join(name);
    for (name, offset, expected, found) in [
        ("core-mainnet-alt-lengthflip-at-88141.dat", 88_135, 169, 524_457),
        ("signet-0-120-lengthflip-at-21867.dat", 21_861, 329, 2_097_481),
    ] {
        for document in verdicts(&file(name), 4, "corrupt") {
            let error = &document["error"];
            assert_eq!(error["offset"], offset, "{error}");
            assert_eq!(error["expected"], format!("a length of {expected} bytes"));
            assert_eq!(error["found"], format!("{found} bytes"));
            assert!(error["file"].as_str().unwrap().ends_with(name), "{error}");
        }
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn junk_that_can_hold_no_block_is_a_note_for_every_command() {
    let folder = blockmill_testkit::case("10-junk-between-blocks");
    for (name, code, status) in [
        ("B01", INCOMPLETE, "incomplete"),
        ("B04", 0, "verified"),
        ("B06", INCOMPLETE, "incomplete"),
        ("B07a", 0, "verified"),
        ("B07b", 0, "verified"),
    ] {
        let all = verdicts(&folder.join(name), code, status);
        assert_eq!(all.len(), 8);
    }
}

/// `verify` of a path, which ends with a code and an error that has all of `words`.
fn refused(words: &str, path: &Path, code: i32, expected: &[&str]) {
    let ended = run(blockmill(words).arg(path));
    assert_eq!(ended.code, Some(code), "{words}: {}{}", ended.stdout, ended.stderr);
    let text = format!("{}{}", ended.stdout, ended.stderr);
    for word in expected {
        assert!(text.contains(word), "{words} {}: no {word:?} in\n{text}", path.display());
    }
}

#[blockmill_testkit::needs(cases)]
#[test]
fn block_files_with_another_key_are_named_with_it() {
    let folder = blockmill_testkit::case("09-lost-xor-key");
    let key = "obfuscated with the key a1b2c3d4e5f60718";
    let write = "write these 8 bytes to it";
    refused("verify", &folder.join("B05a"), 6, &[key, write]);
    refused("verify", &folder.join("B05b"), 6, &[key, "missing or holds zeros", write]);
    let plain = ["plain blocks of mainnet", "xor.dat next to them holds the key a1b2c3d4e5f60718"];
    refused("verify", &folder.join("B05i"), 6, &plain);
    for words in ["verify", "verify --level execution", "verify --chain main", "inspect"] {
        let half = ["blk00000.dat", "plain blocks of mainnet, while", "converted in part"];
        refused(words, &folder.join("B05j"), 6, &half);
    }
    // within a file
    refused("verify", &folder.join("B05c"), 6, &["at byte 293", key]);
    refused("verify", &folder.join("B05d"), INCOMPLETE, &["at byte 0", "plain blocks of mainnet"]);
    ends(blockmill("verify").arg(folder.join("B05h")), 0, "verified");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_raw_block_of_another_network_is_refused_by_work_and_difficulty() {
    let folder = blockmill_testkit::fixture("bitcoin/blocks");
    let scratch = Scratch::new("raw-blocks");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = blockmill_testkit::read(&path);
        let raw = scratch.path(name.trim_end_matches(".zst"));
        fs::write(&raw, &bytes[..]).unwrap();
        let own = match &name {
            name if name.contains("testnet4") => "testnet4",
            // of 2016-09-19 with difficulty 8 million: the main network had 2 * 10^11
            name if name.contains("testnet") || name.contains("928816") => "testnet3",
            _ => "main",
        };
        let others: &[&str] = match own {
            "main" => &["regtest", "signet"],
            _ => &["main", "regtest"],
        };
        for other in others {
            let words = format!("verify --level bodies --chain {other}");
            refused(&words, &raw, 2, &["--chain: expected a block of ", ", found "]);
        }
        let words = format!("verify --level headers --chain {own}");
        ends(blockmill(&words).arg(&raw), 0, "verified");
        seen += 1;
    }
    assert!(seen > 5);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn undo_files_and_blocks_of_other_chains_are_called_what_they_are() {
    let scratch = Scratch::new("other-block-files");
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", &scratch.path("."));
    let undo = scratch.path("undo");
    fs::create_dir_all(&undo).unwrap();
    fs::copy(scratch.path("blocks/rev00000.dat"), undo.join("rev00000.dat")).unwrap();
    fs::copy(scratch.path("blocks/xor.dat"), undo.join("xor.dat")).unwrap();
    let words =
        ["undo data of Bitcoin Core (rev*.dat), which has no blocks", "give the block files"];
    refused("verify", &undo.join("rev00000.dat"), 2, &words);
    refused("verify", &undo, 2, &words);
    refused("inspect", &undo, 2, &words);
    let cash = scratch.path("cash");
    fs::create_dir_all(&cash).unwrap();
    let block = blockmill_testkit::read("bitcoin/mainnet-0-4521.dat");
    let mut bytes = block[..293].to_vec();
    bytes[..4].copy_from_slice(&[0xe3, 0xe1, 0xf3, 0xe8]);
    fs::write(cash.join("blk00000.dat"), bytes).unwrap();
    refused("verify", &cash, 6, &["block files of Bitcoin Cash or Bitcoin SV"]);
}
