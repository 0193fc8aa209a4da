//! Headers in a table, under the keys that geth has used since 2015.
//!
//! | key | value |
//! |---|---|
//! | `h` number hash | header |
//! | `h` number hash `t` | total difficulty, 32 bytes |
//! | `h` number `n` | hash |
//! | `H` hash | number |
//!
//! Numbers have 8 bytes, big-endian, so that keys sort by number. What is put in is committed when
//! the memory for changes is full, and at the end.

use blockmill_store::{CommitPart, Result, Store, StoreOptions, Table, TableOptions};
use std::path::Path;

/// Memory for changes and pages.
const MEMORY: usize = 128 << 20;

/// Headers by number and by hash.
pub struct HeaderTable {
    store: Store,
    table: Table,
}

/// One header to store.
#[derive(Clone, Copy, Debug)]
pub struct HeaderEntry<'a> {
    /// Block number.
    pub number: u64,
    /// Block hash.
    pub hash: &'a [u8; 32],
    /// Header bytes.
    pub header: &'a [u8],
    /// Total difficulty up to this block, big-endian.
    pub total_difficulty: [u8; 32],
}

impl HeaderTable {
    /// Opens or creates the table in `dir`.
    pub fn open(dir: &Path) -> Result<Self> {
        let mut opening = Store::open(dir, &StoreOptions::default())?;
        let table = opening.table("headers", &TableOptions::new(MEMORY))?;
        let (store, _) = opening.finish()?;
        Ok(Self { store, table })
    }

    /// Puts in a header.
    pub fn put(&mut self, entry: &HeaderEntry<'_>) -> Result<()> {
        let HeaderEntry { number, hash, header, total_difficulty } = entry;
        let number = number.to_be_bytes();
        let (mut by_number, mut by_hash) = ([b'h'; 42], [b'H'; 33]);
        by_number[1..9].copy_from_slice(&number);
        by_number[9..41].copy_from_slice(*hash);
        by_number[41] = b't';
        by_hash[1..].copy_from_slice(*hash);
        self.table.put(&by_number[..41], header)?;
        self.table.put(&by_number, total_difficulty)?;
        by_number[9] = b'n';
        self.table.put(&by_number[..10], *hash)?;
        self.table.put(&by_hash, &number)
    }

    /// Number of the block with this hash.
    pub fn number_of(&self, hash: &[u8; 32]) -> Result<Option<u64>> {
        let (mut key, mut value) = ([b'H'; 33], vec![]);
        key[1..].copy_from_slice(hash);
        let found = self.table.get(&key, &mut value)?;
        Ok(value.first_chunk().filter(|_| found).map(|bytes| u64::from_be_bytes(*bytes)))
    }

    /// Commits when the memory for changes is full.
    pub fn commit_if_full(&mut self) -> Result<()> {
        if self.table.wants_flush() { self.commit() } else { Ok(()) }
    }

    /// Makes everything put in survive a power loss.
    pub fn commit(&mut self) -> Result<()> {
        self.store.commit(&mut [CommitPart::Table(&mut self.table)], b"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_by_number_and_hash_across_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let mut headers = HeaderTable::open(dir.path()).unwrap();
        let entry = |number: u64, hash| HeaderEntry {
            number,
            hash,
            header: &b"the bytes of a header"[number as usize..],
            total_difficulty: [number as u8 + 100; 32],
        };
        let hashes = [[0; 32], [1; 32], [2; 32]];
        for number in 0..2 {
            headers.put(&entry(number, &hashes[number as usize])).unwrap();
        }
        headers.commit().unwrap();
        headers.put(&entry(2, &hashes[2])).unwrap();
        assert_eq!(headers.number_of(&hashes[2]).unwrap(), Some(2));
        drop(headers);
        let headers = HeaderTable::open(dir.path()).unwrap();
        assert_eq!(headers.number_of(&hashes[1]).unwrap(), Some(1));
        assert_eq!(headers.number_of(&hashes[2]).unwrap(), None, "it was not committed");
        let mut keys = headers.table.scan_prefix(b"h\0\0\0\0\0\0\0\x01").unwrap();
        let mut values = vec![];
        while let Some((_, value)) = keys.next().unwrap() {
            values.push(value.to_vec());
        }
        let (header, difficulty) = (entry(1, &hashes[1]).header, [101; 32]);
        assert_eq!(values, [header.to_vec(), difficulty.to_vec(), hashes[1].to_vec()]);
    }
}
