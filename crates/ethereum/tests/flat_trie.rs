//! Flat values and the nodes of their tries: roots against the definition, and both healed from
//! each other.

use crate::generated_state::{Draw, Mood, Random, World, changes};
use blockmill_ethereum::state::{
    FlatOptions, FlatStore, FlatTrie, FlatTrieError, HAS_ROCKSDB, Healed, StateError,
};
use blockmill_pipeline::options::NamedOption;
use blockmill_state_store::{Change, StateKey};
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{Store, StoreOptions, Table, TableOptions};
use blockmill_testkit::rounds;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Where a state is: a store, and a folder for RocksDB.
struct Place {
    disk: SimulatedDisk,
    folder: TempDir,
    flat: FlatStore,
}

impl Place {
    fn new(flat: FlatStore) -> Self {
        Self { disk: SimulatedDisk::default(), folder: tempfile::tempdir().unwrap(), flat }
    }

    fn open(&self) -> Parts {
        let mut opening = Store::open(Path::new("data"), &options(&self.disk)).unwrap();
        let options = FlatOptions { store: self.flat, ..FlatOptions::new(1 << 20) };
        let state = FlatTrie::open(&mut opening, self.folder.path(), &options).unwrap();
        // so few bytes that nodes which were read ahead are let go of again and again
        let state = state.preloading(1 << 14);
        assert_eq!(state.store(), self.flat);
        let (store, _) = opening.finish().unwrap();
        Parts { store, state }
    }
}

struct Parts {
    store: Store,
    state: FlatTrie,
}

fn options(disk: &SimulatedDisk) -> StoreOptions {
    StoreOptions { disk: Arc::new(disk.clone()), crash_at: None }
}

impl Parts {
    fn commit(&mut self) {
        let Self { store, state } = self;
        state.commit(|mut parts| store.commit(&mut parts, b"")).unwrap();
    }
}

/// Everything is there, and nothing else.
fn assert_holds(state: &FlatTrie, world: &mut World) {
    assert_eq!(state.root(), world.root());
    let mut out = vec![];
    for (key, value) in world.pairs() {
        out.clear();
        assert!(state.get(&key, &mut out).unwrap(), "{key:?} is not there");
        assert_eq!(out, value, "{key:?}");
        let absent = StateKey { account: key.account, slot: Some([0xee; 32]) };
        assert!(!state.get(&absent, &mut out).unwrap());
    }
}

/// A state of some blocks, committed now and then.
fn life(draw: Draw, seed: u64) -> (SimulatedDisk, World) {
    let (place, world) = life_in(FlatStore::Tables, draw, seed);
    (place.disk, world)
}

fn life_in(flat: FlatStore, draw: Draw, seed: u64) -> (Place, World) {
    let mut random = Random::new(seed);
    let (place, mut world) = (Place::new(flat), World::default());
    let mut parts = place.open();
    let most = [3, 12, 60][random.below(3_usize)];
    for (removes, count) in [(5, 12), (40, 12), (15, 8)] {
        for _ in 0..count {
            let slots = [20, 50, 90][random.below(3_usize)];
            let mood = Mood { draw, removes, changes: 1 + random.below(most), slots };
            let batch = world.block(mood, &mut random);
            let changes = changes(&batch);
            if random.below(2_u32) == 0 {
                // the nodes that lead there are kept; some will be others when a root needs them
                let keys: Vec<StateKey> = changes.iter().map(|change| change.key).collect();
                parts.state.get_many(&keys, |_, _| {}).unwrap();
            }
            let root = parts.state.update(&changes).unwrap();
            assert_eq!(root, world.root(), "{draw:?}, seed {seed}");
            if random.below(4_u32) == 0 {
                parts.commit();
            }
            if random.below(8_u32) == 0 {
                parts.commit();
                drop(parts);
                parts = place.open();
                assert_holds(&parts.state, &mut world);
            }
        }
    }
    assert_eq!(parts.state.healed(), Healed::default(), "nothing was lost");
    assert_holds(&parts.state, &mut world);
    parts.commit();
    drop(parts);
    (place, world)
}

/// The state in tables.
fn open(disk: &SimulatedDisk) -> Parts {
    Place { disk: disk.clone(), ..Place::new(FlatStore::Tables) }.open()
}

#[test]
fn random_blocks_have_the_roots_of_the_definition() {
    for flat in FlatStore::available() {
        for seed in 0..rounds(12) as u64 {
            for draw in Draw::ALL {
                let (place, mut world) = life_in(flat, draw, seed);
                let mut parts = place.open();
                while !world.accounts.is_empty() {
                    let batch = world.remove_some(7);
                    assert_eq!(parts.state.update(&changes(&batch)).unwrap(), world.root());
                }
                parts.commit();
                drop(parts);
                if flat == FlatStore::Tables {
                    let left: Vec<_> = tables(&place.disk).1.iter().flat_map(pairs).collect();
                    // the root alone
                    assert_eq!(left.len(), 1, "{left:02x?}");
                }
            }
        }
    }
}

/// The tables of a state: accounts, slots, nodes.
fn tables(disk: &SimulatedDisk) -> (Store, [Table; 3]) {
    let mut opening = Store::open(Path::new("data"), &options(disk)).unwrap();
    let mut table = |name, prefix_bytes| {
        let options = TableOptions { prefix_bytes, ..TableOptions::new(1 << 20) };
        opening.table(name, &options).unwrap()
    };
    let tables = [table("flat-accounts", 0), table("flat-slots", 32), table("trie-nodes", 0)];
    (opening.finish().unwrap().0, tables)
}

type Pair = (Vec<u8>, Vec<u8>);

fn pairs(table: &Table) -> Vec<Pair> {
    let (mut pairs, mut scan) = (vec![], table.iter().unwrap());
    while let Some((key, value)) = scan.next().unwrap() {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    pairs
}

/// What stands in a store.
fn contents(disk: &SimulatedDisk) -> Vec<Vec<Pair>> {
    tables(disk).1.iter().map(pairs).collect()
}

/// Takes some entries away, changes some and puts some in that belong nowhere, in the tables with
/// these numbers; how many.
fn damage(disk: &SimulatedDisk, which: &[usize], most: usize, random: &mut Random) -> usize {
    let (mut store, mut tables) = tables(disk);
    let mut done = 0;
    for number in which {
        let table = &mut tables[*number];
        let all: Vec<_> = pairs(table).into_iter().filter(|(key, _)| key != &[2]).collect();
        for _ in 0..1 + random.below(most) {
            if all.is_empty() {
                continue;
            }
            let (key, mut value) = all[random.below(all.len())].clone();
            match random.below(4_u32) {
                0 | 1 => table.delete(&key).unwrap(),
                2 if *number == 2 => table.put(&key, b"no node").unwrap(),
                2 if *number == 1 => {
                    random.flip(&mut value);
                    table.put(&key, &value).unwrap();
                }
                // a slot that the trie does not have
                3 if *number == 1 => {
                    let mut other = key.clone();
                    other[40..].copy_from_slice(&random.bytes(24));
                    table.put(&other, &value).unwrap();
                }
                _ => table.delete(&key).unwrap(),
            }
            done += 1;
        }
    }
    let mut parts: Vec<_> = tables.iter_mut().map(Into::into).collect();
    store.commit(&mut parts, b"").unwrap();
    done
}

fn heal_all(parts: &mut Parts) -> Healed {
    let mut all = Healed::default();
    for piece in 0..=u8::MAX {
        let healed = parts.state.heal(piece).unwrap();
        all.values += healed.values;
        all.nodes += healed.nodes;
        all.removed += healed.removed;
        all.lost += healed.lost;
    }
    parts.commit();
    all
}

#[test]
fn a_thousand_damaged_states_are_healed() {
    let mut random = Random::new(16);
    let (mut cases, mut damaged, mut healed) = (0, 0, Healed::default());
    let lives = rounds(40);
    for seed in 0..lives as u64 {
        let draw = Draw::ALL[random.below(3_usize)];
        let (disk, world) = life(draw, 1000 + seed);
        if world.accounts.is_empty() {
            continue;
        }
        let whole = contents(&disk);
        for _ in 0..26 {
            // values, or nodes: each has the other to be healed from
            let which = [&[1][..], &[2], &[0], &[0, 1]][random.below(4_usize)];
            let most = [1, 4, 40][random.below(3_usize)];
            damaged += damage(&disk, which, most, &mut random);
            let mut parts = open(&disk);
            let found = heal_all(&mut parts);
            assert_eq!(found.lost, 0);
            drop(parts);
            assert!(contents(&disk) == whole, "seed {seed}, {draw:?}, {which:?}: {found:?}");
            healed.values += found.values;
            healed.nodes += found.nodes;
            healed.removed += found.removed;
            cases += 1;
        }
        let mut parts = open(&disk);
        assert_eq!(heal_all(&mut parts), Healed::default(), "a whole state stays as it is");
    }
    println!("{cases} cases, {damaged} places damaged, {healed:?}");
    assert!(cases >= 20 * lives, "{cases} cases");
    assert!(healed.values > 0 && healed.nodes > 0 && healed.removed > 0, "{healed:?}");
}

#[test]
fn reads_and_updates_heal_what_they_come_to() {
    let mut random = Random::new(17);
    let mut healed = Healed::default();
    for seed in 0..rounds(12) as u64 {
        let draw = Draw::ALL[seed as usize % 3];
        let (disk, mut world) = life(draw, 2000 + seed);
        damage(&disk, &[0], 20, &mut random);
        let mut parts = open(&disk);
        for (key, value) in world.pairs() {
            let mut out = vec![];
            assert!(parts.state.get_or_heal(&key, &mut out).unwrap(), "{key:?}");
            assert_eq!(out, value);
            let nowhere = StateKey { account: [7; 32], ..key };
            assert!(!parts.state.get_or_heal(&nowhere, &mut out).unwrap());
        }
        parts.commit();
        healed.values += parts.state.healed().values;
        drop(parts);
        damage(&disk, &[2], 20, &mut random);
        let mut parts = open(&disk);
        for _ in 0..10 {
            let mood = Mood { draw, removes: 30, changes: 20, slots: 50 };
            let batch = world.block(mood, &mut random);
            assert_eq!(parts.state.update(&changes(&batch)).unwrap(), world.root());
        }
        healed.nodes += parts.state.healed().nodes;
        assert_holds(&parts.state, &mut world);
    }
    assert!(healed.values > 0 && healed.nodes > 0, "{healed:?}");
}

#[test]
fn data_that_both_copies_lack_is_reported() {
    let (disk, mut world) = life(Draw::Uniform, 1);
    let key = world.pairs().into_iter().find(|(key, _)| key.slot.is_none()).unwrap().0;
    let (mut store, mut tables) = tables(&disk);
    tables[0].delete(&key.account).unwrap();
    for (node, _) in pairs(&tables[2]) {
        if node[0] == 0 {
            tables[2].delete(&node).unwrap();
        }
    }
    let mut parts: Vec<_> = tables.iter_mut().map(Into::into).collect();
    store.commit(&mut parts, b"").unwrap();
    drop((store, tables));
    let mut parts = open(&disk);
    assert!(heal_all(&mut parts).lost > 0);
    let error = parts.state.get_or_heal(&key, &mut vec![]).unwrap_err();
    let expected = matches!(error, FlatTrieError::State(StateError::MissingNode { .. }));
    assert!(expected, "{error}");
    // nothing was removed: the trie does not say what is too much
    for (other, value) in world.pairs().into_iter().filter(|(other, _)| *other != key) {
        let mut out = vec![];
        assert!(parts.state.get(&other, &mut out).unwrap() && out == value);
    }
}

#[test]
fn what_are_no_changes_of_a_block_is_refused() {
    let mut parts = Place::new(FlatStore::Tables).open();
    let (one, two) = (StateKey::account([1; 32]), StateKey::slot([1; 32], [1; 32]));
    let value = Some(&[1][..]);
    let wrong: [&[Change<'_>]; 4] = [
        &[Change { key: two, value }, Change { key: one, value: None }],
        &[Change { key: one, value: None }, Change { key: two, value }],
        &[Change { key: two, value }],
        &[Change { key: one, value }],
    ];
    for changes in wrong {
        let refused = parts.state.update(changes);
        assert!(matches!(refused, Err(FlatTrieError::Malformed { .. })), "{refused:?}");
    }
}

#[test]
fn a_state_in_rocksdb_is_refused_by_a_program_without_it() {
    let (disk, folder) = (SimulatedDisk::default(), tempfile::tempdir().unwrap());
    let reopen = || Store::open(Path::new("data"), &options(&disk)).unwrap();
    let mut opening = reopen();
    let mut table = opening.table("flat-rocksdb", &TableOptions::new(1 << 16)).unwrap();
    table.put(b"commit", &1u64.to_le_bytes()).unwrap();
    opening.finish().unwrap().0.commit(&mut [(&mut table).into()], b"").unwrap();
    let opened = FlatTrie::open(&mut reopen(), folder.path(), &FlatOptions::new(1 << 20));
    let Err(FlatTrieError::Store(error)) = opened else { panic!("it was opened") };
    match HAS_ROCKSDB {
        false => {
            assert!(matches!(error, blockmill_store::Error::Mismatch { .. }), "{error}");
            assert!(error.to_string().contains("`--features rocksdb`"), "{error}");
        }
        // there is none
        true => assert!(matches!(error, blockmill_store::Error::Corrupt { .. }), "{error}"),
    }
}
