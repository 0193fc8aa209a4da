//! Random histories of tables against a map: changes of every kind, commits, merges, lost changes,
//! hints of every age, ranges, keys that share their beginning, values of every size.

use std::ops::Bound;

use crate::generated_keys::{Key, Keys, OneTable, Random, State, assert_same, folder, value};
use blockmill_store::{Compression, Error, Fetched, PageCache, Scan, Table, TableOptions};

/// Tables of every kind.
fn kinds() -> [TableOptions; 4] {
    let once = TableOptions::read_once(1 << 20);
    let again = TableOptions { memory_bytes: 1 << 20, ..TableOptions::new(1 << 20) };
    [
        TableOptions { prefix_bytes: 20, ..once.clone() },
        TableOptions { compression: Compression::Lz4, ..once },
        TableOptions { prefix_bytes: 3, compression: Compression::Lz4, ..again.clone() },
        // a cache that is always too small
        TableOptions { cache: Some(PageCache::new(20_000)), ..again },
    ]
}

/// A change of a random kind.
fn change(table: &mut Table, state: &mut State, random: &mut Random, keys: &Keys, counted: bool) {
    let key = keys.any(random);
    match random.below(100) {
        0..48 if counted && !state.contains_key(&key[..]) => {
            let value = value(random);
            assert!(!table.insert(&key, &value).unwrap());
            state.insert(key.to_vec(), value);
        }
        0..48 if !counted => {
            let value = value(random);
            table.put(&key, &value).unwrap();
            state.insert(key.to_vec(), value);
        }
        48..52 if counted => {
            let value = value(random);
            let was = state.insert(key.to_vec(), value.clone()).is_some();
            assert_eq!(table.replace(&key, &value).unwrap(), was);
        }
        52.. if !counted => {
            table.delete(&key).unwrap();
            state.remove(&key[..]);
        }
        _ => {}
    }
}

/// Takes a key of a counted table, with hints of any age.
fn take(table: &mut Table, state: &mut State, key: Key, old: Option<(&Fetched, usize)>, kind: u64) {
    let mut fetched = Fetched::default();
    let hint = match kind {
        0 => None,
        1 => old.and_then(|(old, at)| old.hint(at)),
        _ => {
            table.reader().snapshot().fetch(&[key], &mut fetched).unwrap();
            fetched.hint(0)
        }
    };
    assert_eq!(table.contains(&key, hint).unwrap(), state.contains_key(&key[..]));
    let mut out = vec![1, 2];
    let was = table.take(&key, hint, &mut out).unwrap();
    assert_eq!(was.then(|| out[2..].to_vec()), state.remove(&key[..]));
    assert_eq!(&out[..2], [1, 2]);
}

fn pairs(mut scan: Scan<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = vec![];
    while let Some((key, value)) = scan.next().unwrap() {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    pairs
}

/// Compares random ranges and prefixes.
fn assert_same_ranges(table: &Table, state: &State, random: &mut Random, keys: &Keys) {
    for _ in 0..10 {
        let (one, other) = (keys.any(random), keys.any(random));
        let (low, high) = (one.min(other), one.max(other));
        let (low, high) = (&low[..random.below(37)], &high[..random.below(37)]);
        let bound = |kind, key| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(key),
            _ => Bound::Excluded(key),
        };
        let range = (bound(random.below(3), low), bound(random.below(3), high));
        let end = |bound: Bound<&[u8]>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(key.to_vec()),
            Bound::Unbounded => None,
        };
        let beyond = end(range.0).zip(end(range.1)).is_some_and(|(low, high)| low >= high);
        if !beyond {
            let expected = state.range::<[u8], _>(range).map(|(k, v)| (k.clone(), v.clone()));
            assert_eq!(pairs(table.scan(range).unwrap()), expected.collect::<Vec<_>>());
        }
        let expected = state.iter().filter(|(key, _)| key.starts_with(low));
        let expected: Vec<_> = expected.map(|(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(pairs(table.scan_prefix(low).unwrap()), expected);
    }
}

/// Compares the last pairs of random ranges with what was committed.
fn assert_same_last(table: &Table, committed: &State, random: &mut Random, keys: &Keys) {
    for _ in 0..10 {
        let (one, other) = (keys.any(random), keys.any(random));
        let (low, high) = (one.min(other), one.max(other));
        let low = &low[..random.below(37)];
        let (limit, snapshot) = (random.below(30), table.snapshot());
        let expected = |range: (Bound<&[u8]>, Bound<&[u8]>)| -> Vec<_> {
            let pairs = committed.range::<[u8], _>(range).rev().take(limit);
            pairs.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        for end in [Bound::Unbounded, Bound::Included(&high[..]), Bound::Excluded(&high[..])] {
            for start in [Bound::Unbounded, Bound::Included(low)] {
                assert_eq!(snapshot.last((start, end), limit).unwrap(), expected((start, end)));
            }
        }
    }
}

/// One history. `chains` is how many ids begin alike.
fn history(seed: u64, steps: u64, chains: u64, options: &TableOptions) {
    let dir = folder();
    let mut open = OneTable::open(dir.path(), options).unwrap();
    let mut random = Random::new(seed);
    let keys = Keys { chains };
    let (mut state, mut committed) = (State::new(), State::new());
    let (mut old, mut newest) = (Fetched::default(), Fetched::default());
    let mut old_keys: Vec<Key> = Vec::new();
    for step in 0..steps {
        let OneTable { table, .. } = &mut open;
        match random.below(100) {
            0..50 => change(table, &mut state, &mut random, &keys, options.counted),
            50..94 if options.counted => {
                let key = keys.any(&mut random);
                let at = old_keys.iter().position(|other| *other == key);
                take(table, &mut state, key, at.map(|at| (&old, at)), random.below(3));
            }
            94 => {
                old_keys = (0..50).map(|_| keys.any(&mut random)).collect();
                table.snapshot().fetch(&old_keys, &mut old).unwrap();
                for (at, key) in old_keys.iter().enumerate() {
                    assert_eq!(old.value(at), committed.get(&key[..]).map(Vec::as_slice));
                }
                table.fetch(&old_keys, &mut newest).unwrap();
                for (at, key) in old_keys.iter().enumerate() {
                    assert_eq!(newest.value(at), state.get(&key[..]).map(Vec::as_slice));
                }
            }
            95 if random.below(40) == 0 => assert_same_ranges(table, &state, &mut random, &keys),
            96 if random.below(8) == 0 => {
                open.commit(&step.to_le_bytes()).unwrap();
                committed = state.clone();
                if random.below(2) == 0 {
                    open.table.wait_for_merge();
                }
                if random.below(4) == 0 {
                    assert_same_last(&open.table, &committed, &mut random, &keys);
                }
            }
            97 if random.below(60) == 0 => {
                drop(open);
                open = OneTable::open(dir.path(), options).unwrap();
                state = committed.clone();
                old_keys.clear();
            }
            98 if random.below(40) == 0 => assert_same(table, &state),
            _ => {}
        }
        assert!(!options.counted || open.table.len() == state.len() as u64, "step {step}");
    }
    assert_same(&open.table, &state);
    assert_same_ranges(&open.table, &state, &mut random, &keys);
    assert!(open.table.snapshot().count() <= 17);
    open.commit(b"").unwrap();
    drop(open);
    let survey = Table::check(dir.path(), "values", &mut |_| true, |key, value| {
        state.get(key).is_some_and(|expected| expected == value)
    })
    .unwrap();
    assert!(survey.corruption.is_empty() && survey.live == state.len() as u64, "{survey:?}");
}

#[test]
fn every_history_ends_like_the_map() {
    for (seed, options) in (1..).zip(kinds()) {
        history(seed, 30_000, 4, &options);
    }
}

#[test]
fn keys_that_begin_alike_change_nothing() {
    for (seed, options) in (11..).zip(kinds()) {
        history(seed, 15_000, 1, &options);
        history(seed, 15_000, 100_000, &options);
    }
}

#[test]
fn keys_of_every_length_and_values_of_every_size_come_back() {
    for options in kinds() {
        let dir = folder();
        let mut open = OneTable::open(dir.path(), &options).unwrap();
        let mut state = State::new();
        for len in 1..=255 {
            let key = vec![(len % 5) as u8; len];
            let value = vec![len as u8; len * len % 70_000];
            open.table.insert(&key, &value).unwrap();
            state.insert(key, value);
        }
        let huge = vec![7; 1 << 20];
        open.table.insert(b"huge", &huge).unwrap();
        state.insert(b"huge".to_vec(), huge);
        assert_same(&open.table, &state);
        open.commit(b"").unwrap();
        assert_same(&open.table, &state);
        for key in [&[][..], &[1; 256]] {
            assert!(matches!(open.table.insert(key, b""), Err(Error::Mismatch { .. })));
            assert!(matches!(open.table.take(key, None, &mut vec![]), Err(Error::Mismatch { .. })));
            assert!(!open.table.get(key, &mut vec![]).unwrap());
        }
    }
}

#[test]
fn a_counted_table_refuses_changes_that_do_not_look() {
    let dir = folder();
    let mut open = OneTable::open(dir.path(), &TableOptions::read_once(1 << 20)).unwrap();
    assert!(matches!(open.table.put(b"key", b""), Err(Error::Mismatch { .. })));
    assert!(matches!(open.table.delete(b"key"), Err(Error::Mismatch { .. })));
    open.commit(b"").unwrap();
    drop(open);
    let other = TableOptions::new(1 << 20);
    assert!(matches!(OneTable::open(dir.path(), &other), Err(Error::Mismatch { .. })));
}
