//! Writes era1 files, byte for byte as go-ethereum does.

use std::path::Path;

use super::file_name;
use crate::difficulty::ChainTotals;
use crate::formats::e2store::accumulator::{Accumulator, ERA_BLOCKS};
use crate::formats::e2store::framing::FrameEncoder;
use crate::formats::e2store::write::{EraFile, EraWriter, RecordWriter};
use crate::formats::e2store::{
    ACCUMULATOR, BLOCK_INDEX, COMPRESSED_BODY, COMPRESSED_HEADER, COMPRESSED_RECEIPTS,
    TOTAL_DIFFICULTY, VERSION,
};
use crate::{Chunk, Error, ReceiptEncoding};

/// A writer of era1 files. Published files end at the merge; later blocks are written in the same
/// way, with a total difficulty that no longer grows.
pub(crate) type Writer = EraWriter<Era1File>;

/// One file under construction.
#[derive(Debug)]
pub(crate) struct Era1File {
    records: RecordWriter,
    first: u64,
    offsets: Vec<u64>,
    accumulator: Accumulator,
}

impl EraFile for Era1File {
    const ENDING: &'static str = ".era1";
    const RECEIPTS: ReceiptEncoding = ReceiptEncoding::Consensus;
    const RECEIPTS_OPTIONAL: bool = false;

    fn create(path: &Path, first: u64) -> Result<Self, Error> {
        let mut records = RecordWriter::create(path)?;
        records.push(VERSION, &[]);
        records.flush()?;
        Ok(Self { records, first, offsets: vec![], accumulator: Accumulator::default() })
    }

    fn append(
        &mut self,
        frames: &mut FrameEncoder,
        chunk: &Chunk,
        i: usize,
        totals: &ChainTotals,
    ) -> Result<(), Error> {
        let total = totals.total(self.records.path())?;
        self.offsets.push(self.records.offset());
        let header = chunk.headers.get(i);
        for (kind, data) in [
            (COMPRESSED_HEADER, header),
            (COMPRESSED_BODY, chunk.bodies.get(i)),
            (COMPRESSED_RECEIPTS, chunk.receipts.get(i)),
        ] {
            self.records.push_framed(frames, kind, data);
        }
        let mut little_endian = total;
        little_endian.reverse();
        self.records.push(TOTAL_DIFFICULTY, &little_endian);
        // The caller ends a file at each multiple of 8,192, so it never has more blocks.
        self.accumulator.push(&blockmill_rlp::ethereum::block_hash(header), &total);
        self.records.flush()
    }

    fn first(&self) -> u64 {
        self.first
    }

    /// Writes the accumulator and the block index and renames the file.
    fn finish(mut self, folder: &Path, network: &str) -> Result<(), Error> {
        let root = self.accumulator.root();
        self.records.push(ACCUMULATOR, &root);
        let index_at = self.records.offset();
        let mut index = self.first.to_le_bytes().to_vec();
        for offset in &self.offsets {
            index.extend(offset.wrapping_sub(index_at).to_le_bytes());
        }
        index.extend((self.offsets.len() as u64).to_le_bytes());
        self.records.push(BLOCK_INDEX, &index);
        let era = self.first / ERA_BLOCKS as u64;
        self.records.finish(&folder.join(file_name(network, era, &root)))
    }
}
