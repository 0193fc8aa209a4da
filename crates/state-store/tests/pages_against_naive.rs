//! Blocks of random changes: after each the root is that of the tries by their definition, and
//! what is read back is what a map has; checkpoints and openings in between change nothing.

use std::{path::Path, sync::Arc};

use crate::generated_state::{Draw, Mood, Random, World, assert_holds, changes};
use blockmill_state_store::{Change, Pages, PagesOptions, StateKey};
use blockmill_store::disk::simulated::SimulatedDisk;
use blockmill_store::{Error, Store, StoreOptions};
use blockmill_testkit::rounds;

struct Parts {
    store: Store,
    pages: Pages,
}

/// Bytes of references in memory: all of them, or some, or hardly any.
const BUDGETS: [Option<usize>; 4] = [None, Some(1_500), Some(800), Some(0)];

fn open(disk: &SimulatedDisk, page_bytes: usize, reference_bytes: Option<usize>) -> Parts {
    let options = StoreOptions { disk: Arc::new(disk.clone()), crash_at: None };
    let mut opening = Store::open(Path::new("data"), &options).unwrap();
    // small files, so that some are emptied; a cache that holds little
    let file_bytes = 1 << 14;
    let options =
        PagesOptions { page_bytes, file_bytes, reference_bytes, ..PagesOptions::new(1 << 15) };
    let pages = Pages::open(&mut opening, "pages", &options).unwrap();
    let (store, _) = opening.finish().unwrap();
    Parts { store, pages }
}

impl Parts {
    fn commit(&mut self) {
        self.store.commit(&mut [(&mut self.pages).into()], b"").unwrap();
    }
}

/// A life of some blocks: growth, change, decline to nothing.
fn life(draw: Draw, seed: u64, budget: Option<usize>) -> (u32, u64, u64) {
    let page_bytes = [1024, 2048, 4096][(seed % 3) as usize];
    let mut random = Random::new(seed);
    let (disk, mut world) = (SimulatedDisk::default(), World::default());
    let mut parts = open(&disk, page_bytes, budget);
    let mut blocks = 0;
    let most = [3, 12, 60][random.below(3_usize)];
    let (mut compacted, mut evicted) = (0, 0);
    for (removes, count) in [(5, 20), (40, 20), (15, 15), (75, 40)] {
        for _ in 0..count {
            let slots = [20, 50, 90][random.below(3_usize)];
            let changed = 1 + random.below(most);
            let mood = Mood { draw, removes, changes: changed, slots };
            let batch = world.block(mood, &mut random);
            let root = parts.pages.update(&changes(&batch)).unwrap();
            assert_eq!(root, world.root(), "{draw:?}, seed {seed}, block {blocks}");
            blocks += 1;
            if random.below(5_u32) == 0 {
                parts.pages.spill().unwrap();
                assert_eq!(parts.pages.survey().buffer_bytes, 0);
            }
            if random.below(4_u32) == 0 {
                parts.commit();
                let survey = parts.pages.survey();
                compacted = survey.compacted_bytes.max(compacted);
                evicted = survey.evicted.max(evicted);
            }
            if random.below(8_u32) == 0 {
                parts.commit();
                drop(parts);
                parts = open(&disk, page_bytes, budget);
                assert_eq!(parts.pages.root(), root);
            }
            if random.below(6_u32) == 0 {
                assert_holds(&parts.pages, &mut world, &mut random);
            }
        }
    }
    while !world.accounts.is_empty() {
        let batch = world.remove_some(7);
        assert_eq!(parts.pages.update(&changes(&batch)).unwrap(), world.root());
        blocks += 1;
    }
    assert_eq!(parts.pages.root(), blockmill_trie::EMPTY_ROOT);
    let survey = parts.pages.survey();
    assert_eq!((survey.tries, survey.buffer_bytes, survey.live_bytes), (0, 0, 0));
    parts.commit();
    (blocks, compacted, evicted)
}

#[test]
fn random_blocks_have_the_roots_of_the_definition() {
    let (mut blocks, mut compacted, mut evicted) = (0, 0, [0; BUDGETS.len()]);
    for seed in 0..rounds(6) as u64 {
        for (budget, evicted) in BUDGETS.into_iter().zip(&mut evicted) {
            for draw in Draw::ALL {
                let (more, bytes, branches) = life(draw, seed, budget);
                (blocks, compacted) = (blocks + more, compacted + bytes);
                *evicted += branches;
            }
        }
    }
    assert!(blocks > 380 * rounds(6) as u32, "{blocks} blocks");
    assert!(compacted > 0, "no file was emptied");
    assert_eq!(evicted[0], 0);
    assert!(evicted.is_sorted() && evicted[3] > 0, "{evicted:?}");
    if rounds(6) == 6 {
        // a part of the rounds does not come to all of them
        assert!(evicted.is_sorted_by(|less, more| less < more), "{evicted:?}");
    }
    println!(
        "{blocks} blocks, {compacted} bytes of cells moved, {evicted:?} branches put into pages"
    );
}

#[test]
fn what_was_written_ahead_goes_with_the_process() {
    let mut random = Random::new(17);
    let (disk, mut world) = (SimulatedDisk::default(), World::default());
    let mut parts = open(&disk, 2048, Some(0));
    let mood = Mood { draw: Draw::Uniform, removes: 30, changes: 40, slots: 50 };
    let block = |parts: &mut Parts, world: &mut World, random: &mut Random| {
        let batch = world.block(mood, random);
        assert_eq!(parts.pages.update(&changes(&batch)).unwrap(), world.root());
        parts.pages.spill().unwrap();
    };
    for _ in 0..rounds(12) {
        for _ in 0..3 {
            block(&mut parts, &mut world, &mut random);
        }
        parts.commit();
        let mut lost = world.clone();
        for _ in 0..random.below(6_usize) {
            block(&mut parts, &mut lost, &mut random);
        }
        drop(parts);
        parts = open(&disk, 2048, Some(0));
        assert_holds(&parts.pages, &mut world, &mut random);
    }
    assert!(parts.pages.survey().disk_bytes > 0);
}

#[test]
fn what_is_being_packed_is_read_before_it_is_written_and_after() {
    BUDGETS.into_iter().for_each(packed_with_readers);
}

fn packed_with_readers(budget: Option<usize>) {
    let mut random = Random::new(19);
    let (disk, mut world) = (SimulatedDisk::default(), World::default());
    let mut parts = open(&disk, 1024, budget);
    let mood = Mood { draw: Draw::Uniform, removes: 15, changes: 100, slots: 90 };
    let holds = |pages: &Pages, world: &mut World, random: &mut Random| {
        assert_holds(pages, world, random);
        let (keys, values): (Vec<_>, Vec<_>) = world.pairs().into_iter().unzip();
        let mut found = vec![None; keys.len()];
        pages.get_many(&keys, |at, value| found[at] = value.map(<[u8]>::to_vec)).unwrap();
        assert!(found.iter().map(Option::as_ref).eq(values.iter().map(Some)));
    };
    let mut stretches = 0;
    for _ in 0..rounds(3) {
        for _ in 0..24 {
            let batch = world.block(mood, &mut random);
            assert_eq!(parts.pages.update(&changes(&batch)).unwrap(), world.root());
        }
        while parts.pages.stage().unwrap() {
            stretches += 1;
            holds(&parts.pages, &mut world, &mut random);
            let changed = parts.pages.update(&[]);
            assert!(matches!(changed, Err(Error::Mismatch { .. })), "{changed:?}");
            parts.pages.write_staged().unwrap();
            holds(&parts.pages, &mut world, &mut random);
        }
        holds(&parts.pages, &mut world, &mut random);
        let staged = parts.pages.sync_staged().unwrap();
        parts.pages.accept_staged(staged);
        holds(&parts.pages, &mut world, &mut random);
        parts.commit();
        drop(parts);
        parts = open(&disk, 1024, budget);
        holds(&parts.pages, &mut world, &mut random);
    }
    assert!(stretches > 0, "all was packed in one stretch");
}

#[test]
fn storage_moves_between_its_account_and_a_trie_of_its_own() {
    let disk = SimulatedDisk::default();
    let mut parts = open(&disk, 4096, None);
    let (mut world, mut random) = (World::default(), Random::new(5));
    let mood = Mood { draw: Draw::Uniform, removes: 0, changes: 3, slots: 0 };
    parts.pages.update(&changes(&world.block(mood, &mut random))).unwrap();
    let account = *world.accounts.keys().next().unwrap();
    let mut tries = vec![];
    let up = (0..60_u8).map(|n| (n, Some(vec![n + 1])));
    let down = (0..60_u8).map(|n| (n, None));
    for (n, value) in up.chain(down) {
        let slot = [n.wrapping_mul(37); 32];
        let change = Change { key: StateKey::slot(account, slot), value: value.as_deref() };
        parts.pages.update(&[change]).unwrap();
        let found = world.accounts.get_mut(&account).unwrap();
        match value {
            Some(value) => _ = found.slots.insert(slot, value),
            None => _ = found.slots.remove(&slot),
        }
        found.forget_root();
        assert_holds(&parts.pages, &mut world, &mut random);
        tries.push(parts.pages.survey().tries);
    }
    // 17 slots are too many for the entry; it takes them back when 8 are left
    let expected: Vec<_> = (1..=60).map(|slots| usize::from(slots > 16)).collect();
    let back: Vec<_> = (0..60).rev().map(|slots| usize::from(slots > 8)).collect();
    assert_eq!(tries, [expected, back].concat());
}

#[test]
fn what_are_no_changes_of_a_block_is_refused() {
    let disk = SimulatedDisk::default();
    let mut parts = open(&disk, 4096, None);
    let (mut world, mut random) = (World::default(), Random::new(6));
    let mood = Mood { draw: Draw::Uniform, removes: 0, changes: 9, slots: 0 };
    let batch = world.block(mood, &mut random);
    parts.pages.update(&changes(&batch)).unwrap();
    let root = parts.pages.root();
    let account = StateKey::account(*world.accounts.keys().next().unwrap());
    let slot = StateKey::slot(account.account, [1; 32]);
    let long = [1; 128];
    let wrong: [&[Change<'_>]; 6] = [
        &[Change { key: slot, value: Some(&[]) }],
        &[Change { key: slot, value: Some(&long) }],
        &[Change { key: account, value: Some(&[1; 80]) }],
        &[Change { key: slot, value: None }, Change { key: slot, value: None }],
        &[Change { key: slot, value: None }, Change { key: account, value: None }],
        &[Change { key: account, value: None }, Change { key: slot, value: Some(&[1]) }],
    ];
    for changes in wrong {
        let refused = parts.pages.update(changes);
        assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
        assert_eq!(parts.pages.root(), root);
    }
    assert_holds(&parts.pages, &mut world, &mut random);
    let nobody = Change { key: StateKey::slot([9; 32], [1; 32]), value: Some(&[1]) };
    let refused = parts.pages.update(&[nobody]);
    assert!(matches!(refused, Err(Error::Mismatch { .. })), "{refused:?}");
    let later = parts.pages.update(&[]);
    assert!(matches!(later, Err(Error::Failed { .. })), "{later:?}");
}
