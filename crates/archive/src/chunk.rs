//! Chunks of blocks, as readers return them: packed as on disk, and unpacked.

use blockmill_verdict::Location;
use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::beacon_roots::{BeaconProof, BeaconRoots};
use crate::location::Track;
use crate::{Column, Error, Part};

/// The parts of blocks to read besides headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// Transactions, ommers and withdrawals.
    pub bodies: bool,
    /// Receipts, if the format has them.
    pub receipts: bool,
}

/// Bounds of one chunk, so that memory stays bounded. A chunk always has at least one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimit {
    /// At most this many blocks; 0 counts as 1.
    pub blocks: usize,
    /// About this many bytes as they are on disk; the last block may go beyond it. Readers take
    /// no more than [`ChunkLimit::MAX_BYTES`].
    pub bytes: usize,
}

impl ChunkLimit {
    /// The most packed bytes of one chunk. Snappy unpacks to at most 22 times its input, so a
    /// column of this many packed bytes and one last item of 128 MiB stays below 4 GiB.
    pub const MAX_BYTES: usize = 64 << 20;

    /// These limits, clamped to the allowed range.
    pub(crate) fn clamped(self) -> Self {
        Self { blocks: self.blocks.max(1), bytes: self.bytes.min(Self::MAX_BYTES) }
    }
}

impl Default for ChunkLimit {
    /// 2,048 blocks (the benchmark's chunk) and 8 MiB.
    fn default() -> Self {
        Self { blocks: 2048, bytes: 8 << 20 }
    }
}

/// The encoding of receipts in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ReceiptEncoding {
    /// As in the receipts root: type, status or state, gas, bloom, logs (era1).
    #[default]
    Consensus,
    /// As in geth's database: status or state, gas, logs (ancient folders).
    Storage,
    /// Without bloom, and the type as a field: type, status or state, gas, logs (ere).
    Slim,
}

impl ReceiptEncoding {
    /// Every encoding.
    pub const ALL: [Self; 3] = [Self::Consensus, Self::Storage, Self::Slim];

    /// The encoding in a sentence.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::Consensus => "receipts in consensus encoding",
            Self::Storage => "receipts in storage encoding",
            Self::Slim => "receipts in slim encoding",
        }
    }
}

/// The blocks that the accumulator of an era covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulates {
    /// Every block of the file (era1).
    AllBlocks,
    /// The blocks before the merge, which have a difficulty (ere).
    BlocksBeforeMerge,
}

/// Statements of an era1 or ere file about itself, returned with its last chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraEnd {
    /// Root of the accumulator that the file states; `None` if it states none (ere).
    pub accumulator: Option<[u8; 32]>,
    /// Number of the file's first block.
    pub first: u64,
    /// Number of blocks in the file.
    pub blocks: u64,
}

/// Blocks, unpacked. Buffers are reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Number of the first block, if the container states it (era1, ere, era, ancient folders).
    pub first: Option<u64>,
    /// The RLP of each header.
    pub headers: Column,
    /// The RLP of each body, `[transactions, ommers]` or `[transactions, ommers, withdrawals]`;
    /// empty unless wanted and present.
    pub bodies: Column,
    /// The RLP list of each block's receipts; empty unless wanted and present.
    pub receipts: Column,
    /// Encoding of `receipts`.
    pub receipt_encoding: ReceiptEncoding,
    /// Total difficulty after each block, big-endian; empty if the format has none.
    pub total_difficulties: Vec<[u8; 32]>,
    /// Hash of each block as the archive states it, to be compared with the hash of the header;
    /// empty if the format has none (only ancient folders have them).
    pub stated_hashes: Vec<[u8; 32]>,
    /// The RLP of each block's access list (EIP-7928), an empty item for a block without one. Empty
    /// if bodies are not wanted or no block of the chunk has an access list.
    pub access_lists: Column,
    /// The blocks that the accumulator of the file covers; `None` if the format has none.
    pub accumulates: Option<Accumulates>,
    /// Set on the last chunk of an era1 or ere file.
    pub era_end: Option<EraEnd>,
    /// Number of proofs that blocks are canonical (ere) that were read and cannot be verified.
    pub unchecked_proofs: u64,
    /// Number of such proofs that lead to a root of the beacon chain that the user trusts.
    pub beacon_proofs: u64,
    /// Such proofs, before they are compared with these roots.
    pub(crate) open_proofs: Vec<BeaconProof>,
    /// Where the first block begins, if that is before its header.
    pub(crate) begins_at: Option<(Arc<Path>, u64)>,
    /// Locations of the parts of blocks, by [`Part`].
    pub(crate) tracks: [Track; 5],
    /// True when locations count the bytes that a compressed file unpacks to.
    pub(crate) unpacked_offsets: bool,
}

impl Chunk {
    /// An empty chunk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.headers.len()
    }

    /// The block access list of block `i`; empty if it has none, or lists were not read.
    pub fn access_list(&self, i: usize) -> &[u8] {
        if i < self.access_lists.len() { self.access_lists.get(i) } else { &[] }
    }

    /// Adds the block access list of the block of which the header was added last; empty if it has
    /// none. The column stays empty until a block has one, and is then filled up.
    pub fn push_access_list(&mut self, list: &[u8]) {
        if list.is_empty() && self.access_lists.is_empty() {
            return; // few chains have any
        }
        for _ in self.access_lists.len() + 1..self.blocks() {
            self.access_lists.push(&[]);
        }
        self.access_lists.push(list);
    }

    /// Returns the location of `part` of block `i` of this chunk; `None` if the chunk was not read
    /// from an archive.
    pub fn location(&self, part: Part, i: usize) -> Option<Location> {
        let location = self.tracks[part as usize].get(i)?;
        Some(Location { unpacked: self.unpacked_offsets, ..location })
    }

    /// Returns the location where the first block begins; `None` if the chunk was not read from an
    /// archive.
    pub fn beginning(&self) -> Option<Location> {
        let Some((file, offset)) = &self.begins_at else { return self.location(Part::Header, 0) };
        Some(Location { unpacked: self.unpacked_offsets, ..Location::new(&**file, *offset) })
    }

    /// Sets the location of `part` of the next block, in a chunk that was not read from an archive.
    pub fn locate(&mut self, part: Part, location: &Location) {
        self.tracks[part as usize].push(&Arc::from(&*location.file), location.offset);
        self.unpacked_offsets = location.unpacked;
    }

    /// Keeps the first `blocks` blocks.
    pub(crate) fn truncate(&mut self, blocks: usize) {
        self.headers.truncate(blocks);
        self.bodies.truncate(blocks);
        self.receipts.truncate(blocks);
        self.total_difficulties.truncate(blocks);
        self.stated_hashes.truncate(blocks);
        self.access_lists.truncate(blocks);
        self.era_end = None;
        self.open_proofs.retain(|proof| proof.block < blocks);
    }

    /// Compares the proofs with the roots that the user trusts. Keeps the blocks before the first
    /// one of which the proof leads to another root.
    fn check_proofs(&mut self, roots: Option<&BeaconRoots>) -> Result<(), Error> {
        for proof in std::mem::take(&mut self.open_proofs) {
            match roots.map_or(Ok(false), |roots| roots.check(&proof)) {
                Ok(true) => self.beacon_proofs += 1,
                Ok(false) => self.unchecked_proofs += 1,
                Err(error) => {
                    self.truncate(proof.block);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Drops the blocks and keeps the memory.
    pub fn clear(&mut self) {
        self.first = None;
        self.headers.clear();
        self.bodies.clear();
        self.receipts.clear();
        self.receipt_encoding = ReceiptEncoding::default();
        self.total_difficulties.clear();
        self.stated_hashes.clear();
        self.access_lists.clear();
        self.accumulates = None;
        self.era_end = None;
        self.unchecked_proofs = 0;
        self.beacon_proofs = 0;
        self.open_proofs.clear();
        self.begins_at = None;
        self.tracks.iter_mut().for_each(Track::clear);
        self.unpacked_offsets = false;
    }

    /// The locations of `part`, for a format to fill in while it unpacks.
    pub(crate) fn track(&mut self, part: Part) -> &mut Track {
        &mut self.tracks[part as usize]
    }
}

/// Blocks of one chunk as a format has them on disk.
pub(crate) trait PackedBlocks: Any + fmt::Debug + Send + Sync {
    /// Number of blocks.
    fn blocks(&self) -> usize;
    /// Bytes that were read from disk.
    fn disk_bytes(&self) -> u64;
    /// Replaces the blocks in `into` by these.
    fn unpack(&mut self, into: &mut Chunk) -> Result<(), Error>;
}

/// A chunk as read from disk, perhaps compressed. The reading thread fills it without decoding; any
/// worker unpacks it. Buffers are reused from chunk to chunk.
#[derive(Debug, Default)]
pub struct Packed {
    blocks: Option<Box<dyn PackedBlocks>>,
    /// Whether the last read found blocks. If not, `blocks` is stale.
    filled: bool,
    /// The roots that proofs are compared with.
    pub(crate) beacon_roots: Option<Arc<BeaconRoots>>,
}

impl Packed {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets a format read blocks into a buffer of its own type, which is reused from read to read.
    /// Returns the result of `read`: false at the end.
    pub(crate) fn fill<T: PackedBlocks + Default>(
        &mut self,
        read: impl FnOnce(&mut T) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let own = self.blocks.take().and_then(|blocks| (blocks as Box<dyn Any>).downcast().ok());
        let mut own: Box<T> = own.unwrap_or_default();
        let more = read(&mut own);
        self.blocks = Some(own);
        self.filled = more?;
        Ok(self.filled)
    }

    fn filled(&self) -> Option<&dyn PackedBlocks> {
        self.blocks.as_deref().filter(|_| self.filled)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.filled().map_or(0, PackedBlocks::blocks)
    }

    /// Bytes that were read from disk for this chunk.
    pub fn disk_bytes(&self) -> u64 {
        self.filled().map_or(0, PackedBlocks::disk_bytes)
    }

    /// Replaces the blocks in `into` by these: decompresses, checks checksums, splits records.
    /// Buffers may be swapped instead of copied, so a chunk of headers can be unpacked only once;
    /// afterwards it has no blocks.
    ///
    /// # Errors
    ///
    /// Returns the error of the first record that cannot be decoded, with its location.
    pub fn unpack(&mut self, into: &mut Chunk) -> Result<(), Error> {
        match self.blocks.as_mut().filter(|_| self.filled) {
            Some(blocks) => {
                let unpacked = blocks.unpack(into);
                into.check_proofs(self.beacon_roots.as_deref()).and(unpacked)
            }
            None => {
                into.clear();
                Ok(())
            }
        }
    }
}
