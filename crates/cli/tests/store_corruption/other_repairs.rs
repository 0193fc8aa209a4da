//! `check --repair` of stores of Neo and Bitcoin blocks: what it advises works.

use super::program::{Scratch, assert_same_store, blockmill, document, run, succeed, tip_of};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn import(store: &Path, archive: &Path) -> Command {
    let mut command = blockmill("import --threads 1 --data");
    command.arg(store).arg(archive);
    command
}

fn check(store: &Path, flags: &str) -> Value {
    document(&run(blockmill(&format!("check --json {flags}")).arg(store)))
}

/// Repairs a store in place; what was done.
fn repair(store: &Path) -> (Value, String) {
    let repaired = check(store, "--repair");
    assert_eq!(repaired["status"], "ok", "{repaired:#}");
    assert_eq!(check(store, "")["result"]["corruption"], serde_json::json!([]));
    (repaired["result"]["went_back_to"].clone(), repaired["notes"].to_string())
}

/// What would repair a store.
fn advice(store: &Path) -> String {
    let found = check(store, "");
    assert_eq!(found["status"], "corrupt", "{found:#}");
    found["error"]["hint"].as_str().expect("advice").to_owned()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 4;
    fs::write(path, bytes).expect("a file to write");
}

/// A store of Neo blocks, and the dump that it was imported from.
fn neo(scratch: &Scratch, flags: &str) -> (PathBuf, PathBuf) {
    let (folder, store) = (scratch.path("chain"), scratch.path("store"));
    let words = "generate neo --mixed --blocks 40 --txs 10 --accounts 10 --out";
    succeed(blockmill(words).arg(&folder));
    let dump = folder.join("chain.acc");
    succeed(import(&store, &dump).args(flags.split_whitespace()));
    (store, dump)
}

/// The first byte of the body of a block.
fn body_of(store: &Path, block: usize) -> usize {
    let ends = fs::read(store.join("bodies-ends.00000")).expect("a file");
    let end = ends[8 * (block - 1)..8 * block].try_into().expect("8 bytes");
    u64::from_le_bytes(end) as usize
}

#[test]
fn executed_neo_blocks_are_removed_from_the_corruption_on_and_imported_again() {
    let scratch = Scratch::new("repair-neo-executed");
    let (store, dump) = neo(&scratch, "");
    let whole = scratch.path("whole");
    for (file, at) in [("bodies.00000", body_of(&store, 30)), ("receipts.00000", usize::MAX)] {
        let path = store.join(file);
        let bytes = fs::metadata(&path).expect("a file").len() as usize;
        flip(&path, at.min(bytes - 1));
        let command = format!("`blockmill check {} --repair`", store.display());
        assert!(advice(&store).contains(&format!("{command} goes back to block")));
        let (back, done) = repair(&store);
        let back = back.as_u64().expect("a block");
        assert!(done.contains("import the rest again"), "{done}");
        assert_eq!(tip_of(&store), Some(back));
        // that is the store of an import up to there
        let _ = fs::remove_dir_all(&whole);
        succeed(import(&whole, &dump).args(["--until", &back.to_string()]));
        let inspect = |store: &Path, height: u64| {
            succeed(blockmill(&format!("inspect --json --block {height}")).arg(store))
        };
        assert_eq!(inspect(&store, back), inspect(&whole, back));
        succeed(&mut import(&store, &dump));
        succeed(&mut import(&whole, &dump));
        let last = tip_of(&whole).expect("a block");
        assert_eq!(inspect(&store, last), inspect(&whole, last));
        assert_eq!(check(&store, "")["status"], "ok");
    }
}

#[test]
fn neo_blocks_without_a_state_are_removed_from_the_corruption_on_and_imported_again() {
    let scratch = Scratch::new("repair-neo-bodies");
    let (store, dump) = neo(&scratch, "--level bodies");
    let whole = scratch.path("whole");
    succeed(import(&whole, &dump).args(["--level", "bodies"]));
    flip(&store.join("bodies.00000"), body_of(&store, 30));
    let (back, _) = repair(&store);
    assert_eq!(back.as_u64(), tip_of(&store));
    succeed(import(&store, &dump).args(["--level", "bodies"]));
    assert_same_store(&whole, &store);
}

#[test]
fn a_corrupt_undo_log_is_removed_and_the_state_stays() {
    let scratch = Scratch::new("repair-neo-log");
    let (store, dump) = neo(&scratch, "--until 20");
    flip(&store.join("undo-0.00000"), 50);
    assert!(advice(&store).contains("gives up the undo log"));
    let (back, done) = repair(&store);
    assert!(back.is_null() && done.contains("unwind goes back to block 20 at most"), "{done}");
    let unwind =
        |to: u64| document(&run(blockmill(&format!("unwind --json --to {to}")).arg(&store)));
    assert_eq!(unwind(10)["exit_code"], 2);
    succeed(&mut import(&store, &dump));
    assert_eq!(unwind(25)["status"], "ok");
    assert_eq!(unwind(20)["status"], "ok");
    assert_eq!(unwind(19)["exit_code"], 2);
}

#[test]
fn a_neo_store_that_nothing_in_place_repairs_says_so_and_stays_as_it_is() {
    let scratch = Scratch::new("repair-neo-tables");
    let (store, dump) = neo(&scratch, "--unwind-depth 3 --until 15");
    for until in ["25", "35"] {
        succeed(import(&store, &dump).args(["--unwind-depth", "3", "--until", until]));
    }
    // before all that the undo log has
    let bodies = store.join("bodies.00000");
    flip(&bodies, body_of(&store, 5));
    for flags in ["", "--repair"] {
        let found = check(&store, flags);
        let hint = found["error"]["hint"].as_str().expect("advice");
        assert_eq!(found["status"], "corrupt", "{found:#}");
        assert_eq!(hint, "import the dumps again into a new folder");
    }
    flip(&bodies, body_of(&store, 5));
    assert_eq!(check(&store, "")["status"], "ok");
    let table = fs::read_dir(&store).expect("a store").map(|entry| entry.expect("a file").path());
    let table = table.into_iter().find(|path| path.to_string_lossy().contains("storage."));
    flip(&table.expect("a table"), 100);
    assert_eq!(check(&store, "--repair")["status"], "corrupt");
    succeed(&mut import(&scratch.path("new"), &dump));
}

#[test]
fn corrupt_coins_and_undo_data_are_removed_and_built_again() {
    let scratch = Scratch::new("repair-coins");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    succeed(blockmill("generate bitcoin --inputs 100 --coins 100 --out").arg(&blocks));
    succeed(&mut import(&store, &blocks));
    let answers = |store: &Path| {
        let stored = blockmill_bitcoin::inspect::stored(store).expect("a store").expect("coins");
        (stored.tip, stored.statistics, stored.undo_bytes)
    };
    let whole = answers(&store);
    for file in ["undo.00000", "manifest"] {
        flip(&store.join("coins").join(file), 20);
        let command = format!("`blockmill check {} --repair`", store.display());
        assert!(advice(&store).contains(&format!("{command} gives up coins and undo data")));
        let (back, done) = repair(&store);
        assert_eq!(back, 0);
        assert!(done.contains("import the block files again, which connects all blocks"), "{done}");
        succeed(&mut import(&store, &blocks));
        assert_eq!(answers(&store), whole);
    }
    // the index alone
    for at in [0, 9, 40] {
        flip(&store.join("index"), at);
        assert!(advice(&store).contains("the next import scans the block files again"));
        let (back, done) = repair(&store);
        assert!(back.is_null() && done.contains("the block index was removed"), "{done}");
        assert_eq!(answers(&store), whole);
        succeed(&mut import(&store, &blocks));
        assert!(store.join("index").is_file());
    }
    // a store that somebody has open is not touched
    let lock = fs::File::open(store.join("coins/lock")).expect("a lock");
    lock.lock().expect("a lock");
    flip(&store.join("coins/undo.00000"), 20);
    let ended = run(blockmill("check --repair").arg(&store));
    assert!(ended.code != Some(0) && store.join("coins/manifest").is_file(), "{}", ended.stderr);
}
