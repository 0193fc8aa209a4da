//! Blocks and logs in the layout of the store: concatenated items.

use crate::types::Block;
use blockmill_store::Items;

/// Concatenated items, with the end of each.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Bytes {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds an item. Returns false if the items would exceed 4 GiB.
    #[must_use]
    pub fn push(&mut self, item: &[u8]) -> bool {
        self.push_with(|bytes| bytes.extend_from_slice(item))
    }

    /// Adds an item that `write` appends to the bytes. Returns false if the items would exceed 4
    /// GiB.
    #[must_use]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let start = self.bytes.len();
        write(&mut self.bytes);
        match u32::try_from(self.bytes.len()) {
            Ok(end) => self.ends.push(end),
            Err(_) => {
                self.bytes.truncate(start);
                return false;
            }
        }
        true
    }

    /// The first `count` items.
    pub fn items(&self, count: usize) -> Items<'_> {
        let ends = &self.ends[..count.min(self.ends.len())];
        let end = ends.last().map_or(0, |end| *end as usize);
        Items { bytes: &self.bytes[..end], ends }
    }
}

/// The columns of blocks: headers, and bodies (the rest of each block).
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub headers: Bytes,
    pub bodies: Bytes,
    pub hashes: Vec<[u8; 32]>,
}

impl Columns {
    /// Replaces the contents by the blocks of a batch. A batch is far smaller than 4 GiB.
    pub fn fill(&mut self, blocks: &[Block]) {
        self.headers.clear();
        self.bodies.clear();
        self.hashes.clear();
        for block in blocks {
            let (header, body) = block.raw.split_at(block.header_length());
            if self.headers.push(header) && self.bodies.push(body) {
                self.hashes.push(block.hash.0);
            }
        }
    }
}
