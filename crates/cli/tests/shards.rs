//! `verify --shard` and `verify --merge`: summaries as documents, exit codes, what is refused.

use crate::program::{Ended, blockmill, run};
use blockmill_verdict::Status;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const ERAS: [&str; 2] = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"];

fn era(i: usize) -> PathBuf {
    blockmill_testkit::fixture(format!("ethereum/era1/{}", ERAS[i]))
}

/// Verifies a file as a shard without seals, which take long; its summary goes into `to`.
fn shard(file: &Path, words: &str, to: &Path) -> Ended {
    let ended = run(blockmill(&format!("verify --shard --seal off {words}")).arg(file));
    fs::write(to, &ended.stdout).unwrap();
    ended
}

fn merge(files: &[PathBuf], words: &str) -> Ended {
    run(blockmill(&format!("verify --merge {words}")).args(files))
}

fn code(status: Status) -> Option<i32> {
    Some(status.exit_code().into())
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn shards_are_merged_to_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let files = [0, 1].map(|i| folder.path().join(format!("{i}.json")));
    for (i, file) in files.iter().enumerate() {
        let ended = shard(&era(i), "--level headers", file);
        assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
        assert_eq!(ended.stdout.lines().count(), 1);
    }
    let ended = merge(&files, "");
    assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
    assert!(ended.stderr.contains("2 shards, blocks 0 to 16,383 of mainnet"), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&summary["blocks"], &summary["last"]["number"]), (&16_384.into(), &16_383.into()));
    assert!(summary.get("anchor").is_none());
    // all lines in one file, in any order, and as a document
    let both = folder.path().join("both.json");
    let text: Vec<u8> = files.iter().rev().flat_map(|file| fs::read(file).unwrap()).collect();
    fs::write(&both, text).unwrap();
    let ended = merge(&[both], "--json");
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(answer["status"], "verified");
    for part in ["blocks", "first", "last", "head", "sources", "counts"] {
        assert_eq!(answer["result"][part], summary[part], "{part}");
    }
    // the second alone rests on its first block, the first alone is what it is
    let ended = merge(&files[1..], "");
    assert!(ended.stderr.contains("provided that block 8,192 is right"), "{ended:?}");
    let missing = merge(&[files[0].clone(), files[0].clone()], "");
    assert_eq!(missing.code, code(Status::Invalid), "a shard twice: {missing:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_merge_names_its_level_and_what_was_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second, both] = ["1", "2", "both"].map(|name| folder.path().join(name));
    shard(&era(0), "--level bodies --until 99", &first);
    shard(&era(0), "--level bodies --from 100 --until 199", &second);
    let notes = |files: &[PathBuf]| {
        let answer: Value = serde_json::from_str(&merge(files, "--json").stdout).unwrap();
        assert_eq!(answer["status"], "verified", "{answer:#}");
        serde_json::from_value::<Vec<String>>(answer["notes"].clone()).unwrap()
    };
    let beyond =
        "not checked: what transactions do (--level execution of a run over all blocks)".to_owned();
    let seals = |count: &str| format!("not checked: {count} seals (--seal all)");
    let part = "not checked: 1 accumulator: only some of the blocks of the file were read";
    let found = notes(&[first.clone(), second.clone()]);
    assert_eq!(found, [part.to_owned(), beyond.clone(), seals("199")]);
    let ended = merge(&[first.clone(), second.clone()], "");
    let sentence = "verified: 2 shards, blocks 0 to 199 of mainnet at level bodies";
    assert!(ended.stderr.contains(sentence), "{ended:?}");
    assert!(ended.stderr.contains(&format!("note: {beyond}")), "{ended:?}");
    // headers have no bodies, and a merge of a merge repeats nothing
    shard(&era(0), "--level headers", &first);
    shard(&era(1), "--level headers", &second);
    fs::write(&both, merge(std::slice::from_ref(&first), "").stdout).unwrap();
    let bodies = "not checked: bodies and what they do".to_owned();
    assert_eq!(notes(&[both, second]), [bodies, seals("16,383")]);
    // ommers need earlier blocks
    shard(&era(0), "--level bodies --from 2 --until 99", &first);
    let found = notes(&[first]).join("\n");
    assert!(found.contains("everything rests on block 2 "), "{found}");
    let ommers = "not checked: 3 ommers, as their parents come before the first block";
    assert!(found.contains(ommers), "{found}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn shards_with_all_seals_and_those_of_ommers_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let files = [0, 1].map(|i| folder.path().join(format!("{i}.json")));
    for (i, file) in files.iter().enumerate() {
        let ended = run(blockmill("verify --shard --level bodies").arg(era(i)));
        assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
        fs::write(file, &ended.stdout).unwrap();
    }
    let ended = merge(&files, "");
    assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    // each block but the first has a seal, and so has each ommer
    assert!(summary["counts"]["seals_checked"].as_u64() > Some(16_383), "{summary}");
    assert_eq!(summary["counts"]["seals_left"], 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_shard_after_a_summary_is_tied_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = [0, 1, 2].map(|i| folder.path().join(format!("{i}.json")));
    shard(&era(0), "--level headers", &files[0]);
    let after = format!("--level headers --after {}", files[0].display());
    let ended = shard(&era(1), &after, &files[1]);
    assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(summary.get("anchor").is_none(), "it rests on the shard before");
    let wrong = format!("--level headers --after {}", files[1].display());
    let ended = shard(&era(1), &wrong, &files[2]);
    assert_eq!(ended.code, code(Status::Invalid), "all of it comes before: {ended:?}");
    let other = blockmill_testkit::fixture("ethereum/era1/sepolia-00000-643a00f7.era1");
    let ended = shard(&other, &after, &files[2]);
    assert_eq!(ended.code, code(Status::Usage), "{ended:?}");
    assert!(ended.stderr.contains("expected the summary of blocks of sepolia"), "{ended:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_gap_between_ranges_of_a_store_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let chain = blockmill_testkit::fixture("ethereum/chains/hive-sync/chain.rlp");
    let mut import = blockmill("import --seal off --level bodies --until 300 --data");
    let ended = run(import.arg(&store).arg(chain));
    assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
    let ranges = ["--until 199", "--from 202"];
    let files = ["first", "second"].map(|name| folder.path().join(name));
    for (range, file) in ranges.iter().zip(&files) {
        let ended = shard(&store, &format!("--level bodies {range}"), file);
        assert_eq!(ended.code, code(Status::Verified), "{ended:?}");
    }
    let genesis = blockmill_testkit::fixture("ethereum/chains/hive-sync/genesis.json");
    let ended = merge(&files, &format!("--chain {}", genesis.display()));
    assert_eq!(ended.code, code(Status::Incomplete), "{ended:?}");
    assert!(ended.stderr.contains("expected block 200"), "{ended:?}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_cannot_be_merged_or_be_a_shard_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [headers, bodies, none] = ["h", "b", "n"].map(|name| folder.path().join(name));
    shard(&era(0), "--level headers --until 99", &headers);
    shard(&era(0), "--level bodies --from 100 --until 199", &bodies);
    fs::write(&none, "").unwrap();
    let refused = |ended: Ended, text: &str| {
        assert_eq!(ended.code, code(Status::Usage), "{ended:?}");
        assert!(ended.stderr.contains(text), "{ended:?}");
    };
    refused(merge(&[headers.clone(), bodies], ""), "level: expected headers, found bodies");
    refused(merge(std::slice::from_ref(&none), ""), "found nothing");
    refused(merge(&[era(0)], ""), "expected summaries, as verify --shard prints them");
    refused(shard(&era(0), "--level execution", &none), "the state before each shard");
    refused(shard(&era(0), "--record x.json", &none), "--shard writes no run record");
    refused(merge(&[headers], "--shard"), "cannot be used with");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn documents_that_were_changed_are_refused_by_their_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("0.json");
    assert_eq!(shard(&era(0), "--level headers", &file).code, code(Status::Verified));
    let text = fs::read_to_string(&file).unwrap();
    // spaces and the order of members make no difference
    let value: Value = serde_json::from_str(&text).unwrap();
    fs::write(&file, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    assert_eq!(merge(std::slice::from_ref(&file), "").code, code(Status::Verified));
    fs::write(&file, text.replace("\"blocks\":8192", "\"blocks\":8191")).unwrap();
    let ended = merge(std::slice::from_ref(&file), "");
    assert_eq!(ended.code, code(Status::Corrupt), "{ended:?}");
    for word in ["0.json: document 1", "checksum: expected ", ", found "] {
        assert!(ended.stderr.contains(word), "{ended:?}");
    }
    // as an earlier version wrote it
    let mut older = value;
    older.as_object_mut().unwrap().remove("checksum");
    fs::write(&file, older.to_string()).unwrap();
    let ended = merge(&[file], "");
    assert_eq!(ended.code, code(Status::Usage), "{ended:?}");
    assert!(ended.stderr.contains("an earlier version wrote it"), "{ended:?}");
}
