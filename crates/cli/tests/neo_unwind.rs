//! `unwind` of Neo stores through the program, and imports with another configuration.

use crate::program;
use crate::program::{
    Random, Scratch, blockmill, document, misunderstand, read_store, run, succeed, succeed_json,
    tip_of, wait,
};
use blockmill_neo::ledger::CONFLICTS;
use blockmill_neo::ledger::StoreReader;
use blockmill_store::{ChainStore, Opening, TableOptions};
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Number of killed unwinds.
const KILLS: u32 = 30;
/// The last block, and the target of the unwind.
const LAST: u64 = 40;
const BACK: u64 = 12;

fn import(store: &Path, dump: &Path, flags: &str) -> Command {
    let mut command = blockmill(&format!("import {flags} --data"));
    command.arg(store).arg(dump);
    command
}

fn unwind(store: &Path, to: u64) -> Command {
    let mut command = blockmill(&format!("unwind --to {to}"));
    command.arg(store);
    command
}

/// A dump of all kinds of transactions, and its configuration.
fn mixed(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path("mixed");
    let flags = "generate neo --mixed --blocks 60 --txs 30 --accounts 40 --out";
    succeed(blockmill(flags).arg(&folder));
    folder.join("chain.acc")
}

/// The results of queries: blocks, logs, balances and transfers.
fn answers(store: &Path, accounts: &[String]) -> (program::Stored, Vec<serde_json::Value>) {
    let inspect = |account: &String| {
        succeed_json(blockmill("inspect").arg(store).arg("--account").arg(account))
    };
    (read_store(store), accounts.iter().map(inspect).collect())
}

/// The conflicts.
fn conflicts(store: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let part = |opening: &mut Opening| opening.table(CONFLICTS, &TableOptions::new(1 << 20));
    let (_, table) = ChainStore::open_read_only_with(store, part).expect("a store");
    let (mut found, mut scan) = (BTreeMap::new(), table.iter().expect("a table"));
    while let Some((key, value)) = scan.next().expect("an entry") {
        found.insert(key.to_vec(), value.to_vec());
    }
    found
}

#[test]
fn a_generated_chain_is_unwound_and_imported_again() {
    let scratch = Scratch::new("neo-unwind");
    let dump = mixed(&scratch);
    let [store, never] = ["store", "never"].map(|name| scratch.path(name));
    succeed(&mut import(&store, &dump, "--unwind-depth 100"));
    let last = tip_of(&store).unwrap();
    assert!(last >= 60);
    let accounts: Vec<String> = (0..=last)
        .step_by(5)
        .filter_map(|height| {
            let height = height.to_string();
            let block = succeed_json(blockmill("inspect --block").arg(height).arg(&store));
            let hash = block["transactions"].as_array().unwrap().first()?.as_str()?.to_owned();
            let found = succeed_json(blockmill("inspect --transaction").arg(hash).arg(&store));
            Some(found["sender"].as_str().unwrap().to_owned())
        })
        .collect();
    assert!(accounts.len() > 5);
    let whole = (answers(&store, &accounts), conflicts(&store));
    let answer = document(&run(unwind(&store, 23).arg("--json")));
    assert_eq!(answer["status"], "ok", "{answer}");
    let done = &answer["result"];
    assert_eq!((&done["from"], &done["to"]), (&last.into(), &23.into()));
    assert_eq!((&done["with_state"], tip_of(&store)), (&true.into(), Some(23)));
    succeed(&mut import(&never, &dump, "--until 23"));
    assert!(answers(&store, &accounts) == answers(&never, &accounts));
    assert_eq!(conflicts(&store), conflicts(&never));
    assert!((1..whole.1.len()).contains(&conflicts(&store).len()));
    let text = succeed(&mut unwind(&store, 7));
    assert!(text.contains("Unwound to block 7, from block "), "{text}");
    let checked = succeed_json(blockmill("check").arg(&store));
    assert_eq!(checked["corruption"], serde_json::json!([]));
    succeed(&mut import(&store, &dump, ""));
    assert!((answers(&store, &accounts), conflicts(&store)) == whole);

    let words = [format!("expected one of the blocks 0 to {last}"), "found --to 999".into()];
    misunderstand(&mut unwind(&store, 999), &words.each_ref().map(String::as_str));
    misunderstand(&mut unwind(&scratch.path("none"), 5), &["found none"]);
    succeed(&mut import(&scratch.path("off"), &dump, "--with log=off"));
    let words = ["as the undo log begins there", "found --to 5"];
    misunderstand(&mut unwind(&scratch.path("off"), 5), &words);
    // a store without a state can be unwound as well
    let bodies = scratch.path("bodies");
    succeed(&mut import(&bodies, &dump, "--level bodies"));
    let done = succeed_json(&mut unwind(&bodies, 7));
    assert_eq!((&done["with_state"], tip_of(&bodies)), (&false.into(), Some(7)));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_killed_unwind_is_complete_or_has_not_happened() {
    let scratch = Scratch::new("neo-unwind-kills");
    let dump = blockmill_testkit::fixture("neo/gen/mix200x200-sr.acc.zst");
    let [whole, back] = ["whole", "back"].map(|name| scratch.path(name));
    let import = |store: &Path| import(store, &dump, &format!("--cache 1 --until {LAST}"));
    succeed(&mut import(&whole));
    program::copy(&whole, &back);
    let start = Instant::now();
    succeed(&mut unwind(&back, BACK));
    let time = start.elapsed();
    let (blocks, before) = (read_store(&whole), read_store(&back));
    let root = |store: &Path| StoreReader::open(store).unwrap().root();
    let roots = [root(&whole), root(&back)];
    let (mut random, mut counts) = (Random::new(15), [0; 2]);
    for _ in 0..KILLS {
        let store = scratch.path("killed");
        let _ = fs::remove_dir_all(&store);
        program::copy(&whole, &store);
        let limit = (time * 5 / 4).as_micros() as u64;
        let moment = Duration::from_micros(random.below(limit));
        let mut child = unwind(&store, BACK).spawn().expect("the program starts");
        thread::sleep(moment);
        child.kill().expect("a child that can be killed, dead or alive");
        let ended = wait(child, "unwind");
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        let is_back = tip_of(&store) == Some(BACK);
        counts[usize::from(is_back)] += 1;
        assert!(read_store(&store) == *if is_back { &before } else { &blocks });
        assert_eq!(root(&store), roots[usize::from(is_back)]);
        succeed(blockmill("check").arg(&store));
        succeed(&mut import(&store));
        assert!(read_store(&store) == blocks);
        assert_eq!(root(&store), roots[0]);
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

#[test]
fn another_configuration_is_rejected_with_the_differing_setting() {
    let scratch = Scratch::new("neo-configuration");
    let dump = mixed(&scratch);
    let config = dump.with_file_name("chain.yml");
    let good = fs::read_to_string(&config).unwrap();
    let [executed, bodies] = ["executed", "bodies"].map(|name| scratch.path(name));
    succeed(&mut import(&executed, &dump, "--until 30"));
    succeed(&mut import(&bodies, &dump, "--until 30 --level bodies"));
    let changed = scratch.path("changed.yml");
    let other = |from: &str, to: &str| {
        assert!(good.contains(from), "no {from} in {good}");
        fs::write(&changed, good.replacen(from, to, 1)).unwrap();
        format!("--chain {}", changed.display())
    };
    let cases = [
        ("  MaxTraceableBlocks: ", "  MaxTraceableBlocks: 9", "MaxTraceableBlocks: expected "),
        ("  VerifyTransactions: true", "  VerifyTransactions: false", "found false"),
        ("    Gorgon: 0", "    Gorgon: 0\n    Huyao: 31", "Hardforks.Huyao: expected none"),
    ];
    for (from, to, words) in cases {
        let flags = other(from, to);
        for (store, level) in [(&executed, ""), (&bodies, " --level bodies")] {
            let mut command = import(store, &dump, &format!("{flags}{level}"));
            let ended = run(command.arg("--json"));
            let answer = document(&ended);
            assert_eq!(answer["status"], serde_json::to_value(Status::Usage).unwrap(), "{answer}");
            let error = &answer["error"];
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("another configuration") && message.contains(words));
            assert!(error["hint"].as_str().unwrap().contains("--data"), "{error}");
            assert_eq!(tip_of(store), Some(30));
        }
    }
    // a future value may be added, and is kept from then on
    let flags = other("    Gorgon: 0", "    Gorgon: 0\n    Huyao: 5000000");
    for (store, level) in [(&executed, ""), (&bodies, " --level bodies")] {
        succeed(&mut import(store, &dump, &format!("{flags}{level} --until 40")));
        succeed(&mut import(store, &dump, level));
    }
}
