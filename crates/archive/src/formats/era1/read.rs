//! Reads the blocks of era1 files and unpacks them.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::layout::Layout;
use crate::chunk::PackedBlocks;
use crate::formats::e2store::unpack::Unpacker;
use crate::formats::e2store::{
    COMPRESSED_BODY, COMPRESSED_HEADER, COMPRESSED_RECEIPTS, HEADER, Records,
};
use crate::{Accumulates, Chunk, Compression, EraEnd, Error, Part, Want};

/// Bytes of the total difficulty record, the last one of a block.
const DIFFICULTY_RECORD: u64 = HEADER as u64 + 32;

/// If only headers are wanted and a block has more bytes than this, its header and total difficulty
/// are read and the rest is skipped. Two small reads cost as much as copying this many bytes.
const SPARSE: u64 = 16 << 10;

/// Bytes that a sparse read reads at once for a header; nearly all records are smaller.
const HEADER_GUESS: u64 = 1 << 10;

/// Records of consecutive blocks of one file.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    /// The end of each block in `bytes`.
    ends: Vec<usize>,
    /// Offset in the file of each block, then of the end of the last one.
    starts: Vec<u64>,
    /// True when `bytes` holds only the header and the total difficulty of each block.
    sparse: bool,
    want: Want,
    first: u64,
    end: Option<EraEnd>,
    file: Option<Arc<Path>>,
    /// Compression of the whole file, in addition to the Snappy data in it.
    compression: Option<Compression>,
}

impl PackedBlocks for Packed {
    /// Number of blocks.
    fn blocks(&self) -> usize {
        self.ends.len()
    }

    /// Bytes read from disk.
    fn disk_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Unpacks the wanted parts into `chunk`.
    fn unpack(&mut self, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.clear();
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        chunk.unpacked_offsets = self.compression.is_some();
        self.unpack_blocks(file, chunk).map_err(|error| error.unpacked_if(self.compression))
    }
}

impl Packed {
    /// Reads some blocks.
    pub fn fill(&mut self, layout: &Layout, blocks: Range<usize>, want: Want) -> Result<(), Error> {
        let (from, to) = (blocks.start, blocks.end);
        self.bytes.clear();
        self.ends.clear();
        self.starts.clear();
        self.starts.extend_from_slice(&layout.starts[from..=to]);
        let (start, end) = (layout.starts[from], layout.starts[to]);
        let only_headers = !want.bodies && !want.receipts;
        self.sparse = only_headers && end - start > SPARSE * blocks.len() as u64;
        if self.sparse {
            self.fill_sparse(layout)?;
        } else {
            layout.file.read(start, end, &mut self.bytes)?;
            self.ends.extend(self.starts[1..].iter().map(|s| (s - start) as usize));
        }
        self.want = want;
        self.first = layout.first + from as u64;
        self.file = Some(layout.file.path.clone());
        self.compression = layout.file.compression;
        let blocks = layout.starts.len() - 1;
        self.end = (to == blocks).then_some(EraEnd {
            accumulator: Some(layout.accumulator),
            first: layout.first,
            blocks: blocks as u64,
        });
        Ok(())
    }

    /// Reads the header and the total difficulty of each block in `starts`.
    fn fill_sparse(&mut self, layout: &Layout) -> Result<(), Error> {
        for pair in self.starts.windows(2) {
            let (start, difficulty) = (pair[0], pair[1] - DIFFICULTY_RECORD);
            let at = self.bytes.len();
            let guess = difficulty.min(start + HEADER_GUESS);
            layout.file.read(start, guess, &mut self.bytes)?;
            let len = self.bytes.get(at + 2..at + 6).and_then(|len| len.first_chunk());
            let len = len.map_or(0, |len| u64::from(u32::from_le_bytes(*len)));
            let end = difficulty.min(start + HEADER as u64 + len);
            if end > guess {
                layout.file.read(guess, end, &mut self.bytes)?;
            } else {
                self.bytes.truncate(at + (end - start) as usize);
            }
            layout.file.read(difficulty, pair[1], &mut self.bytes)?;
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    fn unpack_blocks(&self, file: Arc<Path>, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.first = Some(self.first);
        chunk.accumulates = Some(Accumulates::AllBlocks);
        chunk.era_end = self.end;
        chunk.begins_at = self.starts.first().map(|start| (file.clone(), *start));
        let mut unpacker = Unpacker::new(file, chunk);
        let mut from = 0;
        for (i, to) in self.ends.iter().enumerate() {
            let block = &self.bytes[from..*to];
            if self.sparse {
                sparse_block(&mut unpacker, block, self.starts[i]..self.starts[i + 1])?;
            } else {
                whole_block(&mut unpacker, block, self.starts[i], self.want)?;
            }
            from = *to;
        }
        Ok(())
    }
}

/// Unpacks a whole block, which is at `offset`.
fn whole_block(
    unpacker: &mut Unpacker,
    bytes: &[u8],
    offset: u64,
    want: Want,
) -> Result<(), Error> {
    let file = unpacker.file.clone();
    let mut records = Records::new(bytes, offset, &file);
    let header = records.expect(COMPRESSED_HEADER, "header record")?;
    let body = records.expect(COMPRESSED_BODY, "body record")?;
    let receipts = records.expect(COMPRESSED_RECEIPTS, "receipts record")?;
    unpacker.part(header, Part::Header)?;
    if want.bodies {
        unpacker.part(body, Part::Body)?;
    }
    if want.receipts {
        unpacker.part(receipts, Part::Receipts)?;
    }
    unpacker.total_difficulty(&mut records)
}

/// Unpacks header and total difficulty of a block, which is at `place` in the file.
fn sparse_block(unpacker: &mut Unpacker, bytes: &[u8], place: Range<u64>) -> Result<(), Error> {
    let file = unpacker.file.clone();
    let (header, difficulty) = bytes.split_at(bytes.len() - DIFFICULTY_RECORD as usize);
    let header =
        Records::new(header, place.start, &file).expect(COMPRESSED_HEADER, "header record")?;
    unpacker.part(header, Part::Header)?;
    unpacker.total_difficulty(&mut Records::new(difficulty, place.end - DIFFICULTY_RECORD, &file))
}
