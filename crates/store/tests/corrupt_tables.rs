//! Tables with files that are cut short, flipped or lost: an error that names the file, never
//! a panic and never a wrong value.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use crate::generated_keys::{Keys, OneTable, Random, State, folder, value};
use blockmill_store::{Compression, Error, Fetched, Result, TableOptions};

fn kinds() -> [TableOptions; 2] {
    let options = TableOptions::read_once(1 << 20);
    [TableOptions { compression: Compression::Lz4, ..options.clone() }, options]
}

/// A table of three runs, with tombstones and long values.
fn generate(dir: &Path, options: &TableOptions) -> State {
    let mut open = OneTable::open(dir, options).unwrap();
    let (mut random, keys, mut state) = (Random::new(5), Keys { chains: 7 }, State::new());
    for round in 0..3 {
        for _ in 0..250 {
            let key = keys.any(&mut random);
            if state.remove(&key[..]).is_some() {
                assert!(open.table.take(&key, None, &mut Vec::new()).unwrap());
            } else {
                let value = value(&mut random);
                open.table.insert(&key, &value).unwrap();
                state.insert(key.to_vec(), value);
            }
        }
        open.commit(&[round]).unwrap();
    }
    state
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| !path.ends_with("lock")).collect();
    paths.sort();
    paths
}

/// Opens the store and reads everything in every way.
fn read_all(dir: &Path, options: &TableOptions, state: &State) -> Result<()> {
    let OneTable { table, .. } = OneTable::open(dir, options)?;
    let keys: Vec<&Vec<u8>> = state.keys().collect();
    let mut fetched = Fetched::default();
    let found = table.snapshot().fetch(&keys, &mut fetched);
    for (at, value) in state.values().enumerate() {
        // who ignores the error must not take a key that was not come to for an absent one
        let hint = fetched.hint(at).map(|hint| hint.value);
        assert_eq!(hint, found.is_ok().then_some(Some(value.as_slice())));
    }
    let (mut pairs, mut count) = (table.iter()?, 0);
    while let Some((key, value)) = pairs.next()? {
        assert_eq!(state.get(key).map(Vec::as_slice), Some(value));
        count += 1;
    }
    assert_eq!(count, state.len());
    found
}

fn assert_names(error: Error, path: &Path, len: u64, at: u64) {
    match &error {
        Error::Corrupt { path: found, offset, .. } => {
            assert!(found == path && *offset <= len.max(at), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn any_flipped_bit_is_found_and_its_file_is_named() {
    for options in kinds() {
        flip(&options);
    }
}

fn flip(options: &TableOptions) {
    let dir = folder();
    let state = generate(dir.path(), options);
    read_all(dir.path(), options, &state).unwrap();
    let mut random = Random::new(1);
    for path in files(dir.path()) {
        let bytes = fs::read(&path).unwrap();
        for _ in 0..150 {
            let at = random.below(bytes.len());
            let mut other = bytes.clone();
            other[at] ^= 1 << random.below(8);
            fs::write(&path, other).unwrap();
            let error = read_all(dir.path(), options, &state).expect_err("a flipped bit");
            assert_names(error, &path, bytes.len() as u64, at as u64);
        }
        fs::write(&path, bytes).unwrap();
    }
    read_all(dir.path(), options, &state).unwrap();
}

#[test]
fn short_long_and_lost_files_are_named() {
    for options in kinds() {
        cut(&options);
    }
}

fn cut(options: &TableOptions) {
    let dir = folder();
    let state = generate(dir.path(), options);
    let mut random = Random::new(2);
    for path in files(dir.path()) {
        let bytes = fs::read(&path).unwrap();
        let len = bytes.len() as u64;
        for other in (0..20).map(|_| random.below(len)).chain([0, len - 1, len + 1]) {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(other).unwrap();
            let error = read_all(dir.path(), options, &state).expect_err("another length");
            assert_names(error, &path, len, other);
            fs::write(&path, &bytes).unwrap();
        }
        fs::remove_file(&path).unwrap();
        let error = read_all(dir.path(), options, &state).expect_err("a lost file");
        let named = path.file_name().unwrap().to_str().unwrap();
        assert!(error.to_string().contains(named), "{error}");
        fs::write(&path, &bytes).unwrap();
    }
    read_all(dir.path(), options, &state).unwrap();
}

#[test]
fn pages_in_each_others_place_are_found() {
    let dir = folder();
    let options = TableOptions::read_once(1 << 20);
    let state = generate(dir.path(), &options);
    let path = dir.path().join("values.000000");
    let mut bytes = fs::read(&path).unwrap();
    let (first, second) = bytes[..8192].split_at_mut(4096);
    first.swap_with_slice(second);
    fs::write(&path, bytes).unwrap();
    assert!(matches!(read_all(dir.path(), &options, &state), Err(Error::Corrupt { .. })));
}

#[test]
fn a_store_that_is_open_cannot_be_opened_again() {
    let dir = folder();
    let options = TableOptions::read_once(1 << 20);
    let open = OneTable::open(dir.path(), &options).unwrap();
    let again = OneTable::open(dir.path(), &options);
    assert!(matches!(again.err().unwrap(), Error::Locked { .. }));
    drop(open);
}
