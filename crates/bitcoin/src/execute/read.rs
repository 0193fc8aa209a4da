//! Reads bodies from files, in batches.

use crate::body::reader::BlockReader;
use crate::execute::batch::{Context, Verdict};
use crate::execute::place::Place;
use crate::fault::Cause;
use crate::types::Block;
use blockmill_archive::blkdat::BlockLocation;

/// Maximum size of a batch in bytes; a larger block has a batch of its own.
const BATCH_BYTES: u64 = 1 << 20;
/// Maximum number of blocks in a batch, for chains of tiny blocks.
const BATCH_BLOCKS: usize = 512;

/// The first phase: the blocks of a batch. The next phase parses them in place.
#[derive(Default)]
pub(super) struct Blocks {
    /// Height of the first block.
    first: u32,
    locations: Vec<BlockLocation>,
    /// The requirements on each block.
    places: Vec<Place>,
    /// The blocks; may be longer than `locations`, with buffers of earlier batches.
    blocks: Vec<Block>,
}

impl Blocks {
    /// Removes all blocks. The next ones begin at height `first`.
    pub fn clear(&mut self, first: u32) {
        self.first = first;
        self.locations.clear();
        self.places.clear();
    }

    /// Reads blocks of the path until the batch is full. If a block cannot be read, that is the
    /// fault of the batch, and ends it.
    pub fn read(&mut self, context: &Context, reader: &mut BlockReader, verdict: &mut Verdict) {
        let mut bytes = 0;
        let end = context.options.asked(context.tree.base()).min(context.path.nodes.len());
        let nodes = context.path.nodes[..end].get(self.first as usize..).unwrap_or_default();
        for (height, node) in (self.first..).zip(nodes) {
            let Some(found) = context.tree.record(*node) else { break };
            bytes += u64::from(found.size);
            let full = bytes > BATCH_BYTES || self.locations.len() == BATCH_BLOCKS;
            if full && !self.locations.is_empty() {
                break;
            }
            self.push(found.location(), context.place(height));
        }
        verdict.begin(self.len());
        if let Some((i, error)) = self.fetch(reader).into_iter().next() {
            verdict.refuse(i, Cause::Archive(error));
            self.locations.truncate(i);
            self.places.truncate(i);
        }
    }

    /// Adds a block, to be fetched later.
    pub fn push(&mut self, location: BlockLocation, place: Place) {
        self.locations.push(location);
        self.places.push(place);
    }

    /// Fetches the bytes of all blocks. Returns those that cannot be read, with their errors.
    pub fn fetch(&mut self, reader: &mut BlockReader) -> Vec<(usize, blockmill_archive::Error)> {
        let len = self.len();
        if self.blocks.len() < len {
            self.blocks.resize_with(len, Block::default);
        }
        reader.read(&self.locations, &mut self.blocks[..len])
    }

    /// Keeps the blocks for whose index `keep` returns true.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for i in (0..self.len()).filter(|i| keep(*i)) {
            self.locations.swap(kept, i);
            self.places.swap(kept, i);
            self.blocks.swap(kept, i);
            kept += 1;
        }
        self.locations.truncate(kept);
        self.places.truncate(kept);
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// The height of block `i`.
    pub fn height(&self, i: usize) -> u32 {
        self.first + i as u32
    }

    /// The requirements on block `i`.
    pub fn place(&self, i: usize) -> &Place {
        &self.places[i]
    }

    /// Block `i`.
    pub fn get(&self, i: usize) -> &Block {
        &self.blocks[i]
    }

    /// All blocks.
    pub fn all(&self) -> &[Block] {
        &self.blocks[..self.locations.len()]
    }

    /// All blocks, for parsing.
    pub fn all_mut(&mut self) -> &mut [Block] {
        &mut self.blocks[..self.locations.len()]
    }
}
