//! A generated Neo chain of all kinds of transactions, imported with `blocks=traceable` through the
//! program: same state, same later logs, a smaller store, and clear messages about removed blocks.

use crate::program;
use crate::program::{
    Random, Scratch, blockmill, document, misunderstand, run, succeed, succeed_json, tip_of, wait,
};
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::params::Protocol;
use blockmill_store::ChainStore;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// `MaxTraceableBlocks` of the test network.
const SEEN: u64 = 3;
/// Imports that are killed.
const KILLS: u32 = 20;

fn import(store: &Path, dump: &Path, flags: &str) -> Command {
    let mut command = blockmill(&format!("import {flags} --data"));
    command.arg(store).arg(dump);
    command
}

/// A dump of all kinds of transactions, and its configuration with few traceable blocks.
fn mixed(scratch: &Scratch, blocks: u32) -> PathBuf {
    let folder = scratch.path("mixed");
    let flags = format!("generate neo --mixed --blocks {blocks} --txs 40 --accounts 40 --out");
    succeed(blockmill(&flags).arg(&folder));
    let config = folder.join("chain.yml");
    let text = fs::read_to_string(&config).unwrap();
    let seen = format!("  MaxTraceableBlocks: {SEEN}\n");
    let text = text.replace("  MaxTraceableBlocks: 2102400\n", &seen);
    assert!(text.contains(&seen));
    fs::write(config, text).unwrap();
    folder.join("chain.acc")
}

/// The state root after the last block, and logs and roots of the blocks from one on.
fn left(store: &Path, from: u64) -> (String, Vec<String>) {
    let stored = StoreReader::open(store).unwrap();
    let tip = stored.tip().unwrap().number;
    let block = |height: u64| {
        let executions = stored.executions(height as u32).unwrap().unwrap();
        let root = stored.root_at(height as u32).unwrap().unwrap();
        format!("{root} {executions:?}")
    };
    (format!("{:?} {tip}", stored.root()), (from..=tip).map(block).collect())
}

/// Size of the files of blocks and logs on disk.
fn room(store: &Path) -> u64 {
    let names = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().file_name());
    let is_one = |name: &String| name.starts_with("bodies") || name.starts_with("receipts");
    let names = names.filter_map(|name| name.into_string().ok()).filter(is_one);
    names.map(|name| blockmill_testkit::disk_bytes(&store.join(name))).sum()
}

#[test]
fn a_store_of_the_last_blocks_has_the_same_state_and_reports_removed_blocks() {
    let scratch = Scratch::new("neo-removal");
    let dump = mixed(&scratch, 60);
    let [all, few] = ["all", "few"].map(|name| scratch.path(name));
    succeed(&mut import(&all, &dump, "--with log=off"));
    let traceable = "--with log=off --with blocks=traceable";
    // several commits, so that lookups meet removed blocks
    for until in [20, 30, 40, 50] {
        succeed(&mut import(&few, &dump, &format!("{traceable} --until {until} --chunk 1")));
    }
    let record = scratch.path("record.json");
    let mut last = import(&few, &dump, traceable);
    succeed(last.arg("--record").arg(&record));
    let record: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    assert_eq!(record["options"]["blocks"], "traceable");
    let tip = tip_of(&all).unwrap();
    let first = tip + 1 - SEEN;
    assert!(left(&all, first) == left(&few, first));
    let is_given_back = !blockmill_platform::holes::ARE_KNOWN || room(&few) * 3 < room(&all);
    assert!(is_given_back, "{} of {} bytes", room(&few), room(&all));

    let summary = succeed_json(blockmill("inspect").arg(&few));
    assert_eq!((&summary["whole_from"], &summary["height"]), (&first.into(), &tip.into()));
    let gone = format!("block 12 was removed: this store keeps the last {SEEN} blocks");
    let hint = "into another folder";
    misunderstand(blockmill("inspect --block 12").arg(&few), &[&gone, hint]);
    let block = succeed_json(blockmill("inspect --block 12").arg(&all));
    let hash = block["transactions"][0].as_str().unwrap();
    misunderstand(blockmill("inspect --transaction").arg(hash).arg(&few), &[hash, &gone, hint]);
    let sender = succeed_json(blockmill("inspect --transaction").arg(hash).arg(&all));
    let account = |store: &Path| -> Value {
        let sender = sender["sender"].as_str().unwrap();
        succeed_json(blockmill("inspect --account").arg(sender).arg(store))
    };
    let (whole, less) = (account(&all), account(&few));
    assert_eq!(whole["balances"], less["balances"]);
    assert!(less["missing_transfers"].as_str().unwrap().contains("removed"));
    let count = |account: &Value| account["transfers"].as_array().unwrap().len();
    assert!((1..count(&whole)).contains(&count(&less)));

    let out = scratch.path("out.acc");
    let mut convert = blockmill("convert --to acc --out");
    let words = [format!("--from {first} converts the blocks that are left"), "removed".into()];
    misunderstand(convert.arg(&out).arg(&few), &words.each_ref().map(String::as_str));
    assert!(!out.exists());
    let mut convert = blockmill(&format!("convert --to acc --from {first} --out"));
    succeed(convert.arg(&out).arg(&few));
    let checked = succeed(blockmill("check").arg(&few));
    assert!(checked.contains(&format!("of blocks before {first} headers only")), "{checked}");
    misunderstand(blockmill("unwind --to 12").arg(&few), &["as the undo log begins there"]);
    let refused = ["expected blocks=traceable", "found blocks=all", "--with"];
    let all_blocks = "--with log=off --with blocks=all";
    misunderstand(&mut import(&few, &dump, all_blocks), &refused);
    // the store keeps the setting
    succeed(&mut import(&few, &dump, "--with log=off"));
    assert_eq!(tip_of(&few), Some(tip));
}

#[test]
fn blocks_stay_for_an_unwind_and_are_imported_again() {
    let scratch = Scratch::new("neo-removal-back");
    let dump = mixed(&scratch, 60);
    let [all, few] = ["all", "few"].map(|name| scratch.path(name));
    succeed(&mut import(&all, &dump, ""));
    let tip = tip_of(&all).unwrap();
    let flags = "--with blocks=traceable --unwind-depth 5 --chunk 1";
    for until in (10..=tip).step_by(6) {
        succeed(&mut import(&few, &dump, &format!("{flags} --until {until}")));
    }
    succeed(&mut import(&few, &dump, flags));
    let first = succeed_json(blockmill("inspect").arg(&few))["whole_from"].as_u64().unwrap();
    assert!(first > 30 && first + SEEN + 5 <= tip + 1, "{first} of {tip}");
    let to = first + SEEN - 1;
    misunderstand(blockmill(&format!("unwind --to {}", to - 1)).arg(&few), &["found --to"]);
    succeed(blockmill(&format!("unwind --to {to}")).arg(&few));
    succeed(blockmill("check").arg(&few));
    succeed(&mut import(&few, &dump, flags));
    assert!(left(&all, to) == left(&few, to));
}

#[test]
fn a_killed_import_resumes_and_ends_with_the_same_store() {
    let scratch = Scratch::new("neo-removal-kills");
    let dump = mixed(&scratch, 150);
    let [all, few] = ["all", "few"].map(|name| scratch.path(name));
    succeed(&mut import(&all, &dump, "--with log=off"));
    let flags = "--with log=off --with blocks=traceable --cache 1 --chunk 4";
    let start = Instant::now();
    succeed(&mut import(&few, &dump, flags));
    let time = start.elapsed();
    let first = tip_of(&all).unwrap() + 1 - SEEN;
    let expected = left(&all, first);
    assert!(left(&few, first) == expected);
    let start = Instant::now();
    let copy = scratch.path("copy");
    program::copy(&all, &copy);
    succeed(&mut import(&copy, &dump, flags));
    assert!(left(&copy, first) == expected);
    let lessened = start.elapsed();
    let (mut random, mut between) = (Random::new(5), 0);
    for round in 0..KILLS {
        let store = scratch.path("killed");
        let _ = fs::remove_dir_all(&store);
        // from genesis on, or from a store of all blocks in several steps
        let is_lessened = round % 2 == 1;
        if is_lessened {
            program::copy(&all, &store);
        }
        let time = if is_lessened { lessened } else { time };
        let moment = Duration::from_micros(random.below(time.as_micros() as u64));
        let mut child = import(&store, &dump, flags).spawn().expect("the program starts");
        thread::sleep(moment);
        child.kill().expect("a child that can be killed, dead or alive");
        let ended = wait(child, "import");
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        if tip_of(&store).is_some() {
            let opened = ChainStore::open_read_only(&store).unwrap().0;
            let whole = opened.first_whole().unwrap();
            between += usize::from((1..first).contains(&whole));
            succeed(blockmill("check").arg(&store));
        }
        succeed(&mut import(&store, &dump, flags));
        assert!(left(&store, first) == expected);
        let opened = ChainStore::open_read_only(&store).unwrap().0;
        assert_eq!(opened.first_whole(), Some(first));
    }
    println!("{between} of {KILLS} killed between two removals");
    assert!(between > 0);
}

#[test]
fn the_state_as_of_every_block_and_removal_exclude_each_other() {
    let scratch = Scratch::new("neo-removal-history");
    let dump = mixed(&scratch, 10);
    let store = scratch.path("store");
    let ended = run(import(&store, &dump, "--history --with blocks=traceable").arg("--json"));
    let answer = document(&ended);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("expected blocks=all, as the store keeps the state"), "{answer}");
    // the configuration that the tests modify has the expected line
    let text = fs::read_to_string(dump.with_file_name("chain.yml")).unwrap();
    assert_eq!(u64::from(Protocol::from_yaml(&text).unwrap().max_traceable_blocks), SEEN);
}
