//! Whole archives at level `bodies`.

use crate::program::{blockmill, read_store, succeed, succeed_json};
use crate::{MAINNET_16383, SEPOLIA, SEPOLIA_8191, assert_tip, import, mainnet, set_up};
use serde_json::Value;
use std::fs;

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_era1_files_verify_with_their_seals() {
    let (fixtures, scratch) = set_up("real-era1");
    let caches = scratch.path("caches");
    let flags = "--level bodies --seal all --ethash-cache";
    let store = scratch.path("mainnet");
    let mut command = import(&store, flags);
    let record = succeed_json(command.arg(&caches).args(mainnet(&fixtures)));
    assert_tip(&record, 16_383, MAINNET_16383);
    assert_eq!(record["result"]["accumulators"], 2);
    assert_eq!(record["result"]["committed"], 16_383);
    assert_eq!(record["result"]["anchor"], Value::Null);
    let mainnet_seals = record["facts"]["seals"].as_f64().unwrap();

    let store = scratch.path("sepolia");
    let mut command = import(&store, flags);
    let record = succeed_json(command.arg(&caches).arg(fixtures.join(SEPOLIA)));
    assert_tip(&record, 8_191, SEPOLIA_8191);
    assert_eq!(record["result"]["accumulators"], 1);
    assert_eq!(record["data"]["chain"], "sepolia");
    let sepolia_seals = record["facts"]["seals"].as_f64().unwrap();
    println!("{mainnet_seals} seals of mainnet, {sepolia_seals} of sepolia");
    // genesis blocks have none, and ommers have theirs
    assert!(mainnet_seals > 16_383.0, "{mainnet_seals}");
    assert!(sepolia_seals >= 8_191.0, "{sepolia_seals}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn ancient_folders_of_both_clients_hold_the_blocks_of_the_era1_files() {
    let (fixtures, scratch) = set_up("real-freezer");
    let era1 = scratch.path("era1");
    let mut command = import(&era1, "--level bodies --seal off --json");
    succeed(command.args(mainnet(&fixtures)));
    for folder in ["freezer/geth-1.9", "freezer/geth-1.17", "freezer/geth-1.17/chain"] {
        let store = scratch.path(&folder.replace('/', "-"));
        let mut command = import(&store, "--level bodies --seal off");
        let record = succeed_json(command.arg(fixtures.join(folder)));
        assert_tip(&record, 16_383, MAINNET_16383);
        assert_eq!(record["data"]["chain"], "mainnet");
        assert_eq!(record["data"]["blocks"], 16_384);
        assert_eq!(read_store(&store), read_store(&era1));
    }
}

/// Chains of the fixtures: name, last block, its hash, transactions.
const CHAINS: [(&str, u64, &str, u64); 4] = [
    ("hive-sync", 3_000, "0xd4a8090b9de16baae99540d32b02b4d970428fb1d07b4ea200bc6bb7894034a0", 546),
    (
        "hive-engine",
        1_024,
        "0x2fa54c75120b03b657e995715fba21f8f93b6dd4c42e92f1216ff0df0abc76e7",
        11_264,
    ),
    (
        "geth-ethtest",
        600,
        "0x44e3809c9a3cda717f00aea3a9da336d149612c8d5657fbc0028176ef8d94d2a",
        603,
    ),
    (
        "execution-apis",
        54,
        "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7",
        249,
    ),
];

#[blockmill_testkit::needs(fixtures)]
#[test]
fn chains_of_other_clients_verify_up_to_their_last_fork() {
    let (fixtures, scratch) = set_up("real-chains");
    for (name, last, hash, transactions) in CHAINS {
        let folder = fixtures.join("chains").join(name);
        let store = scratch.path(name);
        // the genesis.json next to the export is found
        let mut command = import(&store, "--level bodies --seal off");
        let record = succeed_json(command.arg(folder.join("chain.rlp")));
        assert_tip(&record, last, hash);
        let notes = record["details"].to_string();
        let transactions = blockmill_verdict::grouped(transactions);
        let stand = format!("{transactions} transactions are covered by verified roots");
        assert!(notes.contains(&stand), "{name}: {notes}");
        if let Ok(text) = fs::read_to_string(folder.join("headblock.json")) {
            let head: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(record["result"]["tip_hash"], head["hash"]);
        }
        let stored = read_store(&store);
        assert_eq!((stored.first, stored.blocks.len() as u64), (Some(0), last + 1));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn inspect_finds_real_archives_sound() {
    let (fixtures, _scratch) = set_up("inspect");
    let inspect = |path: &str, deep: bool| {
        let mut command = blockmill(if deep { "inspect --deep" } else { "inspect" });
        let inspection = succeed_json(command.arg(fixtures.join(path)));
        assert_eq!(inspection["gaps"], Value::Array(vec![]), "{path}");
        let files = inspection["files"].as_array().unwrap().clone();
        assert!(files.iter().all(|file| file["corruption"] == Value::Array(vec![])), "{path}");
        files
    };
    let files = inspect("era1", true);
    let of = |network: &str| files.iter().filter(|f| f["network"] == network).count();
    assert_eq!((files.len(), of("mainnet"), of("sepolia")), (3, 2, 1));
    assert!(files.iter().all(|file| file["format"] == "era1" && file["blocks"] == 8_192));
    for folder in ["freezer/geth-1.9", "freezer/geth-1.17"] {
        let files = inspect(folder, true);
        assert_eq!(files[0]["format"], "freezer");
        assert_eq!((&files[0]["first"], &files[0]["last"]), (&0.into(), &16_383.into()));
        assert_eq!(files[0]["tables"].as_array().unwrap().len(), 5);
    }
    let old = inspect("freezer/geth-1.9", false);
    // current geth truncates a folder without .meta files when it opens it for writing
    let notes = old[0]["notes"].to_string();
    assert!(notes.contains("meta"), "{notes}");
    for (name, last, ..) in CHAINS {
        let files = inspect(&format!("chains/{name}/chain.rlp"), true);
        assert_eq!((&files[0]["first"], &files[0]["last"]), (&1.into(), &last.into()), "{name}");
    }
    // for people: the same without --json
    let text = succeed(blockmill("inspect").arg(fixtures.join("era1")));
    assert!(text.contains("mainnet-00001-a5364e9a.era1"), "{text}");
    assert!(text.contains("blocks 8,192 to 16,383 (8,192)"), "{text}");
    assert!(text.contains("No corruption, no gaps"), "{text}");
}
