//! Our store under the workload, against the naive one.

use super::keys::Key;
use super::workload::{Change, KeyValueStore};
use super::*;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// The naive store.
#[derive(Default)]
struct Map(BTreeMap<Key, Vec<u8>>);

type Done = Result<(), workload::Error>;

impl KeyValueStore for Map {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, workload::Error> {
        Ok(self.0.get(key).map(|value| out.extend(value)).is_some())
    }

    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Done {
        keys.iter().filter_map(|key| self.0.get(key)).for_each(|value| found(value));
        Ok(())
    }

    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Done {
        let pairs = self.0.iter().filter(|(key, _)| key.starts_with(prefix));
        pairs.for_each(|(key, value)| found(key, value));
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Done {
        for (key, value) in changes {
            match value {
                Some(value) => drop(self.0.insert(*key, value.clone())),
                None => drop(self.0.remove(key)),
            }
        }
        Ok(())
    }

    fn wait_for_background(&mut self) -> Done {
        Ok(())
    }
}

/// Opens a store. A process that another test starts has all our files for a moment, the lock too.
fn opened<S, E: std::fmt::Display>(open: impl Fn() -> Result<S, E>) -> S {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match open() {
            Ok(store) => return store,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn states_find_what_a_map_finds() {
    let pages = [("one", Some("off")), ("many", Some("threads")), ("many", Some("io_uring"))];
    for (owner, ahead) in pages.into_iter().chain([("one", None), ("many", None)]) {
        let dir = tempfile::tempdir().unwrap();
        let mut map = Map::default();
        // so little that the fill makes checkpoints, and reads go to disk
        let settings = state::Settings::new(1 << 18, owner, ahead).unwrap();
        let all = Operation::ALL.into_iter().chain([Operation::Get, Operation::GetMany]);
        for operation in all.filter(|operation| *operation != Operation::Scan) {
            let mut store = opened(|| state::InState::open(dir.path(), &settings));
            // contracts are drawn unevenly, as in real blocks
            let draw = if owner == "many" { Draw::Skewed } else { Draw::Uniform };
            let job = workload::Job { operation, keys: 20_000, draw, blocks: 20 };
            let expected = workload::run(&mut map, job).unwrap();
            let found = workload::run(&mut store, job).unwrap();
            let facts = |m: workload::Measured| (m.operations, m.bytes, m.digest);
            assert_eq!(facts(found), facts(expected), "{owner}, {ahead:?}, {}", operation.name());
            let writes = [Operation::Load, Operation::Fill, Operation::Update, Operation::Blocks];
            let writes = writes.contains(&operation);
            match store.facts().first() {
                Some((_, written)) => assert_eq!(*written > 1.0, writes),
                None => assert_eq!(ahead, None),
            }
        }
    }
}

#[test]
fn our_store_finds_what_a_map_finds() {
    let dir = tempfile::tempdir().unwrap();
    let mut map = Map::default();
    let again = [Operation::Get, Operation::GetMany, Operation::Scan];
    for operation in Operation::ALL.into_iter().chain(again) {
        // as in the benchmark, each operation opens the store anew
        let mut ours = opened(|| ours::Ours::open(dir.path(), 1 << 20));
        let job = workload::Job { operation, keys: 20_000, draw: Draw::Uniform, blocks: 20 };
        let expected = workload::run(&mut map, job).unwrap();
        let found = workload::run(&mut ours, job).unwrap();
        let facts = |m: workload::Measured| (m.operations, m.bytes, m.digest);
        assert_eq!(facts(found), facts(expected), "{}", operation.name());
        let is_absent = operation == Operation::GetAbsent;
        assert_eq!((expected.digest == 0, expected.bytes == 0), (is_absent, is_absent));
        // of twenty blocks of 500 changes some meet in a key
        let least = if operation == Operation::Blocks { 9_800 } else { 20_000 };
        assert!(expected.operations >= least, "{}: {}", operation.name(), expected.operations);
    }
}
