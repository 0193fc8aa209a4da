//! A table and a log file in a store.

use crate::input::{Input, folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use store::{
    CommitPart, Compression, Fetched, LogFile, PageCache, Scan, Store, StoreOptions, Table,
    TableOptions,
};

/// Bytes of a file of the log.
const LOG_FILE: u64 = 512;

/// The files of a small store.
pub(crate) const FILES: [&str; 5] =
    ["manifest", "pairs.000000", "pairs.000001", "log.00000", "log.00001"];

pub(crate) fn open(
    folder: &Path,
    options: &TableOptions,
) -> store::Result<(Store, Table, LogFile, Vec<u8>)> {
    let mut opening = Store::open(folder, &StoreOptions::default())?;
    let table = opening.table("pairs", options)?;
    let log = opening.log("log", LOG_FILE)?;
    let (store, state) = opening.finish()?;
    Ok((store, table, log, state))
}

/// Options that differ in everything, by one byte.
pub(crate) fn options(byte: u8) -> TableOptions {
    TableOptions {
        memory_bytes: 1 << 20,
        cache: (byte & 1 != 0).then(|| PageCache::new(1 << 14)),
        prefix_bytes: (byte >> 1) & 3,
        counted: byte & 8 != 0,
        compression: if byte & 16 == 0 { Compression::None } else { Compression::Lz4 },
    }
}

fn pairs(mut scan: Scan<'_>) -> store::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut pairs = vec![];
    while let Some((key, value)) = scan.next()? {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    Ok(pairs)
}

/// Changes of a table, commits and deaths of the process: it holds what a map holds.
pub fn table(data: &[u8]) -> bool {
    let folder = folder();
    let mut input = Input(data);
    let options = options(input.byte());
    let (mut store, mut table, mut log, _) = open(folder.path(), &options).expect("a store");
    let (mut map, mut kept) = (BTreeMap::<Vec<u8>, Vec<u8>>::new(), BTreeMap::new());
    let mut commits = 0u32;
    while !input.0.is_empty() {
        let [action, number] = input.array();
        // keys of every length that begin alike
        let mut key = vec![number % 5; usize::from(number % 9) * 30];
        key.push(number);
        let value = vec![action; usize::from(number) * 3];
        let mut found = vec![];
        match action % 16 {
            0..6 if map.contains_key(&key) || !options.counted => {
                match options.counted {
                    true => assert!(table.replace(&key, &value).expect("room")),
                    false => table.put(&key, &value).expect("room"),
                }
                map.insert(key, value);
            }
            0..6 => {
                assert!(!table.insert(&key, &value).expect("room"));
                map.insert(key, value);
            }
            6..9 if !options.counted => {
                table.delete(&key).expect("room");
                map.remove(&key);
            }
            6..10 => {
                let there = table.take(&key, None, &mut found).expect("a good page");
                assert_eq!(there.then_some(found), map.remove(&key));
            }
            10..12 => {
                assert_eq!(table.contains(&key, None).expect("good"), map.contains_key(&key));
                let mut fetched = Fetched::default();
                table.fetch(&[&key], &mut fetched).expect("a good page");
                assert_eq!(fetched.value(0), map.get(&key).map(Vec::as_slice));
            }
            12..14 => {
                let prefix = &key[..key.len().min(usize::from(action / 16))];
                let expected = map.iter().filter(|(key, _)| key.starts_with(prefix));
                let expected: Vec<_> = expected.map(|(k, v)| (k.clone(), v.clone())).collect();
                let scan = table.scan_prefix(prefix).expect("good pages");
                assert_eq!(pairs(scan).expect("good pages"), expected);
            }
            14 => {
                commits += 1;
                log.append(&commits.to_le_bytes()).expect("room");
                let parts = &mut [CommitPart::Table(&mut table), CommitPart::Log(&mut log)];
                store.commit(parts, &commits.to_le_bytes()).expect("a commit");
                kept.clone_from(&map);
            }
            _ => {
                drop((store, table, log));
                let state;
                (store, table, log, state) = open(folder.path(), &options).expect("a store");
                let expected = commits.to_le_bytes();
                assert_eq!(state, if commits > 0 { expected.to_vec() } else { vec![] });
                if commits > 0 {
                    log.read(log.len(), &mut found).expect("the record is there");
                    assert_eq!(found, expected);
                }
                map.clone_from(&kept);
            }
        }
        assert!(!options.counted || table.len() == map.len() as u64);
    }
    let expected: Vec<_> = map.into_iter().collect();
    assert_eq!(pairs(table.iter().expect("good pages")).expect("good pages"), expected);
    true
}

/// Any files as a store: what can be read is read without a panic, and takes another commit.
pub fn table_files(data: &[u8]) -> bool {
    let folder = folder();
    let mut input = Input(data);
    let options = options(input.byte());
    let repair = input.byte() == 1;
    input.files(&FILES, folder.path()).expect("the folder takes files");
    if repair {
        repair_manifest(&folder.path().join("manifest"));
    }
    let Ok((mut store, mut table, mut log, _)) = open(folder.path(), &options) else {
        return false;
    };
    let mut end = log.len();
    let mut record = vec![];
    while end > 0 {
        record.clear();
        let Ok(before) = log.read(end, &mut record) else { break };
        assert!(before < end);
        end = before;
    }
    let Ok(found) = table.iter().and_then(pairs) else { return false };
    for (key, value) in &found {
        let mut got = vec![];
        // in a run that is not in order it may not be found
        if table.get(key, &mut got).unwrap_or(false) && found.is_sorted() {
            assert_eq!(&got, value);
        }
    }
    let _ = table.scan_prefix(b"a").and_then(pairs);
    if !options.counted {
        table.put(b"one more", b"value").expect("room");
    }
    let parts = &mut [CommitPart::Table(&mut table), CommitPart::Log(&mut log)];
    store.commit(parts, b"later").is_ok()
}

/// Puts right the checksum of the manifest, so that inputs get past it.
fn repair_manifest(path: &Path) {
    let Ok(mut bytes) = fs::read(path) else { return };
    if let Some((body, sum)) = bytes.split_last_chunk_mut() {
        *sum = crc32fast::hash(body).to_le_bytes();
        fs::write(path, bytes).expect("the folder takes files");
    }
}
