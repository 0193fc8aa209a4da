//! Bodies from the files, a batch at a time.

use crate::execute::batch::{Batch, Context};
use crate::fault::Cause;
use archive::blkdat::{BodyReader, Location};
use std::time::Instant;

/// Bytes of blocks after which a batch is full; a larger block has a batch of its own.
const BATCH_BYTES: u64 = 1 << 20;
/// Blocks after which a batch is full, for chains of tiny blocks.
const BATCH_BLOCKS: usize = 512;

impl Batch {
    /// Reads blocks from height `first` on, up to the end of the path. Returns whether there are
    /// any. A block that cannot be read is this batch's fault, and its last.
    pub fn read(&mut self, first: u32, context: &Context, reader: &mut BodyReader) -> bool {
        let start = Instant::now();
        self.begin(first);
        let mut bytes = 0;
        let last = context.options.until.map_or(usize::MAX, |until| until as usize);
        let end = last.saturating_add(1).min(context.path.nodes.len());
        for node in context.path.nodes[..end].iter().skip(first as usize) {
            let Some(found) = context.tree.record(*node) else { break };
            bytes += u64::from(found.size);
            let full = bytes > BATCH_BYTES || self.locations.len() == BATCH_BLOCKS;
            if full && !self.locations.is_empty() {
                break;
            }
            let (file, offset, size) = (found.file, found.offset, found.size);
            self.locations.push(Location { file, offset, size });
        }
        self.len = self.locations.len();
        if reader.read_batch(&self.locations, &mut self.bytes, &mut self.spans).is_err() {
            self.read_one_by_one(context, reader);
        }
        self.times.read = start.elapsed();
        self.len > 0 || self.fault.is_some()
    }

    /// Finds out which block cannot be read, and keeps those before it.
    fn read_one_by_one(&mut self, context: &Context, reader: &mut BodyReader) {
        self.bytes.clear();
        self.spans.clear();
        let mut one = vec![];
        for i in 0..self.len {
            match reader.read(self.locations[i], &mut one) {
                Ok(()) => {
                    let start = self.bytes.len();
                    self.bytes.extend_from_slice(&one);
                    self.spans.push(start..self.bytes.len());
                }
                Err(error) => {
                    self.len = i;
                    self.fault = Some(context.fault(self.height(i), Cause::Archive(error)));
                    return;
                }
            }
        }
    }
}
