//! A state that is kept as values and as tries: what one has lost comes from the other.

use super::imports::{options, published, run};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::durable::{ExecutedStore, HEALED_APART, Limits};
use blockmill_ethereum::fault::Error;
use blockmill_ethereum::option_table::Setting;
use blockmill_ethereum::state::StateKind;
use pipeline::Cancel;
use std::path::Path;
use store::{ChainStore, Table, TableOptions};
use testkit::Random;

/// Tables of such a state, and the bytes that a prefix of their keys has.
const TABLES: [(&str, u8); 3] = [("flat-accounts", 0), ("flat-slots", 32), ("trie-nodes", 0)];

fn limits(state: StateKind) -> Limits {
    Limits { state, ..Limits::default() }
}

/// Imports a published chain up to a block; what was committed.
fn import_to(dir: &Path, state: StateKind, until: Option<u64>) -> u64 {
    let (spec, path) = published("geth-ethtest");
    let setting = Setting::default().with(&[format!("state={}", state.name())]).unwrap();
    let options = blockmill_ethereum::import::Options { until, ..options(spec, setting) };
    let (store, _) = ExecutedStore::open(dir, &store::Options::default(), limits(state)).unwrap();
    let (run, error) = run(path, &options, &mut Sink::Executed(Box::new(store)));
    assert_eq!(error, None);
    run.committed.unwrap()
}

/// Removes entries of the tables that `loses` says; how many.
fn lose(dir: &Path, mut loses: impl FnMut(&str, &[u8]) -> bool) -> u64 {
    let (mut chain, mut tables) = ChainStore::open_with(dir, &store::Options::default(), |all| {
        let open = |(name, prefix_bytes): (&'static str, u8)| {
            all.table(name, &TableOptions { prefix_bytes, ..TableOptions::new(1 << 20) })
        };
        TABLES.into_iter().map(open).collect::<store::Result<Vec<Table>>>()
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

fn open(dir: &Path) -> ExecutedStore {
    let limits = limits(StateKind::FlatTrie);
    ExecutedStore::open(dir, &store::Options::default(), limits).unwrap().0
}

#[testkit::needs(fixtures)]
#[test]
fn what_values_or_tries_have_lost_is_put_right_and_the_chain_goes_on() {
    let mut random = Random::new(16);
    let mut healed_values = 0;
    for round in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        import_to(dir, StateKind::FlatTrie, Some(400));
        // all that the log has goes into the tables
        assert_eq!(open(dir).heal(&Cancel::new(), |_| {}).unwrap(), (Default::default(), true));
        let is_lost = |name: &str, key: &[u8]| match round {
            0 => name == "trie-nodes" && key.len() > 1,
            1 => name != "trie-nodes",
            2 => name == "flat-slots",
            _ => name != "trie-nodes" && random.below(3u64) == 0,
        };
        let lost = lose(dir, is_lost);
        assert!(lost > 5, "{lost} lost in round {round}");
        let mut pieces = 0;
        let (healed, is_whole) = open(dir).heal(&Cancel::new(), |piece| pieces = piece).unwrap();
        assert!(is_whole && pieces == HEALED_APART);
        assert_eq!((healed.lost, healed.removed), (0, 0));
        match round {
            0 => assert!(healed.nodes >= lost && healed.values == 0, "{healed:?}"),
            _ => assert_eq!((healed.values, healed.nodes), (lost, 0), "round {round}"),
        }
        healed_values += healed.values;
        // nothing is left to do, the way back works, and so does the way on
        assert_eq!(open(dir).heal(&Cancel::new(), |_| {}).unwrap(), (Default::default(), true));
        open(dir).unwind(300, &Cancel::new()).unwrap().unwrap();
        assert_eq!(import_to(dir, StateKind::FlatTrie, None), 600);
    }
    assert!(healed_values > 100, "{healed_values}");
}

#[testkit::needs(fixtures)]
#[test]
fn what_both_have_lost_is_told() {
    let folder = tempfile::tempdir().unwrap();
    import_to(folder.path(), StateKind::FlatTrie, Some(100));
    open(folder.path()).heal(&Cancel::new(), |_| {}).unwrap();
    lose(folder.path(), |name, key| {
        name == "flat-accounts" || name == "trie-nodes" && key.len() > 1
    });
    let (healed, _) = open(folder.path()).heal(&Cancel::new(), |_| {}).unwrap();
    assert!(healed.lost > 0, "{healed:?}");
}

#[testkit::needs(fixtures)]
#[test]
fn a_state_that_is_kept_once_is_not_healed() {
    for kind in [StateKind::Memory, StateKind::Pages] {
        let folder = tempfile::tempdir().unwrap();
        import_to(folder.path(), kind, Some(20));
        let options = store::Options::default();
        let mut store = ExecutedStore::open(folder.path(), &options, limits(kind)).unwrap().0;
        let error = store.heal(&Cancel::new(), |_| {}).unwrap_err();
        assert!(matches!(error, Error::Unwind { .. }), "{error}");
        assert!(error.to_string().contains("state=flat+trie"), "{error}");
    }
}
