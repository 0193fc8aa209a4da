//! Files that are cut short, flipped or lost: an error that names the place or an older commit,
//! never a panic and never wrong blocks.

mod made_blocks;

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use blockmill_store::{ChainStore, Error, Options};
use made_blocks::{
    FIRST, Random, assert_holds, copy, data_files, extend, folder, hash, small as page_files,
};

/// Small and big index runs of 4 and 64 blocks.
fn small() -> Options {
    Options { run_items: 4, ..page_files() }
}

/// A store whose blocks up to `synced` are durable and up to `last` committed, in chunks of 7.
fn make(dir: &Path, synced: u64, last: u64) {
    let (mut store, _) = ChainStore::open(dir, &small()).unwrap();
    let mut next = FIRST;
    while next <= last {
        let end = (next + 6).min(if next <= synced { synced } else { last });
        extend(&mut store, end).unwrap();
        if end == synced {
            store.sync().unwrap();
        }
        next = end + 1;
    }
}

fn shorten(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn flip(path: &Path, random: &mut Random) {
    let mut bytes = fs::read(path).unwrap();
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    fs::write(path, bytes).unwrap();
}

#[test]
fn names_the_file_when_durable_bytes_are_missing() {
    let dir = folder();
    make(dir.path(), FIRST + 40, FIRST + 40);
    for (name, bytes) in data_files(dir.path()) {
        if name.starts_with("index") {
            continue;
        }
        let path = dir.path().join(&name);
        for len in 0..bytes.len() as u64 {
            shorten(&path, len);
            let error = ChainStore::open(dir.path(), &small()).err().unwrap();
            let Error::Damaged { path: found, offset, .. } = &error else { panic!("{error}") };
            assert_eq!((found, *offset), (&path, len), "{error}");
            assert!(ChainStore::open_read_only(dir.path()).is_err());
            fs::write(&path, &bytes).unwrap();
        }
    }
    assert_holds(&ChainStore::open(dir.path(), &small()).unwrap().0, Some(FIRST + 40));
}

#[test]
fn builds_a_lost_or_shortened_index_again() {
    let dir = folder();
    make(dir.path(), FIRST + 100, FIRST + 140);
    let expected = data_files(dir.path());
    for (name, bytes) in expected.iter().filter(|(name, _)| name.starts_with("index")) {
        let path = dir.path().join(name);
        for len in (0..bytes.len() as u64).step_by(1531) {
            shorten(&path, len);
            assert!(ChainStore::open_read_only(dir.path()).is_err());
            let (store, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
            assert!(recovery.index_runs_built > 0);
            assert_eq!(store.number_of(&hash(FIRST + 5)).unwrap(), Some(FIRST + 5));
            drop(store);
            assert!(data_files(dir.path()) == expected);
        }
    }
    for name in expected.keys().filter(|name| name.starts_with("index")) {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    drop(ChainStore::open(dir.path(), &small()).unwrap());
    assert!(data_files(dir.path()) == expected);
}

#[test]
fn survives_a_torn_checkpoint_slot_of_any_length() {
    let dir = folder();
    make(dir.path(), FIRST + 6, FIRST + 40);
    let tips = [FIRST + 34, FIRST + 40];
    let whole = fs::read(dir.path().join("checkpoint")).unwrap();
    let work = folder();
    for slot in [0, 4096] {
        for len in (0..511).step_by(7) {
            copy(dir.path(), work.path());
            let mut torn = whole.clone();
            torn[slot + len..slot + 512].fill(0xa5);
            fs::write(work.path().join("checkpoint"), torn).unwrap();
            let (store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
            let found = store.tip().unwrap().number;
            assert!(tips.contains(&found) && recovery.passed_over.len() == 1);
            assert_holds(&store, Some(found));
        }
    }
    copy(dir.path(), work.path());
    fs::write(work.path().join("checkpoint"), &whole[..100]).unwrap();
    let lost = ChainStore::open(work.path(), &small());
    assert!(matches!(lost, Err(Error::Damaged { .. })), "a store is never emptied");
    fs::remove_file(work.path().join("checkpoint")).unwrap();
    assert!(matches!(ChainStore::open(work.path(), &small()), Err(Error::Damaged { .. })));
}

#[test]
fn goes_back_to_a_proven_commit_after_a_power_loss() {
    let (dir, work) = (folder(), folder());
    let (synced, last) = (FIRST + 79, FIRST + 133);
    make(work.path(), synced, synced);
    let durable = data_files(work.path());
    make(dir.path(), synced, last);
    let expected = data_files(dir.path());
    let mut fallbacks = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        copy(dir.path(), work.path());
        for (name, bytes) in &expected {
            let safe = durable.get(name).map_or(0, Vec::len);
            let path = work.path().join(name);
            let kept = safe + random.below((bytes.len() - safe) as u64 + 1) as usize;
            match random.below(6) {
                0 if safe == 0 => fs::remove_file(&path).unwrap(),
                1 => shorten(&path, kept as u64),
                2 => {
                    let mut zeroed = bytes.clone();
                    zeroed[kept..].fill(0);
                    fs::write(&path, zeroed).unwrap();
                }
                _ => {}
            }
        }
        let (mut store, recovery) = ChainStore::open(work.path(), &small()).unwrap();
        let found = store.tip().unwrap().number;
        assert!((synced..=last).contains(&found), "seed {seed}: {found}");
        assert_holds(&store, Some(found));
        fallbacks += usize::from(!recovery.passed_over.is_empty());
        if found < last {
            extend(&mut store, last).unwrap();
        }
        drop(store);
        assert_holds(&ChainStore::open(work.path(), &small()).unwrap().0, Some(last));
        assert!(data_files(work.path()) == expected, "seed {seed}");
    }
    assert!(fallbacks > 20, "only {fallbacks} of 100 power losses hurt");
}

#[test]
fn flipped_bits_never_panic_and_never_mislead_a_hash_lookup() {
    let (dir, work) = (folder(), folder());
    make(dir.path(), FIRST + 99, FIRST + 110);
    let mut names: Vec<String> = data_files(dir.path()).into_keys().collect();
    names.push("checkpoint".into());
    for seed in 0..names.len() as u64 * 4 {
        let mut random = Random::new(seed);
        let name = &names[seed as usize % names.len()];
        copy(dir.path(), work.path());
        flip(&work.path().join(name), &mut random);
        let (store, _) = match ChainStore::open(work.path(), &small()) {
            Ok(opened) => opened,
            Err(Error::Damaged { .. }) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let last = store.tip().unwrap().number;
        for number in FIRST..=last {
            let _ = (store.header(number), store.body(number), store.receipts(number));
            let Some(hash) = store.hash_of(number).unwrap() else { panic!("{name}: {number}") };
            match store.number_of(&hash) {
                Ok(Some(found)) => assert_eq!(found, number, "{name}"),
                // a flipped hash is no longer the one that the index was made from
                Ok(None) => assert!(name.starts_with("hashes"), "{name}: {number} not found"),
                Err(Error::Damaged { .. }) => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}
