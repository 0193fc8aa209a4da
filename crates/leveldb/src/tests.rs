//! Our databases read by another implementation, and the other way round.

use super::{BulkWriter, Error, Library, Scan};
use rusty_leveldb::{DB, LdbIterator, Options};
use std::fs;
use std::path::Path;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Sorted entries of uneven lengths.
fn entries(count: u32) -> Entries {
    let entry = |i: u32| {
        let mut key = vec![b'C'];
        key.extend_from_slice(
            &blockmill_hashes::sha256(&(i / 3).to_le_bytes())[..(8 + i % 3) as usize],
        );
        let value = blockmill_hashes::sha256(&i.to_be_bytes()).repeat((i % 7) as usize);
        (key, value)
    };
    let mut entries: Entries = (0..count).map(entry).collect();
    entries.sort();
    entries.dedup_by(|a, b| a.0 == b.0);
    entries
}

fn load(folder: &Path, entries: &Entries) {
    let mut writer = BulkWriter::create(folder, Library::LevelDb).unwrap();
    entries.iter().for_each(|(key, value)| writer.put(key, value).unwrap());
    let loaded = writer.finish().unwrap();
    assert_eq!(loaded.entries, entries.len() as u64);
}

fn scan(folder: &Path) -> Result<Entries, Error> {
    let (mut scan, mut found) = (Scan::open(folder)?, Vec::new());
    while scan.advance()? {
        found.push((scan.key().to_vec(), scan.value().to_vec()));
    }
    Ok(found)
}

fn theirs(folder: &Path, options: Options) -> DB {
    DB::open(folder, options).unwrap()
}

fn plain() -> Options {
    Options { compressor: 0, ..Options::default() }
}

#[test]
fn another_implementation_reads_what_we_write() {
    for count in [0, 1, 2, 100, 60_000] {
        let (folder, entries) = (tempfile::tempdir().unwrap(), entries(count));
        let folder = folder.path().join("database");
        load(&folder, &entries);
        assert_eq!(scan(&folder).unwrap(), entries);
        let mut database = theirs(&folder, plain());
        let mut found = Vec::new();
        let mut iterator = database.new_iter().unwrap();
        while let Some((key, value)) = iterator.next() {
            found.push((key.to_vec(), value.to_vec()));
        }
        drop(iterator);
        assert!(found == entries);
        // each look-up goes through a filter and the index
        for (key, value) in entries.iter().step_by(7) {
            assert_eq!(database.get(key).as_deref(), Some(&value[..]));
            let absent = [&key[..], b"absent"].concat();
            assert_eq!(database.get(&absent), None);
        }
        // it continues from there
        database.put(b"B", b"new").unwrap();
        database.delete(&entries.first().map_or(vec![9], |(key, _)| key.clone())).unwrap();
        database.close().unwrap();
        let mut after = entries;
        after.splice(..after.len().min(1), [(b"B".to_vec(), b"new".to_vec())]);
        assert!(scan(&folder).unwrap() == after);
    }
}

#[test]
fn levels_logs_and_deletions_of_another_implementation_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("database");
    // small limits, so that there are tables of several levels
    let options = Options { write_buffer_size: 60_000, max_file_size: 40_000, ..plain() };
    let mut database = theirs(&folder, options);
    let mut expected = std::collections::BTreeMap::new();
    for (i, (key, value)) in (0..).zip(entries(8000)) {
        database.put(&key, b"old").unwrap();
        match i % 3 {
            0 => {
                database.delete(&key).unwrap();
                expected.remove(&key);
            }
            1 => {
                database.put(&key, &value).unwrap();
                expected.insert(key, value);
            }
            _ => drop(expected.insert(key, b"old".to_vec())),
        }
        // again, long after
        if i % 10 == 9 {
            let first = expected.keys().next().unwrap().clone();
            database.delete(&first).unwrap();
            expected.remove(&first);
        }
    }
    database.close().unwrap();
    let tables = fs::read_dir(&folder).unwrap().count();
    assert!(tables > 5, "{tables} files");
    assert!(scan(&folder).unwrap() == expected.into_iter().collect::<Entries>());
}

#[test]
fn entries_that_are_not_sorted_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = BulkWriter::create(&folder.path().join("database"), Library::LevelDb).unwrap();
    writer.put(b"", b"the empty key is the first").unwrap();
    writer.put(b"b", b"").unwrap();
    for key in [&b"b"[..], b"a", b""] {
        assert!(matches!(writer.put(key, b""), Err(Error::Unsorted { .. })));
    }
    writer.put(b"b\0", b"").unwrap();
}

#[test]
fn damage_anywhere_is_noticed_or_harmless() {
    let (temporary, entries) = (tempfile::tempdir().unwrap(), entries(300));
    let folder = temporary.path().join("database");
    load(&folder, &entries);
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let good = fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(1 + good.len() / 300) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            fs::write(&path, &bad).unwrap();
            if let Ok(found) = scan(&folder) {
                assert!(found == entries, "{} at {at}", path.display());
            }
            fs::write(&path, &good[..at]).unwrap();
            assert!(scan(&folder).is_err(), "{} cut at {at}", path.display());
        }
        fs::write(&path, &good).unwrap();
    }
    assert!(scan(&folder).unwrap() == entries);
}

#[test]
fn entries_in_any_order_are_sorted_and_combined_with_much_memory_and_with_little() {
    let sum: super::Combine = |value, other| value.extend_from_slice(other);
    let mut expected = std::collections::BTreeMap::<Vec<u8>, Vec<u8>>::new();
    let entry =
        |i: u32| (blockmill_hashes::sha256(&(i % 700).to_le_bytes())[..6].to_vec(), [i as u8, 7]);
    for (key, value) in (0..2000).map(entry) {
        expected.entry(key).or_default().extend(value);
    }
    // the empty key and the empty value are like others
    expected.insert(vec![], vec![]);
    for memory in [1, 300, 20_000, 1 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let mut sorter = super::Sorter::new(&runs, memory, sum);
        // with 1 byte of memory each entry is a database, so their number is limited by open files
        let count = if memory == 1 { 60 } else { 2000 };
        let mut expected = expected.clone();
        if memory == 1 {
            expected = (0..count).map(entry).map(|(key, value)| (key, value.to_vec())).collect();
            expected.insert(vec![], vec![]);
        }
        for (key, value) in (0..count).map(entry) {
            sorter.push(&key, &value).unwrap();
        }
        sorter.push(b"", b"").unwrap();
        assert_eq!(runs.exists(), memory < 1 << 20);
        let mut found = std::collections::BTreeMap::new();
        let mut last: Option<Vec<u8>> = None;
        let each = |key: &[u8], value: &[u8]| {
            assert!(last.as_deref().is_none_or(|last| last < key));
            last = Some(key.to_vec());
            found.insert(key.to_vec(), value.to_vec());
            Ok::<(), Error>(())
        };
        sorter.finish(each).unwrap();
        assert!(found == expected, "{memory}");
        assert!(!runs.exists());
    }
}
