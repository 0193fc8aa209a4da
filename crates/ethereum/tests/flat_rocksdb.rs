//! A state in RocksDB and the manifest of its store: what a death between two steps of a commit
//! leaves, what is damage, and values and nodes that are healed from each other.

#[path = "../../state-store/tests/generated_state/mod.rs"]
mod generated_state;

use blockmill_ethereum::state::{
    FlatOptions, FlatStore, FlatTrie, FlatTrieError, Healed, RocksDbOptions,
};
use blockmill_store::{Error, Store, StoreOptions};
use blockmill_testkit::rounds;
use blockmill_verdict::Status;
use generated_state::{Draw, Mood, Random, World, changes};
use rocksdb::{ColumnFamilyDescriptor, DB, IteratorMode, Options};
use std::fs;
use std::path::{Path, PathBuf};

const FAMILIES: [&str; 4] = ["default", "accounts", "slots", "nodes"];

struct Parts {
    store: Store,
    state: FlatTrie,
}

fn try_open(dir: &Path) -> Result<Parts, Error> {
    let mut opening = Store::open(dir, &StoreOptions::default())?;
    let options = FlatOptions { store: FlatStore::RocksDb, ..FlatOptions::new(1 << 20) };
    let state = FlatTrie::open(&mut opening, dir, &options).map_err(|error| match error {
        FlatTrieError::Store(error) => error,
        other => panic!("{other}"),
    })?;
    Ok(Parts { store: opening.finish()?.0, state })
}

fn open(dir: &Path) -> Parts {
    try_open(dir).unwrap()
}

/// Where a commit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Before the first step.
    Before,
    /// After the first: the changes are pending.
    Pending,
    /// After the second: the manifest names them.
    Named,
    /// After the third.
    Whole,
}

impl End {
    const ALL: [Self; 4] = [Self::Before, Self::Pending, Self::Named, Self::Whole];
}

impl Parts {
    fn commit(&mut self) {
        self.commit_until(End::Whole);
    }

    fn commit_until(&mut self, end: End) {
        let Self { store, state } = self;
        let died = || Err(Error::Failed { path: PathBuf::new() });
        let done = match end {
            End::Before => died(),
            End::Pending => state.commit(|_| died()),
            End::Named => {
                state.commit(|mut parts| store.commit(&mut parts, b"").and_then(|()| died()))
            }
            End::Whole => state.commit(|mut parts| store.commit(&mut parts, b"")),
        };
        assert_eq!(done.is_ok(), end == End::Whole, "{done:?}");
    }

    fn change(&mut self, world: &mut World, draw: Draw, count: usize, random: &mut Random) {
        let mood = Mood { draw, removes: 25, changes: count, slots: 60 };
        let root = self.state.update(&changes(&world.block(mood, random))).unwrap();
        assert_eq!(root, world.root());
    }
}

/// Everything is there: the root, and all values.
fn assert_holds(state: &FlatTrie, world: &mut World) {
    assert_eq!(state.root(), world.root());
    let mut out = vec![];
    for (key, value) in world.pairs() {
        out.clear();
        assert!(state.get(&key, &mut out).unwrap() && out == value, "{key:?}");
    }
}

/// A copy of a folder with all that is in it now, as a kill leaves it.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => _ = fs::copy(&path, &to).unwrap(),
        }
    }
}

#[test]
fn a_death_between_any_steps_leaves_one_commit_whole() {
    let mut random = Random::new(31);
    for round in 0..rounds(24) {
        let draw = Draw::ALL[round % 3];
        let folder = tempfile::tempdir().unwrap();
        let [dir, killed] = ["store", "killed"].map(|name| folder.path().join(name));
        let mut world = World::default();
        for end in End::ALL.into_iter().chain([End::Named, End::Pending, End::Before]) {
            let mut parts = open(&dir);
            assert_holds(&parts.state, &mut world);
            let before = world.clone();
            for _ in 0..1 + random.below(3_usize) {
                let count = 1 + random.below(30_usize);
                parts.change(&mut world, draw, count, &mut random);
            }
            parts.commit_until(end);
            // the process is killed, or ends because of an error
            copy(&dir, &killed);
            drop(parts);
            if end == End::Before || end == End::Pending {
                world = before;
            }
            for dir in [&killed, &dir] {
                assert_holds(&open(dir).state, &mut world);
            }
        }
    }
}

/// What there is before the first commit counts for nothing.
#[test]
fn what_was_written_before_the_first_commit_is_forgotten() {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Random::new(32));
    let dir = folder.path();
    for end in [End::Before, End::Pending, End::Named] {
        let (mut parts, mut world) = (open(dir), World::default());
        assert_holds(&parts.state, &mut world);
        parts.change(&mut world, Draw::Uniform, 40, &mut random);
        parts.state.spill().unwrap();
        parts.change(&mut world, Draw::Uniform, 40, &mut random);
        assert_holds(&parts.state, &mut world);
        parts.commit_until(end);
        drop(parts);
        if end == End::Named {
            assert_holds(&open(dir).state, &mut world);
        }
    }
}

#[test]
fn a_database_of_another_commit_is_damage() {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Random::new(33));
    let [dir, old] = ["store", "old"].map(|name| folder.path().join(name));
    let mut world = World::default();
    let mut states = vec![];
    for _ in 0..3 {
        let mut parts = open(&dir);
        parts.change(&mut world, Draw::Uniform, 20, &mut random);
        parts.commit();
        drop(parts);
        let kept = folder.path().join(states.len().to_string());
        copy(&dir, &kept);
        states.push(kept);
    }
    for (store, database) in [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1)] {
        copy(&states[store], &old);
        copy(&states[database].join("rocksdb"), &old.join("rocksdb"));
        let error = try_open(&old).err().unwrap();
        assert_eq!(error.status(), Status::Corrupt, "{error}");
        let text = error.to_string();
        let parts = [format!("state of commit {}", store + 1), format!("commit {}", database + 1)];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    copy(&states[2], &old);
    fs::remove_dir_all(old.join("rocksdb")).unwrap();
    let error = try_open(&old).err().unwrap();
    assert_eq!(error.status(), Status::Corrupt, "{error}");
    assert_holds(&open(&dir).state, &mut world);
}

#[test]
fn corruption_of_files_is_reported_or_harmless() {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Random::new(34));
    let [dir, damaged] = ["store", "damaged"].map(|name| folder.path().join(name));
    let mut world = World::default();
    for _ in 0..4 {
        let mut parts = open(&dir);
        parts.change(&mut world, Draw::Uniform, 200, &mut random);
        parts.commit();
    }
    let (mut reported, mut tried) = (0, 0);
    let names = fs::read_dir(dir.join("rocksdb")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in names.iter().cycle().take(names.len() * rounds(6)) {
        copy(&dir, &damaged);
        let file = damaged.join("rocksdb").join(name);
        let mut bytes = fs::read(&file).unwrap();
        if bytes.is_empty() {
            continue;
        }
        let at = random.below(bytes.len());
        match random.below(4_u32) {
            0 => bytes.truncate(at),
            _ => random.flip(&mut bytes),
        }
        fs::write(&file, &bytes).unwrap();
        tried += 1;
        let found = try_open(&damaged).and_then(|parts| {
            let (mut out, mut wrong) = (vec![], 0);
            for (key, value) in world.pairs() {
                out.clear();
                let is_there = parts.state.get(&key, &mut out).map_err(|error| match error {
                    FlatTrieError::Store(error) => error,
                    other => panic!("{other}"),
                })?;
                wrong += usize::from(!is_there || out != value);
            }
            Ok(wrong)
        });
        match found {
            Ok(wrong) => assert_eq!(wrong, 0, "{}", file.display()),
            Err(error) => {
                assert_eq!(error.status(), Status::Corrupt, "{}: {error}", file.display());
                reported += 1;
            }
        }
    }
    println!("{reported} of {tried} reported");
    assert!(reported * 4 > tried, "{reported} of {tried} reported");
}

/// All of the database, to be changed by hand.
fn database(dir: &Path) -> DB {
    let families = FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, Options::default()));
    DB::open_cf_descriptors(&Options::default(), dir.join("rocksdb"), families).unwrap()
}

type Pair = (Box<[u8]>, Box<[u8]>);

fn pairs(database: &DB, family: &str) -> Vec<Pair> {
    let family = database.cf_handle(family).unwrap();
    database.iterator_cf(family, IteratorMode::Start).map(Result::unwrap).collect()
}

fn contents(dir: &Path) -> Vec<Vec<Pair>> {
    let database = database(dir);
    FAMILIES[1..].iter().map(|family| pairs(&database, family)).collect()
}

#[test]
fn values_and_nodes_are_healed_from_each_other() {
    let (mut random, mut all) = (Random::new(35), Healed::default());
    for round in 0..rounds(30) {
        let folder = tempfile::tempdir().unwrap();
        let (dir, mut world) = (folder.path(), World::default());
        let mut parts = open(dir);
        for _ in 0..3 {
            parts.change(&mut world, Draw::ALL[round % 3], 60, &mut random);
        }
        parts.commit();
        drop(parts);
        let whole = contents(dir);
        // values, or nodes: each has the other to be healed from
        let lost: &[&str] = [&["slots"][..], &["nodes"], &["accounts", "slots"]][round % 3];
        let by_hand = database(dir);
        for family in lost {
            let handle = by_hand.cf_handle(family).unwrap();
            for (key, _) in pairs(&by_hand, family).iter().filter(|(key, _)| **key != [2]) {
                match random.below(6_u32) {
                    0 | 1 => by_hand.delete_cf(handle, key).unwrap(),
                    2 => by_hand.put_cf(handle, key, b"other").unwrap(),
                    _ => {}
                }
            }
        }
        drop(by_hand);
        let mut parts = open(dir);
        for piece in 0..=u8::MAX {
            // an account that is no RLP says nothing of its storage
            match parts.state.heal(piece) {
                Ok(healed) => all.add(&healed),
                Err(error) => panic!("{lost:?}: {error}"),
            }
        }
        parts.commit();
        assert_holds(&parts.state, &mut world);
        drop(parts);
        assert!(contents(dir) == whole, "{lost:?}");
    }
    println!("{all:?}");
    assert!(all.values > 0 && all.nodes > 0 && all.lost == 0, "{all:?}");
}

#[test]
fn every_setting_of_rocksdb_finds_the_same() {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Random::new(36));
    let mut world = World::default();
    let choices = [false, true];
    for (read_checksum, bloom) in choices.into_iter().flat_map(|a| choices.map(|b| (a, b))) {
        for block_cache in choices {
            let rocksdb = RocksDbOptions { read_checksum, bloom, block_cache };
            let store = FlatStore::RocksDb;
            let options = FlatOptions { store, rocksdb, ..FlatOptions::new(1 << 16) };
            let mut opening = Store::open(folder.path(), &StoreOptions::default()).unwrap();
            let state = FlatTrie::open(&mut opening, folder.path(), &options).unwrap();
            let mut parts = Parts { store: opening.finish().unwrap().0, state };
            for _ in 0..6 {
                parts.change(&mut world, Draw::Uniform, 100, &mut random);
                if parts.state.wants_flush() {
                    parts.commit();
                }
            }
            assert_holds(&parts.state, &mut world);
            let keys: Vec<_> = world.pairs().into_iter().map(|(key, _)| key).collect();
            let mut found = 0;
            parts.state.get_many(&keys, |_, value| found += usize::from(value.is_some())).unwrap();
            assert_eq!(found, keys.len());
            parts.commit();
        }
    }
}
