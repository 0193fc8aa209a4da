//! Files that the program wrote itself and reads after a crash or corruption.

use crate::input::{Input, folder};
use blockmill_ethereum::ethash::Cache;
use blockmill_store::{Blocks, ChainStore, Items, Options, Tip};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The files of a small store.
pub(crate) const STORE_FILES: [&str; 19] = [
    "manifest",
    "light.0",
    "light.1",
    "headers.00000",
    "headers.00001",
    "headers-sums.00000",
    "headers-ends.00000",
    "bodies.00000",
    "bodies.00001",
    "bodies-sums.00000",
    "bodies-ends.00000",
    "receipts.00000",
    "receipts-ends.00000",
    "hashes.00000",
    "hashes.00001",
    "hashes-sums.00000",
    "index-small.00000",
    "index-small.00001",
    "index-big.00000",
];

/// Any files as a store. A store that can be read can be opened for writing with the same tip,
/// accepts another block, and opens again with that block as its tip.
pub fn store(data: &[u8]) -> bool {
    let folder = folder();
    let mut input = Input(data);
    let repair = input.byte() == 1;
    input.files(&STORE_FILES, folder.path()).expect("the folder takes files");
    if repair {
        for name in &STORE_FILES[..3] {
            repair_manifest(&folder.path().join(name));
        }
    }
    let read = ChainStore::open_read_only(folder.path());
    let options = Options { file_bytes: 4096, run_items: 2, ..Options::default() };
    let Ok((before, _)) = read else {
        let _ = ChainStore::open(folder.path(), &options);
        return false;
    };
    let tip = before.tip();
    read_ends(&before);
    let (mut store, _) = match ChainStore::open(folder.path(), &options) {
        // no index is built from corrupt hashes
        Err(blockmill_store::Error::Corrupt { .. }) => return false,
        opened => opened.expect("it can be read"),
    };
    assert_eq!(store.tip(), tip);
    if append_block(&mut store, &before) {
        let expected = store.tip();
        drop(store);
        let (after, _) = ChainStore::open_read_only(folder.path()).expect("it was committed");
        assert_eq!(after.tip(), expected);
        assert_eq!(after.count(), before.count() + 1);
    }
    tip.is_some()
}

/// Reads the first and the last blocks; corrupt ends are errors, not panics.
fn read_ends(store: &ChainStore) {
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else { return };
    assert_eq!(store.hash_of(tip.number).ok().flatten(), Some(tip.hash));
    for number in (0..8).flat_map(|i| [first.checked_add(i), tip.number.checked_sub(i)]) {
        let Some(number) = number else { continue };
        let _ = (store.header(number), store.body(number), store.receipts(number));
        if let Ok(Some(hash)) = store.hash_of(number) {
            // of two blocks with one hash either may be found
            let _ = store.number_of(&hash);
        }
    }
}

/// Appends a block with the same parts as the blocks `before`, and commits it.
fn append_block(store: &mut ChainStore, before: &ChainStore) -> bool {
    let last = before.tip().map(|tip| tip.number);
    let Some(first) = last.map_or(Some(0), |last| last.checked_add(1)) else { return false };
    let item = Items { bytes: b"x", ends: &[1] };
    let has = |found: blockmill_store::Result<Option<Vec<u8>>>| match found {
        Ok(found) => found.map(|_| item),
        // an item that exists and is corrupt
        Err(_) => Some(item),
    };
    let (bodies, receipts) = match last {
        Some(last) => (has(before.body(last)), has(before.receipts(last))),
        None => (None, None),
    };
    let hash = [0x5a; 32];
    let block = Blocks { first, hashes: &[hash], headers: item, bodies, receipts };
    let tip = Tip { number: first, hash, ..Tip::default() };
    store.append(&block).and_then(|()| store.commit(&tip)).is_ok()
}

/// Puts right the length and the checksum of a manifest, so that inputs get past them.
pub(crate) fn repair_manifest(path: &std::path::Path) {
    let Ok(mut bytes) = fs::read(path) else { return };
    let said = bytes.get(8..12).and_then(|len| Some(u32::from_le_bytes(*len.first_chunk()?)));
    let len = said.map_or(0, |len| len as usize);
    let len = if (16..=bytes.len()).contains(&len) { len } else { bytes.len() };
    if len < 16 {
        return;
    }
    bytes[8..12].copy_from_slice(&(len as u32).to_le_bytes());
    let sum = crc32fast::hash(&bytes[..len - 4]);
    bytes[len - 4..len].copy_from_slice(&sum.to_le_bytes());
    fs::write(path, bytes).expect("the folder takes files");
}

/// Bytes of the file of epoch 0: header, then the cache (ethash, revision 23).
const CACHE_FILE: u64 = 32 + 16_776_896;

/// A cache file with any header and any changes to rows of zeros. Returns whether it was accepted;
/// if not, the cache is built again and the new file is valid.
pub fn ethash_cache(data: &[u8]) -> bool {
    let folder = folder();
    let path = folder.path().join("ethash-00000.cache");
    let mut input = Input(data);
    let file = File::create(&path).expect("the folder takes files");
    file.write_all_at(&input.array::<32>(), 0).expect("the folder takes files");
    file.set_len(CACHE_FILE + u64::from(input.byte())).expect("the folder takes files");
    while !input.0.is_empty() {
        let (at, byte) = (u32::from_le_bytes(input.array()), input.byte());
        let at = 32 + u64::from(at) % (CACHE_FILE - 32);
        file.write_all_at(&[byte], at).expect("the folder takes files");
    }
    let loaded = Cache::load_or_generate(Some(folder.path()), 0).expect("epoch 0 is in range");
    if !loaded.from_disk {
        assert!(loaded.corruption.is_some() && loaded.not_saved.is_none());
        let again = Cache::load_or_generate(Some(folder.path()), 0).expect("epoch 0 is in range");
        assert!(again.from_disk);
        assert!(again.cache.as_bytes() == loaded.cache.as_bytes());
    }
    loaded.from_disk
}
