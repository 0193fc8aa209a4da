//! Blocks made from their numbers, and the checks that a store holds exactly those.
#![allow(dead_code, reason = "each test program uses its part of this module")]

use std::{collections::BTreeMap, fs, path::Path};

use blockmill_store::{Blocks, ChainStore, Error, Items, Options, Tip};
pub use blockmill_testkit::Random;

/// First block of every made chain: not 0, so that numbers and positions differ.
pub const FIRST: u64 = 1000;

/// A small store: files of one page, runs of 16 blocks, so that a few hundred blocks cross every
/// boundary.
pub fn small() -> Options {
    Options { file_bytes: 4096, run_items: 16, ..Options::default() }
}

/// A new folder, in memory where the system offers that: deaths are acted here, the disk is not
/// put to the test, and thousands of syncs would make the tests slow.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

/// `len` bytes that depend on `seed`.
fn bytes(seed: u64, len: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.next_u64() as u8).collect()
}

pub fn hash(number: u64) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(&bytes(number ^ 0x4a54, 32));
    hash
}

/// Column 0 to 2: header, body, receipts of a block. Some bodies and receipts are empty.
pub fn item(column: u64, number: u64) -> Vec<u8> {
    let seed = number * 3 + column;
    let len = if column == 0 { 20 + seed % 23 } else { seed % 41 };
    bytes(seed, len)
}

/// Consecutive made blocks, in the form in which a store takes them.
pub struct Chunk {
    first: u64,
    hashes: Vec<[u8; 32]>,
    columns: [(Vec<u8>, Vec<u32>); 3],
}

impl Chunk {
    pub fn new(first: u64, count: u64) -> Chunk {
        let numbers = first..first + count;
        let columns = [0, 1, 2].map(|column| {
            let (mut all, mut ends) = (Vec::new(), Vec::new());
            for number in numbers.clone() {
                all.extend(item(column, number));
                ends.push(all.len() as u32);
            }
            (all, ends)
        });
        Chunk { first, hashes: numbers.map(hash).collect(), columns }
    }

    /// The chunk with all three columns.
    pub fn blocks(&self) -> Blocks<'_> {
        let [headers, bodies, receipts] =
            self.columns.each_ref().map(|(bytes, ends)| Items { bytes, ends });
        Blocks {
            first: self.first,
            hashes: &self.hashes,
            headers,
            bodies: Some(bodies),
            receipts: Some(receipts),
        }
    }
}

pub fn tip(number: u64) -> Tip {
    let hash = hash(number);
    Tip {
        number,
        hash,
        total_difficulty: hash,
        anchor_number: FIRST,
        anchor_hash: self::hash(FIRST),
        chain: [7; 32],
        level: 2,
    }
}

/// Appends and commits the blocks up to `last`, in one chunk.
pub fn extend(store: &mut ChainStore, last: u64) -> blockmill_store::Result<()> {
    let first = store.first().map_or(FIRST, |first| first + store.count());
    store.append(&Chunk::new(first, last + 1 - first).blocks())?;
    store.commit(&tip(last))
}

/// Checks that the store holds the made blocks up to `last` and nothing else, and of those that it
/// says it removed only headers and hashes.
pub fn assert_holds(store: &ChainStore, last: Option<u64>) {
    assert_eq!(store.tip(), last.map(tip));
    let Some(last) = last else {
        assert_eq!(store.count(), 0);
        return;
    };
    assert_eq!(store.count(), last + 1 - FIRST);
    for number in FIRST..=last {
        assert_eq!(store.header(number).unwrap(), Some(item(0, number)), "header {number}");
        let (body, receipts) = (store.body(number), store.receipts(number));
        if Some(number) < store.first_whole() {
            let is_reported =
                |found| matches!(found, Err(Error::Removed { block, .. }) if block == number);
            assert!(is_reported(body) && is_reported(receipts), "{number}");
        } else {
            assert_eq!(body.unwrap(), Some(item(1, number)), "body {number}");
            assert_eq!(receipts.unwrap(), Some(item(2, number)), "receipts {number}");
        }
        assert_eq!(store.hash_of(number).unwrap(), Some(hash(number)), "hash of {number}");
        assert_eq!(store.number_of(&hash(number)).unwrap(), Some(number), "number of {number}");
    }
    for absent in [FIRST - 1, last + 1] {
        assert_eq!(store.header(absent).unwrap(), None);
        assert_eq!(store.hash_of(absent).unwrap(), None);
        assert_eq!(store.number_of(&hash(absent)).unwrap(), None);
    }
}

/// All files of a store by name, without lock and manifests.
pub fn data_files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if !["lock", "manifest", "light.0", "light.1"].contains(&name.as_str()) {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// Copies the files of one store folder to another, which is made new.
pub fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
