//! A batch of blocks of a dump.

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

/// A batch of whole blocks from one file.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(super) file: Option<Arc<Path>>,
    /// Whether offsets count unpacked bytes.
    pub(super) unpacked: bool,
    /// Offset of the first byte in the file.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    /// Start and end of each block in `bytes`.
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) first: u32,
    /// Whether the heights of these blocks came before.
    pub(super) repeated: bool,
    pub(super) disk_bytes: u64,
}

impl Batch {
    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Height of the first block; the others follow it.
    #[must_use]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Whether the heights of these blocks came before, in an earlier file or in the store that the
    /// reader continues. It is the same for all blocks of a batch.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// Bytes read from disk for this batch, compressed ones of a compressed file.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }

    /// The bytes of block `i`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such block.
    #[must_use]
    pub fn block(&self, i: usize) -> &[u8] {
        let (start, end) = self.blocks[i];
        &self.bytes[start as usize..end as usize]
    }

    /// The location of block `i`, after its length.
    #[must_use]
    pub fn location(&self, i: usize) -> Location {
        let start = self.blocks.get(i).map_or(0, |(start, _)| *start);
        let file = self.file.as_deref().unwrap_or(Path::new("")).to_path_buf();
        Location { file, offset: self.offset + u64::from(start), unpacked: self.unpacked }
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.disk_bytes = 0;
    }

    /// Replaces the content by one block that is in no file: the first block of a network follows
    /// from its configuration.
    pub fn put(&mut self, height: u32, block: &[u8]) {
        self.clear();
        self.bytes.clear();
        self.bytes.extend_from_slice(block);
        self.blocks.push((0, block.len() as u32));
        (self.file, self.unpacked, self.offset, self.first) = (None, false, 0, height);
        self.repeated = false;
    }
}
