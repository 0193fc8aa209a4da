//! A state that is kept as values and as tries: what one has lost comes from the other.

use super::imports::{options, published, run};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, HEAL_PIECES, Limits};
use blockmill_ethereum::error::Error;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::state::{Healed, StateKind};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, CrashPoint, Table, TableOptions};
use blockmill_testkit::{Random, rounds};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Tables of such a state, and the bytes that a prefix of their keys has.
const TABLES: [(&str, u8); 3] = [("flat-accounts", 0), ("flat-slots", 32), ("trie-nodes", 0)];

fn limits(state: StateKind) -> Limits {
    Limits { state, ..Limits::default() }
}

/// Imports a published chain up to a block; what was committed.
fn import_to(dir: &Path, state: StateKind, until: Option<u64>) -> u64 {
    let (spec, path) = published("geth-ethtest");
    let settings = Settings { state, ..Settings::default() };
    let options = Options { until, ..options(spec, settings) };
    let (store, _) =
        ExecutedStore::open(dir, &blockmill_store::Options::default(), limits(state)).unwrap();
    let (run, error) = run(path, &options, &mut Sink::Executed(Box::new(store)));
    assert_eq!(error, None);
    run.committed.unwrap()
}

/// Removes entries of the tables that `loses` says; how many.
fn lose(dir: &Path, mut loses: impl FnMut(&str, &[u8]) -> bool) -> u64 {
    let (mut chain, mut tables) =
        ChainStore::open_with(dir, &blockmill_store::Options::default(), |all| {
            let open = |(name, prefix_bytes): (&'static str, u8)| {
                all.table(name, &TableOptions { prefix_bytes, ..TableOptions::new(1 << 20) })
            };
            TABLES.into_iter().map(open).collect::<blockmill_store::Result<Vec<Table>>>()
        })
        .map(|((chain, _), tables)| (chain, tables))
        .unwrap();
    let mut lost = 0;
    for table in &mut tables {
        let name = table.name().to_owned();
        let mut keys = vec![];
        let mut scan = table.iter().unwrap();
        while let Some((key, _)) = scan.next().unwrap() {
            if loses(&name, key) {
                keys.push(key.to_vec());
            }
        }
        drop(scan);
        lost += keys.len() as u64;
        keys.iter().for_each(|key| table.delete(key).unwrap());
    }
    let (tip, state) = (chain.tip().unwrap(), chain.state_of_parts().to_vec());
    let mut parts: Vec<_> = tables.iter_mut().map(Into::into).collect();
    chain.commit_with(&tip, &mut parts, &state).unwrap();
    lost
}

/// Heals a store: what was put right, and whether all was inspected.
fn heal(dir: &Path) -> (Healed, bool) {
    let healing = ExecutedStore::open_to_heal(dir).unwrap().heal(&Cancel::new(), |_| {}).unwrap();
    assert_eq!(healing.damaged, [""; 0]);
    (healing.healed, healing.is_whole)
}

fn open(dir: &Path) -> ExecutedStore {
    let limits = limits(StateKind::FlatTrie);
    ExecutedStore::open(dir, &blockmill_store::Options::default(), limits).unwrap().0
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_values_or_tries_have_lost_is_put_right_and_the_chain_goes_on() {
    let mut random = Random::new(16);
    let mut healed_values = 0;
    for round in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        import_to(dir, StateKind::FlatTrie, Some(400));
        // all that the log has goes into the tables
        assert_eq!(heal(dir), (Default::default(), true));
        let is_lost = |name: &str, key: &[u8]| match round {
            0 => name == "trie-nodes" && key.len() > 1,
            1 => name != "trie-nodes",
            2 => name == "flat-slots",
            _ => name != "trie-nodes" && random.below(3u64) == 0,
        };
        let lost = lose(dir, is_lost);
        assert!(lost > 5, "{lost} lost in round {round}");
        let mut pieces = 0;
        let mut store = ExecutedStore::open_to_heal(dir).unwrap();
        let healing = store.heal(&Cancel::new(), |piece| pieces = piece).unwrap();
        drop(store);
        let healed = healing.healed;
        assert!(healing.is_whole && pieces == HEAL_PIECES);
        assert_eq!((healed.lost, healed.removed), (0, 0));
        match round {
            0 => assert!(healed.nodes >= lost && healed.values == 0, "{healed:?}"),
            _ => assert_eq!((healed.values, healed.nodes), (lost, 0), "round {round}"),
        }
        healed_values += healed.values;
        // nothing is left to do, the way back works, and so does the way on
        assert_eq!(heal(dir), (Default::default(), true));
        open(dir).unwind(300, &Cancel::new()).unwrap().unwrap();
        assert_eq!(import_to(dir, StateKind::FlatTrie, None), 600);
    }
    assert!(healed_values > 100, "{healed_values}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn data_that_both_copies_lack_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    import_to(folder.path(), StateKind::FlatTrie, Some(100));
    heal(folder.path());
    lose(folder.path(), |name, key| {
        name == "flat-accounts" || name == "trie-nodes" && key.len() > 1
    });
    let (healed, _) = heal(folder.path());
    assert!(healed.lost > 0, "{healed:?}");
}

/// A raise to execution commits the state that the chain begins with before it executes blocks.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_state_that_an_interrupted_raise_has_committed_is_healed() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, kind) = (folder.path(), StateKind::FlatTrie);
    let (spec, path) = published("geth-ethtest");
    let settings = Settings { state: kind, ..Settings::default() };
    let executed = Options { until: Some(100), ..options(spec, settings) };
    let bodies = Options { level: Level::Bodies, ..executed.clone() };
    let (blocks, _) = ChainStore::open(dir, &blockmill_store::Options::default()).unwrap();
    let (_, error) = run(path.clone(), &bodies, &mut Sink::Segments(Box::new(blocks)));
    assert_eq!(error, None);
    let error = ExecutedStore::open_to_heal(dir).unwrap().heal(&Cancel::new(), |_| {});
    assert!(error.unwrap_err().to_string().contains("a store without a state"));

    let dying = blockmill_store::Options {
        crash_at: Some((CrashPoint::BeforeCommit, 1)),
        ..blockmill_store::Options::default()
    };
    let (store, _) = ExecutedStore::open(dir, &dying, limits(kind)).unwrap();
    let (_, error) = run(path, &executed, &mut Sink::Executed(Box::new(store)));
    assert!(error.is_some_and(|error| error.contains("crash")));
    let store = ExecutedStore::open_read_only(dir).unwrap();
    assert_eq!(store.blocks().tip().unwrap().level, Level::Bodies as u8);
    assert_eq!(store.facts().map(|facts| facts.block), Some(0));
    drop(store);

    assert_eq!(heal(dir), (Healed::default(), true));
    let lost = lose(dir, |name, _| name != "trie-nodes");
    assert!(lost > 5, "{lost}");
    assert_eq!(heal(dir), (Healed { values: lost, ..Healed::default() }, true));
    assert_eq!(import_to(dir, kind, None), 600);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_state_that_is_kept_once_is_not_healed() {
    for kind in [StateKind::Memory, StateKind::Pages] {
        let folder = tempfile::tempdir().unwrap();
        import_to(folder.path(), kind, Some(20));
        let options = blockmill_store::Options::default();
        let mut store = ExecutedStore::open(folder.path(), &options, limits(kind)).unwrap().0;
        let error = store.heal(&Cancel::new(), |_| {}).unwrap_err();
        assert!(matches!(error, Error::KeptOnce { .. }), "{error}");
        assert!(error.to_string().contains("state=flat+trie"), "{error}");
    }
}

/// A store with several files of values and of nodes, all of the log in them, and its files.
fn in_many_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    for until in [150, 300, 450, 600] {
        import_to(dir, StateKind::FlatTrie, Some(until));
        assert_eq!(heal(dir), (Healed::default(), true));
    }
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Puts files back as they were.
fn restore(dir: &Path, whole: &BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if !whole.contains_key(&path) {
            std::fs::remove_file(path).unwrap();
        }
    }
    whole.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
}

/// What `check` finds: damaged places; and whether the state is the one of the header.
fn check(dir: &Path) -> (usize, bool) {
    let (store, mut corruption) = ChainStore::open_corrupt(dir).unwrap();
    corruption
        .extend(store.check(Some(&blockmill_state_store::PAGE_FORMAT), 1, &|_| true).unwrap());
    drop(store);
    let state = ExecutedStore::open_read_only(dir);
    let is_right = state.is_ok_and(|store| store.check_state(&Cancel::new()).is_ok());
    (corruption.len(), is_right)
}

/// Flips a bit in a file whose name begins in one of these ways.
fn flip(whole: &BTreeMap<PathBuf, Vec<u8>>, kinds: &[&str], random: &mut Random) -> PathBuf {
    let is_one = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        kinds.iter().any(|kind| name.starts_with(kind))
    };
    let files: Vec<_> = whole.keys().filter(is_one).collect();
    let path = files[random.below(files.len())].clone();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8_u32);
    std::fs::write(&path, &bytes).unwrap();
    path
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn damaged_bytes_of_one_copy_are_made_again_from_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, mut random) = (folder.path(), Random::new(36));
    let whole = in_many_files(dir);
    let copies = [&["flat-"][..], &["trie-nodes"]];
    let (mut healed, mut lost_files) = (0, 0);
    for round in 0..rounds(60) {
        restore(dir, &whole);
        let copy = copies[round % 2];
        // several places of one copy, and now and then a whole file
        let path = flip(&whole, copy, &mut random);
        for _ in 0..round / 2 % 4 {
            flip(&whole, copy, &mut random);
        }
        if round % 7 == 0 {
            std::fs::remove_file(&path).unwrap();
            lost_files += 1;
        }
        assert!(check(dir).0 > 0, "{path:?}: the check finds it");
        let mut store = ExecutedStore::open_to_heal(dir).unwrap();
        let healing = store.heal(&Cancel::new(), |_| {}).unwrap();
        drop(store);
        assert!(!healing.damaged.is_empty() && healing.is_whole, "{healing:?}");
        assert_eq!((healing.healed.lost, healing.lost.len()), (0, 0), "{path:?}: {healing:?}");
        assert_eq!(check(dir), (0, true), "{path:?}: {healing:?}");
        assert_eq!(heal(dir), (Healed::default(), true), "{path:?}");
        healed += 1;
        if round % 10 == 0 {
            open(dir).unwind(550, &Cancel::new()).unwrap().unwrap();
            assert_eq!(import_to(dir, StateKind::FlatTrie, None), 600);
        }
    }
    println!("{healed} healed, {lost_files} with a lost file");
    assert!(healed >= rounds(60) && lost_files > 0);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn damage_of_both_copies_is_healed_or_named_and_stays_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, mut random) = (folder.path(), Random::new(37));
    let whole = in_many_files(dir);
    let (mut healed, mut named) = (0, 0);
    for round in 0..rounds(60) {
        restore(dir, &whole);
        for copy in [["flat-"], ["trie-nodes"]] {
            (0..=round % 5).for_each(|_| _ = flip(&whole, &copy, &mut random));
        }
        let mut store = ExecutedStore::open_to_heal(dir).unwrap();
        let healing = store.heal(&Cancel::new(), |_| {}).unwrap();
        drop(store);
        match healing.healed.lost {
            0 => {
                assert_eq!(check(dir), (0, true), "{healing:?}");
                assert_eq!(heal(dir), (Healed::default(), true));
                healed += 1;
            }
            _ => {
                assert!(!healing.lost.is_empty(), "{healing:?}");
                assert!(check(dir).0 > 0, "what is lost stays corruption: {healing:?}");
                named += 1;
            }
        }
    }
    println!("{healed} healed, {named} named");
    assert!(healed > 0 && named > 0, "{healed} healed, {named} named");
}
