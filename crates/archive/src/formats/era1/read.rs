//! Reads era1 files in order: runs of whole blocks on one thread, which any other thread unpacks.

use blockmill_verdict::Location;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::e2store::{
    COMPRESSED_BODY, COMPRESSED_HEADER, COMPRESSED_RECEIPTS, HEADER, Record, Records,
    TOTAL_DIFFICULTY,
};
use super::framing::FrameDecoder;
use super::layout::Layout;
use crate::chunk::PackedBlocks;
use crate::error::expect_next;
use crate::row::ReadBlocks;
use crate::{
    Chunk, ChunkLimit, Column, Compression, EraEnd, Error, MAX_BODY, MAX_HEADER, MAX_RECEIPTS,
    Part, Want, input,
};

/// Bytes of the total difficulty record, the last one of a block.
const DIFFICULTY_RECORD: u64 = HEADER as u64 + 32;

/// If only headers are wanted and a block has more bytes than this, its header and total difficulty
/// are read and the rest is skipped. Two small reads cost as much as copying this many bytes.
const SPARSE: u64 = 16 << 10;

/// Bytes that a sparse read reads at once for a header; nearly all records are smaller.
const HEADER_GUESS: u64 = 1 << 10;

/// A reader of the blocks of files in a range of numbers.
#[derive(Debug)]
pub(crate) struct Reader {
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Current>,
    want: Want,
    range: RangeInclusive<u64>,
    /// Number of the first block of the next file, and the file before it.
    follows: Option<(u64, Arc<Path>)>,
    /// Number of skipped files, equal to the files before them, and the last of them.
    skipped: Option<(usize, PathBuf)>,
}

/// The open file and the blocks that remain to be read.
#[derive(Debug)]
struct Current {
    layout: Layout,
    next: usize,
    end: usize,
}

impl Reader {
    /// Reads `files`, which are in the order of their blocks.
    pub fn new(files: Vec<PathBuf>, want: Want, range: RangeInclusive<u64>) -> Result<Self, Error> {
        let files = files.into_iter();
        Ok(Self { files, current: None, want, range, follows: None, skipped: None })
    }

    /// Reads the next chunk, which never spans two files. False at the end.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error> {
        while self.current.as_ref().is_none_or(|current| current.next == current.end) {
            let Some(path) = self.files.next() else {
                return Ok(false);
            };
            self.open(&path)?;
        }
        if let Some(current) = &mut self.current {
            let to = current.chunk_end(limit);
            into.fill(current, to, self.want)?;
            current.next = to;
        }
        Ok(true)
    }

    /// Opens the next file and finds which of its blocks are in range.
    fn open(&mut self, path: &Path) -> Result<(), Error> {
        let layout = Layout::open(path)?;
        let after = layout.first + layout.blocks() as u64;
        let from = (*self.range.start()).clamp(layout.first, after);
        let to = self.range.end().saturating_add(1).clamp(from, after);
        if from < to && self.is_again(path, after)? {
            return Ok(());
        }
        if from < to {
            if let Some((expected, before)) = self.follows.take() {
                let location = Location::new(path, layout.starts[0]);
                expect_next(expected, &before, layout.first, location)
                    .map_err(|gap| gap.unpacked_if(layout.compression))?;
            }
            self.follows = Some((after, layout.path.clone()));
        }
        let (next, end) = ((from - layout.first) as usize, (to - layout.first) as usize);
        self.current = Some(Current { layout, next, end });
        Ok(())
    }
}

impl Reader {
    /// Whether a file, which ends before block `after`, repeats the file before it.
    fn is_again(&mut self, path: &Path, after: u64) -> Result<bool, Error> {
        let before = self.follows.as_ref().filter(|(expected, _)| *expected == after);
        let Some((_, before)) = before else { return Ok(false) };
        let is_again = input::is_same(before, path)?;
        if is_again {
            let count = self.skipped.as_ref().map_or(0, |(count, _)| *count);
            self.skipped = Some((count + 1, path.to_path_buf()));
            self.current = None;
        }
        Ok(is_again)
    }
}

impl Current {
    /// The block after the last one of a chunk that begins at `next`.
    fn chunk_end(&self, limit: ChunkLimit) -> usize {
        let starts = &self.layout.starts;
        let most = self.end.min(self.next.saturating_add(limit.blocks));
        let full = starts[self.next].saturating_add(limit.bytes as u64);
        (self.next + 1..most).find(|i| starts[*i] >= full).unwrap_or(most)
    }
}

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

impl ReadBlocks for Reader {
    fn read(&mut self, limit: ChunkLimit, into: &mut crate::Packed) -> Result<bool, Error> {
        into.fill(|packed| self.read(limit, packed))
    }

    fn note(&self) -> Option<String> {
        let (count, path) = self.skipped.as_ref()?;
        let files = if *count == 1 { "1 file".into() } else { format!("{count} files") };
        let path = path.display();
        Some(format!("{files} came again and were skipped, equal to those before: {path} is one"))
    }
}

impl Packed {
    /// Reads the blocks from the current one to `to`.
    fn fill(&mut self, current: &mut Current, to: usize, want: Want) -> Result<(), Error> {
        let Current { layout, next, .. } = current;
        self.bytes.clear();
        self.ends.clear();
        self.starts.clear();
        self.starts.extend_from_slice(&layout.starts[*next..=to]);
        let (start, end) = (layout.starts[*next], layout.starts[to]);
        let only_headers = !want.bodies && !want.receipts;
        self.sparse = only_headers && end - start > SPARSE * (to - *next) as u64;
        if self.sparse {
            self.fill_sparse(layout)?;
        } else {
            layout.read(start, end, &mut self.bytes)?;
            self.ends.extend(self.starts[1..].iter().map(|s| (s - start) as usize));
        }
        self.want = want;
        self.first = layout.first + *next as u64;
        self.file = Some(layout.path.clone());
        self.compression = layout.compression;
        self.end = (to == layout.blocks()).then(|| EraEnd {
            accumulator: layout.accumulator,
            first: layout.first,
            blocks: layout.blocks() as u64,
        });
        Ok(())
    }

    /// Reads the header and the total difficulty of each block in `starts`.
    fn fill_sparse(&mut self, layout: &mut Layout) -> Result<(), Error> {
        for pair in self.starts.windows(2) {
            let (start, difficulty) = (pair[0], pair[1] - DIFFICULTY_RECORD);
            let at = self.bytes.len();
            let guess = difficulty.min(start + HEADER_GUESS);
            layout.read(start, guess, &mut self.bytes)?;
            let len = self.bytes.get(at + 2..at + 6).and_then(|len| len.first_chunk());
            let len = len.map_or(0, |len| u64::from(u32::from_le_bytes(*len)));
            let end = difficulty.min(start + HEADER as u64 + len);
            if end > guess {
                layout.read(guess, end, &mut self.bytes)?;
            } else {
                self.bytes.truncate(at + (end - start) as usize);
            }
            layout.read(difficulty, pair[1], &mut self.bytes)?;
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    fn unpack_blocks(&self, file: Arc<Path>, chunk: &mut Chunk) -> Result<(), Error> {
        chunk.first = Some(self.first);
        chunk.era_end = self.end;
        chunk.begins_at = self.starts.first().map(|start| (file.clone(), *start));
        let mut unpacker = Unpacker { frames: FrameDecoder::default(), file, chunk };
        let mut from = 0;
        for (i, to) in self.ends.iter().enumerate() {
            let block = &self.bytes[from..*to];
            if self.sparse {
                unpacker.sparse_block(block, self.starts[i], self.starts[i + 1])?;
            } else {
                unpacker.block(block, self.starts[i], self.want)?;
            }
            from = *to;
        }
        Ok(())
    }
}

/// Splits blocks into records and unpacks them.
struct Unpacker<'c> {
    frames: FrameDecoder,
    file: Arc<Path>,
    chunk: &'c mut Chunk,
}

impl Unpacker<'_> {
    /// Unpacks a whole block, which is at `offset`.
    fn block(&mut self, bytes: &[u8], offset: u64, want: Want) -> Result<(), Error> {
        let file = self.file.clone();
        let mut records = Records::new(bytes, offset, &file);
        let header = records.expect(COMPRESSED_HEADER, "header record")?;
        let body = records.expect(COMPRESSED_BODY, "body record")?;
        let receipts = records.expect(COMPRESSED_RECEIPTS, "receipts record")?;
        self.part(header, Part::Header)?;
        if want.bodies {
            self.part(body, Part::Body)?;
        }
        if want.receipts {
            self.part(receipts, Part::Receipts)?;
        }
        self.total_difficulty(&mut records)
    }

    /// Header and total difficulty of a block from `offset` to `end`.
    fn sparse_block(&mut self, bytes: &[u8], offset: u64, end: u64) -> Result<(), Error> {
        let file = self.file.clone();
        let (header, difficulty) = bytes.split_at(bytes.len() - DIFFICULTY_RECORD as usize);
        let header =
            Records::new(header, offset, &file).expect(COMPRESSED_HEADER, "header record")?;
        self.part(header, Part::Header)?;
        self.total_difficulty(&mut Records::new(difficulty, end - DIFFICULTY_RECORD, &file))
    }

    fn part(&mut self, record: Record, part: Part) -> Result<(), Error> {
        let (limit, what) = match part {
            Part::Body => (MAX_BODY, "body"),
            Part::Receipts => (MAX_RECEIPTS, "receipts"),
            Part::Header | Part::TotalDifficulty | Part::AccessList => (MAX_HEADER, "header"),
        };
        let column: &mut Column = match part {
            Part::Body => &mut self.chunk.bodies,
            Part::Receipts => &mut self.chunk.receipts,
            Part::Header | Part::TotalDifficulty | Part::AccessList => &mut self.chunk.headers,
        };
        self.frames
            .unpack(record.data, limit, &mut column.bytes)
            .map_err(|error| error.at(Location::new(&*self.file, record.offset), what))?;
        column.end_item();
        self.chunk.track(part).push(&self.file, record.offset);
        Ok(())
    }

    /// The total difficulty, which must be the last record of its block.
    fn total_difficulty(&mut self, records: &mut Records) -> Result<(), Error> {
        let offset = records.location().offset;
        let mut value = records.expect_word(TOTAL_DIFFICULTY, "total difficulty record")?;
        if !records.is_empty() {
            let (location, expected) = (records.location(), "the next block".into());
            let (what, found) = ("end of a block", "another record".into());
            return Err(Error::Index { location, what, expected, found });
        }
        value.reverse();
        self.chunk.total_difficulties.push(value);
        self.chunk.track(Part::TotalDifficulty).push(&self.file, offset);
        Ok(())
    }
}
