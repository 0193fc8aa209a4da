//! The blocks at the beginning of a chain are removed but for their headers and hashes: the disk
//! has their room again, whoever asks for them gets an error, and everything else is as before.

use crate::generated_blocks::{FIRST, assert_holds, copy, extend, folder, item, small, tip};
use blockmill_store::{BlockPart, ChainStore, Error, Options};
use std::fs;
use std::path::Path;

const LAST: u64 = FIRST + 2_999;

fn open(dir: &Path, options: &Options) -> ChainStore {
    ChainStore::open(dir, options).unwrap().0
}

/// Bytes of bodies and receipts, their ends and sums included: those that files take on the disk.
fn room(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let is_part = |name: &str| name.starts_with("bodies") || name.starts_with("receipts");
    let parts = entries.filter(|entry| is_part(entry.file_name().to_str().unwrap()));
    parts.map(|entry| blockmill_testkit::disk_bytes(&entry.path())).sum()
}

#[test]
fn removed_blocks_are_reported_and_the_others_stay() {
    let dir = folder();
    let mut store = open(dir.path(), &small());
    extend(&mut store, LAST).unwrap();
    let before = room(dir.path());
    for first in [FIRST, FIRST + 1, FIRST + 2, FIRST + 170, FIRST + 170, LAST - 20] {
        store.remove_before(first).unwrap();
        assert_eq!(store.first_whole(), Some(first));
        store.sync().unwrap();
        assert_holds(&store, Some(LAST));
        assert_holds(&ChainStore::open_read_only(dir.path()).unwrap().0, Some(LAST));
    }
    assert!(room(dir.path()) * 3 < before, "{} of {before} bytes", room(dir.path()));
    let removed = store.body(FIRST + 5).unwrap_err();
    let words = "block 1,005 was removed: this store keeps the last 21 blocks, 3,979 to 3,999";
    assert_eq!(removed.to_string(), words);
    assert!(removed.report().hint.is_some());
    let items = store.items(BlockPart::Bodies, LAST - 20, 21).unwrap().unwrap();
    assert!((0..21).all(|at| items.get(at) == item(1, LAST - 20 + at as u64)));
    let early = store.items(BlockPart::Receipts, LAST - 21, 2);
    assert!(matches!(early, Err(Error::Removed { block, .. }) if block == LAST - 21));
    drop(store);
    let (mut store, recovery) = ChainStore::open(dir.path(), &small()).unwrap();
    assert_eq!(recovery.cut_bytes, 0);
    assert_holds(&store, Some(LAST));
    extend(&mut store, LAST + 50).unwrap();
    assert_holds(&store, Some(LAST + 50));
    // back as far as there are whole blocks
    let back = store.truncate_after(&tip(LAST - 21));
    assert!(matches!(back, Err(Error::Removed { .. })));
    store.truncate_after(&tip(LAST - 20)).unwrap();
    assert_holds(&store, Some(LAST - 20));
    assert_eq!(store.first_whole(), Some(LAST - 20));
    extend(&mut store, LAST).unwrap();
    assert_holds(&store, Some(LAST));
}

#[test]
fn a_file_of_which_only_a_part_is_removed_gives_that_part_back() {
    let dir = tempfile::tempdir().unwrap();
    // all in one file each
    let mut store = open(dir.path(), &Options::default());
    for last in (FIRST + 9_999..=FIRST + 39_999).step_by(10_000) {
        extend(&mut store, last).unwrap();
    }
    store.sync().unwrap();
    let before = room(dir.path());
    store.remove_before(FIRST + 39_900).unwrap();
    store.sync().unwrap();
    let after = room(dir.path());
    println!("{before} and {after} bytes");
    assert!(
        !blockmill_platform::holes::ARE_KNOWN || after * 10 < before,
        "{after} of {before} bytes"
    );
    assert_eq!(store.body(FIRST + 39_900).unwrap(), Some(item(1, FIRST + 39_900)));
    assert_eq!(store.check(None, 2, &|_| true).unwrap().len(), 0);
}

#[test]
fn nothing_is_removed_before_a_durable_commit() {
    let dir = folder();
    let mut store = open(dir.path(), &small());
    extend(&mut store, LAST).unwrap();
    store.sync().unwrap();
    store.remove_before(FIRST + 100).unwrap();
    assert!(matches!(extend(&mut store, LAST + 1), Err(Error::Mismatch { .. })));
    drop(store);
    let mut store = open(dir.path(), &small());
    assert_eq!(store.first_whole(), Some(FIRST));
    assert_holds(&store, Some(LAST));
    for number in [FIRST - 1, LAST + 1] {
        assert!(matches!(store.remove_before(number), Err(Error::Mismatch { .. })));
    }
    // all but the last
    store.remove_before(LAST).unwrap();
    store.sync().unwrap();
    assert_holds(&open_again(store, dir.path()), Some(LAST));
}

fn open_again(store: ChainStore, dir: &Path) -> ChainStore {
    drop(store);
    open(dir, &small())
}

#[test]
fn corruption_is_found_in_what_is_left_and_not_in_what_is_removed() {
    let (dir, bad) = (folder(), folder());
    let mut store = open(dir.path(), &small());
    extend(&mut store, LAST).unwrap();
    store.remove_before(FIRST + 250).unwrap();
    store.sync().unwrap();
    drop(store);
    let (store, corruption) = ChainStore::open_corrupt(dir.path()).unwrap();
    assert_eq!((corruption.len(), store.check(None, 1, &|_| true).unwrap().len()), (0, 0));
    let mut checked = 0;
    for entry in fs::read_dir(dir.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.starts_with("bodies.") {
            continue;
        }
        copy(dir.path(), bad.path());
        let mut bytes = fs::read(bad.path().join(&name)).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(bad.path().join(&name), bytes).unwrap();
        let (store, _) = ChainStore::open_corrupt(bad.path()).unwrap();
        let corruption = store.check(None, 1, &|_| true).unwrap();
        assert_eq!(corruption.len(), 1, "{name}");
        let blocks = corruption[0].blocks.clone().unwrap();
        assert!(*blocks.end() >= FIRST + 250 && *blocks.end() <= LAST, "{blocks:?}");
        checked += 1;
    }
    assert!(checked >= 1);
    // a file that should be there
    fs::remove_file(bad.path().join("bodies.00001")).unwrap();
    assert!(ChainStore::open(bad.path(), &small()).is_err());
}
