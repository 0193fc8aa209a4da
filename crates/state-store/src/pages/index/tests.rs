//! References that are read back equal those in memory, at any position of a sweep.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use blockmill_testkit::{Random, rounds};

use super::IndexFiles;
use crate::{Change, PAGE_FORMAT, Pages, PagesOptions, StateKey, pages::branches::Child};
use blockmill_store::{
    Store, StoreOptions,
    disk::{Disk, simulated::SimulatedDisk},
    part::Folder,
};

const NAME: &str = "pages";

/// Bytes that many keys begin with, and how many of them.
const CLUSTERS: [(u8, usize); 2] = [(0xab, 4), (0x5c, 6)];

/// An account with much storage, which stays.
const LARGE: [u8; 32] = [0x77; 32];

type State = BTreeMap<StateKey, Vec<u8>>;

fn open(
    folder: &Arc<Folder>,
    facts: Option<&[u8]>,
    reference_bytes: Option<usize>,
) -> blockmill_store::Result<Pages> {
    let (page_bytes, file_bytes) = (1024, 1 << 15);
    let options =
        PagesOptions { page_bytes, file_bytes, reference_bytes, ..PagesOptions::new(1 << 16) };
    Pages::open_in(folder, NAME, facts, &options, true)
}

/// All children at and below a child, with their locations.
fn list(pages: &Pages, child: &Child, path: &mut Vec<u8>, out: &mut Vec<String>) {
    let (reference, count, length_units) =
        (child.reference(), child.count(), (child.length_units(), child.offset_units()));
    let Some(at) = child.branch_at() else {
        out.push(format!(
            "{path:?}: {reference:?}, {:?}, {count}, {length_units:?}",
            child.below()
        ));
        return;
    };
    let branch = pages.arena.get(at);
    out.push(format!("{path:?}: {reference:?}, {:?}, {:b}", branch.path, branch.mask()));
    for (nibble, child) in branch.children() {
        let len = path.len();
        path.extend(&branch.path);
        path.push(nibble);
        list(pages, child, path, out);
        path.truncate(len);
    }
}

fn all(pages: &Pages) -> Vec<String> {
    let mut out = vec![];
    for (number, trie) in (0..).zip(&pages.tries) {
        let Some(top) = &trie.top else { continue };
        assert!(!top.is_changed());
        assert!(number == 0 || pages.storage.get(&trie.account) == Some(&number));
        out.push(format!("trie {number} of {:?}", trie.account));
        list(pages, top, &mut vec![], &mut out);
    }
    out
}

/// A key of all, of one of two clusters of many keys that begin alike, or one that parts from a
/// cluster on the way to it.
fn key(random: &mut Random) -> [u8; 32] {
    let mut key: [u8; 32] = random.array();
    let (byte, all) = CLUSTERS[random.below(2_usize)];
    let same = match random.below(40_u32) {
        0..10 => 0,
        10 => 1 + random.below(all - 1),
        _ => all,
    };
    key[..same].fill(byte);
    key
}

fn account_value(balance: u8) -> Vec<u8> {
    let mut value = vec![0xf8, 68, 0x80, balance];
    for part in [[0; 32], [7; 32]] {
        value.push(0xa0);
        value.extend(part);
    }
    value
}

/// Changes of a block: slots and accounts come, change and go, one in a while with all it has.
fn block(
    state: &mut State,
    count: usize,
    random: &mut Random,
) -> BTreeMap<StateKey, Option<Vec<u8>>> {
    let large = (StateKey::account(LARGE), Some(account_value(1)));
    let mut batch = BTreeMap::from([large]);
    let accounts: Vec<_> =
        state.keys().filter(|key| key.slot.is_none() && key.account != LARGE).copied().collect();
    let removed =
        accounts.get(random.below(accounts.len().max(1) * 3)).filter(|_| random.below(4_u32) == 0);
    for _ in 0..count {
        let old = state.keys().nth(random.below(state.len().max(1))).copied();
        let (key, value) = match (random.below(64_u32), old) {
            (0..16, Some(key)) if key.slot.is_some() => (key, None),
            (16..40, Some(key)) if key.slot.is_some() => {
                (key, Some(vec![1 + random.below(120_u8)]))
            }
            (40, _) | (_, None) => {
                (StateKey::account(key(random)), Some(account_value(random.below(100_u8))))
            }
            (41..60, _) => (StateKey::slot(LARGE, key(random)), Some(vec![1])),
            (_, Some(near)) => (StateKey::slot(near.account, key(random)), Some(vec![1])),
        };
        let is_removed = removed.is_some_and(|removed| removed.account == key.account);
        if !is_removed && key.slot.is_some() | value.is_some() {
            batch.insert(key, value);
        }
    }
    if random.below(6_u32) == 0 {
        // keys on the way to a cluster: its branch moves up again
        let (byte, all) = CLUSTERS[random.below(2_usize)];
        let parts = |slot: [u8; 32]| slot[0] == byte && slot[..all].iter().any(|at| *at != byte);
        let on_the_way = state.keys().filter(|key| key.slot.is_some_and(parts));
        batch.extend(on_the_way.map(|key| (*key, None)));
    }
    if let Some(removed) = removed {
        batch.retain(|key, _| key.account != removed.account);
        state.retain(|key, _| key.account != removed.account);
        batch.insert(*removed, None);
    }
    for (key, value) in &batch {
        match value {
            Some(value) => _ = state.insert(*key, value.clone()),
            None => _ = state.remove(key),
        }
    }
    batch
}

#[test]
fn references_are_read_back_wherever_a_sweep_stands() -> Result<(), Box<dyn std::error::Error>> {
    let (mut halfway, mut complete, mut removed, mut evicted, mut most) = (0, 0, 0, 0, 0_f64);
    let seeds = 0..rounds(4) as u64;
    // all of them in memory, and a part
    for (seed, budget) in seeds.flat_map(|seed| [(seed, None), (seed, Some(6000))]) {
        let mut random = Random::new(seed);
        let disk = Arc::new(SimulatedDisk::default());
        let dir = Path::new("data");
        disk.create_folder(dir)?;
        let options = StoreOptions { disk: disk.clone(), crash_at: None };
        let folder = Store::open(dir, &options)?.foreign(NAME, &PAGE_FORMAT)?.folder;
        let mut pages = open(&folder, None, budget)?;
        let mut state = State::new();
        for commit in 0..120 {
            let count = if commit < 4 { 1500 } else { 1 + random.below(60_usize) };
            let batch = block(&mut state, count, &mut random);
            removed +=
                batch.iter().filter(|(key, value)| key.slot.is_none() && value.is_none()).count();
            let changes: Vec<_> = batch
                .iter()
                .map(|(key, value)| Change { key: *key, value: value.as_deref() })
                .collect();
            pages.update(&changes)?;
            let facts = pages.prepare()?;
            pages.finish_commit()?;
            let read = open(&folder, Some(&facts), budget)?;
            let expected = all(&pages);
            assert!(expected == all(&read), "seed {seed}, budget {budget:?}, commit {commit}");
            assert_eq!(pages.root(), read.root());
            assert_eq!(pages.arena.count(), read.arena.count());
            let IndexFiles { current, before, .. } =
                pages.index.ok_or("no references were written")?;
            (halfway, complete) = match before {
                Some(_) => (halfway + 1, complete),
                None => (halfway, complete + 1),
            };
            let bytes = current.bytes + before.map_or(0, |file| file.bytes);
            evicted += pages.survey().evicted;
            if commit > 20 && budget.is_none() {
                most = most.max(bytes as f64 / (36 * expected.len()) as f64);
            }
            if random.below(10_u32) == 0 {
                pages = read;
            }
        }
    }
    println!("{halfway} and {complete} commits, {removed} removed, {most:.2} times the references");
    assert!(halfway > 40 * rounds(4) && complete > 8 * rounds(4) && removed > 2 * rounds(4));
    assert!(evicted > 0, "all branches were in memory");
    assert!(most < 5.0, "{most}");
    Ok(())
}
