//! A table and a log file in a store.

use crate::input::{Input, folder};
use blockmill_store::{
    CommitPart, Compression, Fetched, LogFile, PageCache, Scan, Store, StoreOptions, Table,
    TableOptions,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a file of the log.
const LOG_FILE: u64 = 512;

/// The files of a small store.
pub(crate) const FILES: [&str; 5] =
    ["manifest", "pairs.000000", "pairs.000001", "log.00000", "log.00001"];

pub(crate) fn open(
    folder: &Path,
    options: &TableOptions,
) -> blockmill_store::Result<(Store, Table, LogFile, Vec<u8>)> {
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

fn pairs(mut scan: Scan<'_>) -> blockmill_store::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut pairs = vec![];
    while let Some((key, value)) = scan.next()? {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    Ok(pairs)
}

/// A table, and a map with its expected content.
struct Pair {
    counted: bool,
    table: Table,
    map: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Pair {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let Self { counted, table, map } = self;
        match (*counted, map.contains_key(&key)) {
            (false, _) => table.put(&key, &value).expect("room"),
            (true, true) => assert!(table.replace(&key, &value).expect("room")),
            (true, false) => assert!(!table.insert(&key, &value).expect("room")),
        }
        map.insert(key, value);
    }

    fn remove(&mut self, key: &[u8], blindly: bool) {
        if blindly && !self.counted {
            self.table.delete(key).expect("room");
            self.map.remove(key);
            return;
        }
        let mut found = vec![];
        let there = self.table.take(key, None, &mut found).expect("a good page");
        assert_eq!(there.then_some(found), self.map.remove(key));
    }

    fn look(&self, key: &[u8]) {
        assert_eq!(self.table.contains(key, None).expect("good"), self.map.contains_key(key));
        let mut fetched = Fetched::default();
        self.table.fetch(&[key, b"other"], &mut fetched).expect("a good page");
        assert_eq!(fetched.value(0), self.map.get(key).map(Vec::as_slice));
    }

    fn scan(&self, prefix: &[u8]) {
        let expected = self.map.iter().filter(|(key, _)| key.starts_with(prefix));
        let expected: Vec<_> = expected.map(|(k, v)| (k.clone(), v.clone())).collect();
        let scan = self.table.scan_prefix(prefix).expect("good pages");
        assert_eq!(pairs(scan).expect("good pages"), expected);
    }
}

/// Changes of a table, commits and deaths of the process: it holds what a map holds.
pub fn table(data: &[u8]) -> bool {
    let folder = folder();
    let mut input = Input(data);
    let options = options(input.byte());
    let (mut store, table, mut log, _) = open(folder.path(), &options).expect("a store");
    let mut pair = Pair { counted: options.counted, table, map: BTreeMap::new() };
    let (mut kept, mut commits) = (BTreeMap::new(), 0u32);
    while !input.0.is_empty() {
        let [action, number] = input.array();
        // keys of every length that begin alike
        let mut key = vec![number % 5; usize::from(number % 9) * 30];
        key.push(number);
        match action % 16 {
            0..6 => pair.put(key, vec![action; usize::from(number) * 3]),
            6..10 => pair.remove(&key, action % 2 == 0),
            10..12 => pair.look(&key),
            12..14 => pair.scan(&key[..key.len().min(usize::from(action / 16))]),
            14 => {
                commits += 1;
                log.append(&commits.to_le_bytes()).expect("room");
                let parts = &mut [CommitPart::Table(&mut pair.table), CommitPart::Log(&mut log)];
                store.commit(parts, &commits.to_le_bytes()).expect("a commit");
                kept.clone_from(&pair.map);
            }
            _ => {
                drop((store, pair, log));
                let opened = open(folder.path(), &options).expect("a store");
                let (state, table);
                (store, table, log, state) = opened;
                pair = Pair { counted: options.counted, table, map: kept.clone() };
                assert_eq!(state, &commits.to_le_bytes()[..if commits > 0 { 4 } else { 0 }]);
                assert_eq!(last_record(&log), state);
            }
        }
        assert!(!options.counted || pair.table.len() == pair.map.len() as u64);
    }
    pair.scan(b"");
    true
}

/// The newest record of a log; none when it is empty.
fn last_record(log: &LogFile) -> Vec<u8> {
    let mut found = vec![];
    if !log.is_empty() {
        log.read(log.len(), &mut found).expect("the record is there");
    }
    found
}

/// Any files as a store: what can be read is read without a panic, and takes another commit.
pub fn table_files(data: &[u8]) -> bool {
    let folder = folder();
    let mut input = Input(data);
    let options = options(input.byte());
    let repair = input.byte() == 1;
    input.files(&FILES, folder.path()).expect("the folder takes files");
    if repair {
        crate::files::repair_manifest(&folder.path().join("manifest"));
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
