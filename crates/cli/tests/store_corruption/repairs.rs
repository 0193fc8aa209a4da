//! After `check --repair` what it advises works: whatever was corrupt, wherever the state is, the
//! same import leads to the store that was never corrupt.

use super::program::{
    Ended, Random, Scratch, blockmill, document, fixtures, read_store, run, succeed, tip_of,
};
use super::{Deed, Work, files, renew};
use blockmill_ethereum::commit::executed_store::KeptState;
use blockmill_store::ChainStore;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The last block of the store.
const LAST: u64 = 300;
/// Trials of each kind of store.
const TRIALS: u32 = 8;
/// Kinds of stores: the options of an import. The log of the state is short, so that most
/// corruption of blocks lies before it.
const KINDS: [&str; 7] = [
    "--level headers",
    "--level bodies",
    "",
    "--with state=pages",
    "--with state=flat+trie",
    "--with state=pages --with log=redo",
    "--with log=off",
];

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Nothing that counts was changed, or the next import rebuilt it.
    Harmless,
    /// Blocks, or the state, or both were given up and came again.
    Repaired,
    /// The blocks have to be imported into a new folder.
    Anew,
}

/// `kind` without what the store itself remembers.
fn resumed(kind: &str) -> String {
    let mut words = kind.split("--with ").map(str::trim);
    let first = words.next().unwrap_or_default().to_owned();
    let others = words.filter(|option| !option.starts_with("state="));
    others.fold(first, |flags, option| format!("{flags} --with {option}"))
}

fn import(store: &Path, kind: &str) -> Command {
    let flags = format!("import --seal off --chunk 16 --until {LAST} --unwind-depth 40 {kind}");
    let mut command = blockmill(&format!("{flags} --data"));
    command.arg(store).arg(fixtures().join("chains/hive-sync/chain.rlp"));
    command
}

/// What a store answers of its state; `None` if it keeps none.
fn proof(store: &Path, kind: &str) -> Option<serde_json::Value> {
    let is_kept = !kind.contains("--level") && !kind.contains("log=off");
    let account = format!("0x{}", "00".repeat(20));
    is_kept.then(|| {
        let mut prove = blockmill(&format!("prove --json --account {account} --block {LAST}"));
        let proved = document(&run(prove.arg(store)));
        assert_eq!(proved["status"], "ok", "{proved}");
        proved["result"].clone()
    })
}

/// Imports again into a store that knows where its state is, which must lead to the store that was
/// never corrupt.
fn come_again(base: &Path, store: &Path, kind: &str) -> Result<(), String> {
    import_again(base, store, kind, &mut import(store, &resumed(kind)))
}

/// Where a store keeps its state.
fn kept(store: &Path) -> Option<KeptState> {
    let (store, _) = ChainStore::open_read_only(store).expect("a store that opens");
    KeptState::of_store(&store).expect("a known state")
}

fn import_again(base: &Path, store: &Path, kind: &str, import: &mut Command) -> Result<(), String> {
    let ended = run(import);
    if ended.code != Some(0) {
        return Err(format!("the import: {}{}", ended.stdout, ended.stderr));
    }
    let checked = run(blockmill("check").arg(store));
    if checked.code != Some(0) {
        return Err(format!("the check after it: {}", checked.stdout));
    }
    let is_same = read_store(base).blocks == read_store(store).blocks
        && tip_of(store) == Some(LAST)
        && proof(base, kind) == proof(store, kind)
        && kept(base) == kept(store);
    if is_same { Ok(()) } else { Err("another store".into()) }
}

/// Checks, repairs, and does what that advises.
fn follow_advice(base: &Path, store: &Path, kind: &str) -> Result<Outcome, String> {
    let checked = document(&run(blockmill("check --json").arg(store)));
    if checked["status"] == "ok" {
        return come_again(base, store, kind).map(|()| Outcome::Harmless);
    }
    let ended: Ended = run(blockmill("check --repair --json").arg(store));
    let repaired = document(&ended);
    let advice = repaired["result"]["repair"].as_str().unwrap_or_default().to_owned();
    if ended.code == Some(0) && advice.starts_with("done") {
        let done = come_again(base, store, kind).map_err(|error| format!("{advice}: {error}"));
        let is_rebuilt = advice.contains("rebuilt");
        return done.map(|()| if is_rebuilt { Outcome::Harmless } else { Outcome::Repaired });
    }
    if advice.contains("import again with --chain genesis.json") {
        let genesis = fixtures().join("chains/hive-sync/genesis.json");
        let done = import_again(
            base,
            store,
            kind,
            import(store, &resumed(kind)).arg("--chain").arg(genesis),
        );
        return done.map(|()| Outcome::Repaired).map_err(|error| format!("{advice}: {error}"));
    }
    if !advice.contains("into a new folder") || advice.contains("--repair") {
        return Err(format!("{ended:?}"));
    }
    let new = Work::new("repairs-new");
    let done = import_again(base, &new.0, kind, &mut import(&new.0, kind))
        .map_err(|error| format!("{advice}: {error}"));
    done.map(|()| Outcome::Anew)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_a_repair_advises_works() {
    let scratch = Scratch::new("repairs");
    let mut random = Random::new_each_run("repairs");
    let (mut ends, mut dead_ends) = (BTreeMap::new(), vec![]);
    for (at, kind) in KINDS.into_iter().enumerate() {
        let base = scratch.path(&format!("base-{at}"));
        succeed(&mut import(&base, kind));
        std::fs::remove_dir_all(base.join("records")).expect("run records");
        let whole = files(&base);
        let folder = Work::new(&format!("repairs-{at}"));
        for _ in 0..TRIALS {
            renew(&base, &folder.0);
            let deed = Deed::random(&mut random, &whole, &folder.0, &mut Default::default());
            match follow_advice(&base, &folder.0, kind) {
                Ok(end) => *ends.entry((kind, end)).or_insert(0) += 1,
                Err(error) => dead_ends.push(format!("{kind}: {deed:?}: {error}")),
            }
        }
    }
    println!("{ends:?}");
    assert!(dead_ends.is_empty(), "{} dead ends:\n{}", dead_ends.len(), dead_ends.join("\n"));
    let repaired: u32 =
        ends.iter().filter(|((_, end), _)| *end == Outcome::Repaired).map(|(_, count)| count).sum();
    assert!(repaired > KINDS.len() as u32, "{repaired} repaired");
}
