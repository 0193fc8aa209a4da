//! References within a budget: whatever part of the branches is in pages, the roots, the values and
//! the nodes are those of a state whose branches are all in memory.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use blockmill_state_store::{Change, Pages, PagesOptions, StateKey};
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{Store, StoreOptions};
use blockmill_testkit::{Random, rounds};

/// The contract with most of the slots, which stays.
const LARGE: [u8; 32] = [0x77; 32];
/// Bytes that branches may take: the first have none, the last next to nothing.
const BUDGETS: [Option<usize>; 4] = [None, Some(90_000), Some(45_000), Some(0)];

type Batch = BTreeMap<StateKey, Option<Vec<u8>>>;

struct Parts {
    disk: SimulatedDisk,
    budget: Option<usize>,
    store: Store,
    pages: Pages,
    evicted: u64,
    compacted: u64,
}

impl Parts {
    fn open(disk: SimulatedDisk, budget: Option<usize>) -> Self {
        let options = StoreOptions { disk: Arc::new(disk.clone()), crash_at: None };
        let mut opening = Store::open(Path::new("data"), &options).unwrap();
        let options = PagesOptions {
            page_bytes: 2048,
            file_bytes: 1 << 16,
            reference_bytes: budget,
            disk_factor: 1.2,
            ..PagesOptions::new(1 << 17)
        };
        let pages = Pages::open(&mut opening, "pages", &options).unwrap();
        let (store, _) = opening.finish().unwrap();
        Self { disk, budget, store, pages, evicted: 0, compacted: 0 }
    }

    fn commit(&mut self) {
        self.store.commit(&mut [(&mut self.pages).into()], b"").unwrap();
    }

    fn again(self) -> Self {
        let survey = self.pages.survey();
        let (evicted, compacted) = (self.evicted, self.compacted);
        let Self { disk, budget, store, pages, .. } = self;
        drop((store, pages));
        let mut again = Self::open(disk, budget);
        again.evicted = evicted + survey.evicted;
        again.compacted = compacted + survey.compacted_bytes;
        again
    }
}

fn account_value(balance: u8) -> Vec<u8> {
    let mut value = vec![0xf8, 68, 0x80, balance];
    for part in [[0; 32], [7; 32]] {
        value.push(0xa0);
        value.extend(part);
    }
    value
}

/// Changes of a block of a state: slots come, change, stay and go, some of them with all that begin
/// with the same byte, and accounts with all they have.
fn block(keys: &mut BTreeMap<StateKey, Vec<u8>>, count: usize, random: &mut Random) -> Batch {
    let mut batch = Batch::from([(StateKey::account(LARGE), Some(account_value(1)))]);
    let all: Vec<_> = keys.keys().copied().collect();
    let before = keys.clone();
    let same = |key: &StateKey| (*key, Some(before[key].clone()));
    for _ in 0..count {
        let old = all.get(random.below(all.len().max(1))).copied();
        let value = Some(vec![1 + random.below(120_u8); 1 + random.below(32_usize)]);
        let (key, value) = match (random.below(20_u32), old) {
            (0..4, Some(key)) if key.slot.is_some() => (key, None),
            (4..10, Some(key)) if key.slot.is_some() => (key, value),
            (10, Some(near)) => (StateKey::slot(near.account, random.array()), value),
            // what is so already
            (11, Some(key)) => same(&key),
            (12, Some(near)) => (StateKey::slot(near.account, random.array()), None),
            (13, _) => (StateKey::account(random.array()), Some(account_value(2))),
            _ => (StateKey::slot(LARGE, random.array()), value),
        };
        batch.insert(key, value);
    }
    if random.below(3_u32) == 0 {
        let byte = random.below(256_u32) as u8;
        let begins =
            |key: &&StateKey| key.account == LARGE && key.slot.is_some_and(|s| s[0] == byte);
        batch.extend(all.iter().filter(begins).map(|key| (*key, None)));
    }
    if random.below(8_u32) == 0 {
        // nothing changes
        batch = all.iter().filter(|_| random.below(90_u32) == 0).map(same).collect();
    }
    let gone = all.iter().find(|key| key.slot.is_none() && key.account != LARGE);
    if let Some(gone) = gone.filter(|_| random.below(4_u32) == 0) {
        batch.retain(|key, _| key.account != gone.account);
        batch.insert(*gone, None);
        keys.retain(|key, _| key.account != gone.account);
    }
    for (key, value) in &batch {
        match value {
            Some(value) => _ = keys.insert(*key, value.clone()),
            None => _ = keys.remove(key),
        }
    }
    batch
}

/// What a state says of some keys, and of the nodes on the way to them.
fn answers(pages: &Pages, keys: &[StateKey]) -> Vec<String> {
    let mut many = vec![None; keys.len()];
    pages.get_many(keys, |at, value| many[at] = value.map(<[u8]>::to_vec)).unwrap();
    let answer = |(key, many): (&StateKey, &Option<Vec<u8>>)| {
        let mut value = vec![];
        let is_there = pages.get(key, &mut value).unwrap();
        assert_eq!(many.as_ref(), is_there.then_some(&value));
        let (account, way) = match &key.slot {
            Some(slot) => (Some(&key.account), slot),
            None => (None, &key.account),
        };
        let node = |depth| pages.node(account, way, depth).unwrap();
        let nodes: Vec<_> = (0..6).filter_map(node).collect();
        format!("{many:?} {nodes:?}")
    };
    keys.iter().zip(&many).map(answer).collect()
}

fn slots(pages: &Pages, account: &[u8; 32]) -> Vec<([u8; 32], Vec<u8>)> {
    let mut found = vec![];
    pages.storage(account, &mut |slot, value| found.push((*slot, value.to_vec()))).unwrap();
    found
}

#[test]
fn branches_in_pages_change_no_root_no_value_and_no_node() {
    let mut random = Random::new(1);
    let mut states = BUDGETS.map(|budget| Parts::open(SimulatedDisk::default(), budget));
    let mut keys = BTreeMap::new();
    let mut branches = [0; BUDGETS.len()];
    // fewer do not come to what is asserted of the smallest budget
    let rounds = rounds(60).max(20);
    for number in 0..rounds {
        let count = if number < 8 { 3000 } else { 1 + random.below(400_usize) };
        let batch = block(&mut keys, count, &mut random);
        let changes: Vec<_> = batch
            .iter()
            .map(|(key, value)| Change { key: *key, value: value.as_deref() })
            .collect();
        let roots = states.each_mut().map(|state| state.pages.update(&changes).unwrap());
        assert!(roots.iter().all(|root| *root == roots[0]), "block {number}");
        let all: Vec<_> = keys.keys().copied().collect();
        let mut some: Vec<_> = (0..200).map(|_| all[random.below(all.len())]).collect();
        some.extend((0..20).map(|_| StateKey::slot(LARGE, random.array())));
        let what = random.below(6_u32);
        states = states.map(|mut state| {
            match what {
                0 => state.commit(),
                1 => state.pages.spill().unwrap(),
                2 => {
                    state.commit();
                    state = state.again();
                }
                _ => {}
            }
            state
        });
        let found = states.each_ref().map(|state| answers(&state.pages, &some));
        assert!(found.iter().all(|other| *other == found[0]), "block {number}");
        if what == 2 {
            branches = states.each_ref().map(|state| state.pages.survey().branch_bytes);
            let found = states.each_ref().map(|state| slots(&state.pages, &LARGE));
            assert!(found.iter().all(|other| *other == found[0]), "block {number}");
        }
    }
    let states = states.map(|mut state| {
        state.commit();
        state.again()
    });
    let evicted = states.each_ref().map(|state| state.evicted);
    let compacted = states.each_ref().map(|state| state.compacted);
    println!("{} keys, {branches:?} bytes, {evicted:?} branches, {compacted:?} bytes", keys.len());
    assert_eq!(evicted[0], 0);
    assert!(evicted[3] > 100 && branches[2] > branches[3], "{evicted:?} {branches:?}");
    if rounds == 60 {
        assert!(evicted[1..].iter().all(|evicted| *evicted > 100), "{evicted:?}");
        assert!(compacted.iter().all(|compacted| *compacted > 0), "{compacted:?}");
        assert!(branches[0] > 2 * branches[2], "{branches:?}");
    }
    // an account at a time until nothing is left: no record counts any more
    let accounts: Vec<_> = keys.keys().filter(|key| key.slot.is_none()).copied().collect();
    for mut state in states {
        for gone in accounts.chunks(20) {
            let changes: Vec<_> =
                gone.iter().map(|key| Change { key: *key, value: None }).collect();
            state.pages.update(&changes).unwrap();
            state.commit();
        }
        assert_eq!(state.pages.root(), blockmill_trie::EMPTY_ROOT);
        assert_eq!(state.pages.survey().live_bytes, 0);
    }
}

#[test]
fn a_branch_that_is_in_memory_again_and_did_not_change_is_not_lost() {
    let mut random = Random::new(2);
    // room for the two topmost levels, so that of the third all are in pages
    let mut state = Parts::open(SimulatedDisk::default(), Some(15_000));
    let value = |random: &mut Random| vec![1 + random.below(120_u8); 32];
    let mut slots: BTreeMap<_, _> =
        (0..12_000).map(|_| (StateKey::slot(LARGE, random.array()), value(&mut random))).collect();
    slots.insert(StateKey::account(LARGE), account_value(1));
    let change = |(key, value): (&StateKey, &Vec<u8>)| (*key, value.clone());
    let update = |state: &mut Parts, batch: &[(StateKey, Vec<u8>)]| {
        let changes: Vec<_> =
            batch.iter().map(|(key, value)| Change { key: *key, value: Some(value) }).collect();
        state.pages.update(&changes).unwrap();
        state.commit();
    };
    update(&mut state, &slots.iter().map(change).collect::<Vec<_>>());
    // all branches stay in memory from here on
    state.budget = None;
    state = state.again();
    assert!(state.evicted > 200, "{} branches", state.evicted);
    let within = |key: &StateKey, range: std::ops::Range<u8>| {
        key.slot.is_some_and(|slot| range.contains(&slot[0]))
    };
    let same = slots.iter().filter(|(key, _)| within(key, 128..255));
    update(&mut state, &same.map(change).collect::<Vec<_>>());
    // so much changes that files of these branches are removed, and so little that the sweep over
    // all references has not come to them
    let before = state.pages.survey().disk_bytes;
    for (_, old) in slots.iter_mut().filter(|(key, _)| within(key, 0..40)) {
        *old = value(&mut random);
    }
    let changed = slots.iter().filter(|(key, _)| within(key, 0..40));
    update(&mut state, &changed.map(change).collect::<Vec<_>>());
    let (root, survey) = (state.pages.root(), state.pages.survey());
    assert!(before + survey.written_bytes > survey.disk_bytes + (1 << 16), "{before}, {survey:?}");
    state = state.again();
    assert_eq!(state.pages.root(), root);
    let keys: Vec<_> = slots.keys().filter(|key| key.slot.is_some()).copied().collect();
    let mut found = vec![None; keys.len()];
    state.pages.get_many(&keys, |at, value| found[at] = value.map(<[u8]>::to_vec)).unwrap();
    assert!(keys.iter().zip(&found).all(|(key, value)| slots.get(key) == value.as_ref()));
}
