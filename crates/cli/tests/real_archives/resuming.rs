//! Imports in several runs, parts of chains, and what pins them.

use crate::program::{
    assert_same_store, misunderstand, read_store, refuse, run, succeed, succeed_json, tip_of,
};
use crate::{MAINNET_8191, MAINNET_16383, SEPOLIA, assert_tip, import, mainnet, set_up};

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_import_in_two_runs_gives_the_store_of_one_run() {
    let (fixtures, scratch) = set_up("two-runs");
    let [first, second] = mainnet(&fixtures);
    let (whole, parts) = (scratch.path("whole"), scratch.path("parts"));
    succeed(import(&whole, "--seal off").args([&first, &second]));
    let record = succeed_json(import(&parts, "--seal off --until 5000").args([&first, &second]));
    assert_eq!(record["result"]["tip_number"], 5_000);
    assert_eq!(tip_of(&parts), Some(5_000));
    let record = succeed_json(import(&parts, "--seal off").args([&first, &second]));
    assert_tip(&record, 16_383, MAINNET_16383);
    assert_eq!(
        (&record["data"]["first"], &record["data"]["last"]),
        (&5_001.into(), &16_383.into())
    );
    assert!(record["notes"].to_string().contains("resumed after block 5000"), "{record}");
    assert_same_store(&whole, &parts);

    // file by file, the second one by itself
    let files = scratch.path("files");
    let record = succeed_json(import(&files, "--seal off").arg(&first));
    assert_tip(&record, 8_191, MAINNET_8191);
    succeed(import(&files, "--seal off").arg(&second));
    assert_same_store(&whole, &files);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_second_import_says_that_there_is_nothing_new() {
    let (fixtures, scratch) = set_up("nothing-new");
    let store = scratch.path("store");
    let files = mainnet(&fixtures);
    let text = succeed(import(&store, "--seal off").args(&files));
    assert!(!text.contains("Nothing new"), "{text}");
    let before = read_store(&store);
    let text = succeed(import(&store, "--seal off").args(&files));
    assert!(text.contains("Nothing new: the store already has what this archive holds"), "{text}");
    // an archive that ends before the store does
    let text = succeed(import(&store, "--seal off").arg(&files[0]));
    assert!(text.contains("Nothing new"), "{text}");
    assert_eq!(read_store(&store), before);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn trusted_hashes_must_be_met() {
    let (fixtures, scratch) = set_up("trust");
    let files = mainnet(&fixtures);
    let store = scratch.path("right");
    let flags = format!("--seal off --trust {MAINNET_8191} --trust {}", &MAINNET_16383[2..]);
    let record = succeed_json(import(&store, &flags).args(&files));
    let trusted = record["result"]["trusted"].as_array().unwrap();
    assert_eq!(trusted.len(), 2);
    assert_eq!((&trusted[0]["number"], &trusted[1]["number"]), (&8_191.into(), &16_383.into()));
    assert_eq!(trusted[1]["hash"], MAINNET_16383);

    let wrong = MAINNET_8191.replace("a6860f", "a6860e");
    let store = scratch.path("wrong");
    let flags = format!("--seal off --trust {wrong}");
    refuse(import(&store, &flags).args(&files), &["--trust: expected block", &wrong]);
    assert_eq!(tip_of(&store), Some(16_383));

    let flags = "--seal off --trust 0x1234";
    let mut command = import(&scratch.path("malformed"), flags);
    misunderstand(command.args(&files), &["64 hexadecimal digits"]);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_chain_that_begins_in_the_middle_has_an_anchor_and_says_so() {
    let (fixtures, scratch) = set_up("anchor");
    let [first, second] = mainnet(&fixtures);
    let store = scratch.path("from");
    let record = succeed_json(import(&store, "--seal off --from 3000").args([&first, &second]));
    assert_tip(&record, 16_383, MAINNET_16383);
    assert_eq!(record["result"]["anchor"]["number"], 3_000);
    let note = "the archive begins in the middle of the chain: everything rests on block 3000 (0x";
    assert!(record["result"]["unchecked"].to_string().contains(note), "{record}");
    // the first file's accumulator covers blocks that were not read
    assert_eq!(record["result"]["accumulators"], 1);
    let stored = read_store(&store);
    assert_eq!((stored.first, stored.blocks.len()), (Some(3_000), 13_384));
    assert_eq!(stored.tip.unwrap().anchor_number, 3_000);

    // a file by itself; interrupted, the anchor is kept
    let (whole, parts) = (scratch.path("whole"), scratch.path("parts"));
    let text = succeed(import(&whole, "--seal off").arg(&second));
    assert!(text.contains("block 8,192") || text.contains("block 8192"), "{text}");
    succeed(import(&parts, "--seal off --until 10000").arg(&second));
    let record = succeed_json(import(&parts, "--seal off").arg(&second));
    assert_eq!(record["result"]["anchor"]["number"], 8_192);
    assert_tip(&record, 16_383, MAINNET_16383);
    assert_same_store(&whole, &parts);

    // what stands before the anchor cannot be appended
    let ended = run(import(&whole, "--seal off").arg(&first));
    assert_eq!(tip_of(&whole), Some(16_383), "{}", ended.stderr);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_keeps_its_level_and_its_chain() {
    let (fixtures, scratch) = set_up("level");
    let files = mainnet(&fixtures);
    let store = scratch.path("headers");
    succeed(import(&store, "--level headers --seal off --until 5000").args(&files));
    let command = &mut import(&store, "--seal off");
    let error = "error: a store takes blocks of one chain and one level only: expected blocks of \
                 level headers, found an import at level bodies";
    let text = misunderstand(command.args(&files), &[error]);
    assert!(text.contains("hint: use another --data folder"), "{text}");
    assert_eq!(tip_of(&store), Some(5_000));
    succeed(import(&store, "--level headers --seal off").args(&files));

    let command = &mut import(&store, "--level headers --seal off");
    misunderstand(command.arg(fixtures.join(SEPOLIA)), &["expected mainnet, found sepolia"]);
    assert_eq!(tip_of(&store), Some(16_383));
}
