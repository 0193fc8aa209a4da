//! Blocks of a table: sorted entries, each without the prefix that its key shares with the previous
//! key.

use super::read_varint;
use blockmill_verdict::{Malformed, split_bytes};

/// Puts entries together to a block.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    bytes: Vec<u8>,
    /// Offsets of the keys that are written in full.
    restarts: Vec<u32>,
    /// Number of keys between two that are written in full.
    interval: usize,
    /// Keys since the last one that was.
    since: usize,
    last: Vec<u8>,
}

impl BlockWriter {
    pub(crate) fn new(interval: usize) -> Self {
        let (bytes, last) = (Vec::new(), Vec::new());
        BlockWriter { bytes, restarts: vec![0], interval, since: 0, last }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of the block if it ended here.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len() + 4
    }

    /// Appends an entry; its key must be greater than the last one.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.since < self.interval {
            shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        } else {
            self.restarts.push(self.bytes.len() as u32);
            self.since = 0;
        }
        super::write_varint(&mut self.bytes, shared as u64);
        super::write_varint(&mut self.bytes, (key.len() - shared) as u64);
        super::write_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
        self.since += 1;
    }

    /// Hands out the finished block.
    pub(crate) fn finish(&mut self) -> &[u8] {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        &self.bytes
    }

    /// Begins the next block.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.truncate(1);
        self.since = 0;
        self.last.clear();
    }
}

/// Goes through the entries of a block, which it owns.
#[derive(Debug, Default)]
pub(crate) struct BlockReader {
    /// The entries, without the list of restarts.
    bytes: Vec<u8>,
    at: usize,
    key: Vec<u8>,
    value: std::ops::Range<usize>,
}

impl BlockReader {
    /// Parses a block with a verified checksum.
    pub(crate) fn new(mut bytes: Vec<u8>) -> Result<Self, Malformed> {
        let what = "the restarts of a block";
        let available = bytes.len() as u64;
        let mut needed = 4;
        if let Some((rest, count)) = bytes.split_last_chunk() {
            needed = 4 * u64::from(u32::from_le_bytes(*count)) + 4;
            if needed <= available {
                bytes.truncate(rest.len() + 4 - needed as usize);
                return Ok(BlockReader { bytes, ..Self::default() });
            }
        }
        Err(Malformed::Truncated { what, needed, available })
    }

    /// Moves to the next entry; `false` after the last one.
    pub(crate) fn advance(&mut self) -> Result<bool, Malformed> {
        let mut from = &self.bytes[self.at..];
        if from.is_empty() {
            return Ok(false);
        }
        let what = "an entry of a block";
        let shared = read_varint(&mut from, what)?;
        let (fresh, length) = (read_varint(&mut from, what)?, read_varint(&mut from, what)?);
        let limit = self.key.len() as u64;
        if shared > limit {
            let what = "the shared part of a key";
            return Err(Malformed::TooLarge { what, limit, found: shared });
        }
        self.key.truncate(shared as usize);
        self.key.extend_from_slice(split_bytes(&mut from, fresh, what)?);
        let start = self.bytes.len() - from.len();
        let value = split_bytes(&mut from, length, what)?;
        self.value = start..start + value.len();
        self.at = self.value.end;
        Ok(true)
    }

    /// The entry's key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The entry's value.
    pub(crate) fn value(&self) -> &[u8] {
        &self.bytes[self.value.clone()]
    }
}
