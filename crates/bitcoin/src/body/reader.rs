//! Reads blocks into the buffers in which they are parsed.

use crate::types::Block;
use blockmill_archive::Error;
use blockmill_archive::blkdat::{BlockFiles, BlockLocation, BodyReader};
use std::ops::Range;

/// Blocks with at least this average size are read one by one: a system call costs less than the
/// copy that it saves.
const LEAST_ALONE: u64 = 16 << 10;

/// Reads blocks of some files. Each thread has its own.
pub(crate) struct BlockReader<'a> {
    bodies: BodyReader<'a>,
    /// Small blocks, which are read in one call, and their positions.
    together: Vec<u8>,
    spans: Vec<Range<usize>>,
}

impl<'a> BlockReader<'a> {
    /// Keeps up to `max_open` files open.
    pub fn new(files: &'a BlockFiles, max_open: usize) -> Self {
        Self { bodies: BodyReader::new(files, max_open), together: vec![], spans: vec![] }
    }

    /// Reads the bytes of each location into the block with the same index in `blocks`. Returns the
    /// indices that cannot be read, in order, with their errors.
    pub fn read(
        &mut self,
        locations: &[BlockLocation],
        blocks: &mut [Block],
    ) -> Vec<(usize, Error)> {
        let bytes: u64 = locations.iter().map(|location| u64::from(location.size)).sum();
        let is_small = bytes < LEAST_ALONE * locations.len() as u64;
        let Self { bodies, together, spans } = self;
        if is_small && bodies.read_batch(locations, together, spans).is_ok() {
            for (block, span) in blocks.iter_mut().zip(spans) {
                block.raw.clear();
                block.raw.extend_from_slice(&together[span.clone()]);
            }
            return vec![];
        }
        let each = locations.iter().zip(blocks).enumerate();
        each.filter_map(|(i, (location, block))| {
            bodies.read(*location, &mut block.raw).err().map(|error| (i, error))
        })
        .collect()
    }
}
