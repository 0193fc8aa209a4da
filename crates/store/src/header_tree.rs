//! Headers in a [`Tree`], under the keys that geth has used since 2015: the slow half of the
//! variant `storage=tree|segments`.
//!
//! | key | value |
//! |---|---|
//! | `h` number hash | header |
//! | `h` number hash `t` | total difficulty, 32 bytes |
//! | `h` number `n` | hash |
//! | `H` hash | number |
//! | `LastHeader` | number and hash of the last header |
//!
//! Numbers have 8 bytes, big-endian, so that keys sort by number.

use std::path::Path;

use crate::{
    error::{Result, mismatch},
    kv::{Batch, Tree},
};

const LAST: &[u8] = b"LastHeader";

/// Headers by number and by hash in a tree.
pub struct HeaderTree {
    tree: Tree,
}

/// One header to store.
#[derive(Clone, Copy, Debug)]
pub struct HeaderEntry<'a> {
    /// Block number.
    pub number: u64,
    /// Block hash.
    pub hash: [u8; 32],
    /// Header bytes.
    pub header: &'a [u8],
    /// Total difficulty up to this block, big-endian.
    pub total_difficulty: [u8; 32],
}

impl HeaderTree {
    /// Opens or makes the tree in `dir`. Errors: see [`Tree::open`].
    pub fn open(dir: &Path) -> Result<HeaderTree> {
        Ok(HeaderTree { tree: Tree::open(dir)? })
    }

    /// Stores headers as one batch: all of a chunk, or a single one. The last becomes the tip.
    /// After it returns, the death of the process loses nothing.
    pub fn put(&self, entries: &[HeaderEntry]) -> Result<()> {
        let mut batch = self.tree.batch();
        for entry in entries {
            put_entry(&mut batch, entry)?;
        }
        if let Some(last) = entries.last() {
            batch.put(LAST, &[&last.number.to_be_bytes()[..], &last.hash].concat())?;
        }
        batch.commit()
    }

    /// Number and hash of the last header; `None` in an empty tree.
    pub fn tip(&self) -> Result<Option<(u64, [u8; 32])>> {
        let Some(value) = self.tree.get(LAST)? else { return Ok(None) };
        let (number, hash) = value.split_at_checked(8).unwrap_or((&value, &[]));
        Ok(Some((u64::from_be_bytes(array(number)?), array(hash)?)))
    }

    /// Header bytes of block `number`.
    pub fn header(&self, number: u64) -> Result<Option<Vec<u8>>> {
        let Some(hash) = self.hash_of(number)? else { return Ok(None) };
        self.tree.get(&header_key(number, &hash))
    }

    /// Total difficulty up to block `number`, big-endian.
    pub fn total_difficulty(&self, number: u64) -> Result<Option<[u8; 32]>> {
        let Some(hash) = self.hash_of(number)? else { return Ok(None) };
        self.tree.get(&difficulty_key(number, &hash))?.map(|value| array(&value)).transpose()
    }

    /// Hash of block `number`.
    pub fn hash_of(&self, number: u64) -> Result<Option<[u8; 32]>> {
        self.tree.get(&hash_key(number))?.map(|value| array(&value)).transpose()
    }

    /// Number of the block with this hash.
    pub fn number_of(&self, hash: &[u8; 32]) -> Result<Option<u64>> {
        let value = self.tree.get(&number_key(hash))?;
        value.map(|value| array(&value).map(u64::from_be_bytes)).transpose()
    }

    /// Makes everything written so far survive a power loss.
    pub fn sync(&self) -> Result<()> {
        self.tree.sync()
    }
}

fn put_entry(batch: &mut Batch, entry: &HeaderEntry) -> Result<()> {
    let HeaderEntry { number, hash, header, total_difficulty } = entry;
    batch.put(&header_key(*number, hash), header)?;
    batch.put(&difficulty_key(*number, hash), total_difficulty)?;
    batch.put(&hash_key(*number), hash)?;
    batch.put(&number_key(hash), &number.to_be_bytes())
}

fn header_key(number: u64, hash: &[u8; 32]) -> [u8; 41] {
    let mut key = [b'h'; 41];
    key[1..9].copy_from_slice(&number.to_be_bytes());
    key[9..].copy_from_slice(hash);
    key
}

fn difficulty_key(number: u64, hash: &[u8; 32]) -> [u8; 42] {
    let mut key = [b't'; 42];
    key[..41].copy_from_slice(&header_key(number, hash));
    key
}

fn hash_key(number: u64) -> [u8; 10] {
    let mut key = [b'h'; 10];
    key[1..9].copy_from_slice(&number.to_be_bytes());
    key[9] = b'n';
    key
}

fn number_key(hash: &[u8; 32]) -> [u8; 33] {
    let mut key = [b'H'; 33];
    key[1..].copy_from_slice(hash);
    key
}

/// A value that must have `N` bytes.
fn array<const N: usize>(value: &[u8]) -> Result<[u8; N]> {
    value.try_into().map_err(|_| mismatch("bytes of a stored value", N, value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_headers_by_number_and_hash_across_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let tree = HeaderTree::open(dir.path()).unwrap();
        assert_eq!(tree.tip().unwrap(), None);
        let entry = |number: u64| HeaderEntry {
            number,
            hash: [number as u8; 32],
            header: &b"the bytes of a header"[number as usize..],
            total_difficulty: [number as u8 + 100; 32],
        };
        tree.put(&[entry(0), entry(1)]).unwrap();
        tree.put(&[entry(2)]).unwrap();
        drop(tree);
        let tree = HeaderTree::open(dir.path()).unwrap();
        assert_eq!(tree.tip().unwrap(), Some((2, [2; 32])));
        for number in 0..3 {
            let wanted = entry(number);
            assert_eq!(tree.header(number).unwrap().as_deref(), Some(wanted.header));
            assert_eq!(tree.total_difficulty(number).unwrap(), Some(wanted.total_difficulty));
            assert_eq!(tree.hash_of(number).unwrap(), Some(wanted.hash));
            assert_eq!(tree.number_of(&wanted.hash).unwrap(), Some(number));
        }
        assert_eq!(tree.header(3).unwrap(), None);
        assert_eq!(tree.number_of(&[3; 32]).unwrap(), None);
        tree.sync().unwrap();
    }
}
