//! Bodies from the files, a batch at a time.

use crate::body::reader::BlockReader;
use crate::execute::batch::{Context, Verdict};
use crate::execute::place::Place;
use crate::fault::Cause;
use crate::types::Block;
use blockmill_archive::blkdat::BlockLocation;

/// Bytes of blocks after which a batch is full; a larger block has a batch of its own.
const BATCH_BYTES: u64 = 1 << 20;
/// Blocks after which a batch is full, for chains of tiny blocks.
const BATCH_BLOCKS: usize = 512;

/// The first phase: which blocks a batch has. The next one takes them apart where they stand.
#[derive(Default)]
pub(super) struct Blocks {
    /// Height of the first block.
    first: u32,
    locations: Vec<BlockLocation>,
    /// The place of each in the chain.
    places: Vec<Place>,
    /// Those from the last location on are room of earlier batches.
    blocks: Vec<Block>,
}

impl Blocks {
    /// Forgets the blocks; the next ones begin at height `first`.
    pub fn clear(&mut self, first: u32) {
        self.first = first;
        self.locations.clear();
        self.places.clear();
    }

    /// Reads blocks up to the end of the path. One that cannot be read is the batch's fault, and
    /// its last.
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

    /// Adds a block that is to be fetched.
    pub fn push(&mut self, location: BlockLocation, place: Place) {
        self.locations.push(location);
        self.places.push(place);
    }

    /// Fetches the bytes of all blocks. Returns which cannot be read, and why.
    pub fn fetch(&mut self, reader: &mut BlockReader) -> Vec<(usize, blockmill_archive::Error)> {
        let len = self.len();
        if self.blocks.len() < len {
            self.blocks.resize_with(len, Block::default);
        }
        reader.read(&self.locations, &mut self.blocks[..len])
    }

    /// Forgets the blocks whose index is not to be kept.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// The height of block `i`.
    pub fn height(&self, i: usize) -> u32 {
        self.first + i as u32
    }

    /// The place of block `i`.
    pub fn place(&self, i: usize) -> &Place {
        &self.places[i]
    }

    /// Block `i`.
    pub fn get(&self, i: usize) -> &Block {
        &self.blocks[i]
    }

    /// All of them.
    pub fn all(&self) -> &[Block] {
        &self.blocks[..self.locations.len()]
    }

    /// All of them, to be taken apart.
    pub fn all_mut(&mut self) -> &mut [Block] {
        &mut self.blocks[..self.locations.len()]
    }
}
