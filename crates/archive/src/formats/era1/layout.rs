//! The layout of an era1 file: version record, block index, accumulator.

use std::ops::Range;
use std::path::Path;

use super::read::Packed;
use crate::formats::e2store::accumulator::ERA_BLOCKS;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::read::BlockFile;
use crate::formats::e2store::{
    ACCUMULATOR, BLOCK_INDEX, COMPRESSED_BODY, COMPRESSED_HEADER, COMPRESSED_RECEIPTS, HEADER,
    Records, TOTAL_DIFFICULTY, VERSION, word,
};
use crate::{Error, Want};

/// The records of one block, in order.
const BLOCK_RECORDS: [u16; 4] =
    [COMPRESSED_HEADER, COMPRESSED_BODY, COMPRESSED_RECEIPTS, TOTAL_DIFFICULTY];

/// Types of records that the index or the layout of a file determines.
const KNOWN: [u16; 6] = [
    COMPRESSED_HEADER,
    COMPRESSED_BODY,
    COMPRESSED_RECEIPTS,
    TOTAL_DIFFICULTY,
    VERSION,
    BLOCK_INDEX,
];

/// The least that a block takes: four record headers and a total difficulty.
const MIN_BLOCK: u64 = 4 * HEADER as u64 + 32;

/// Bytes of the accumulator record, which is just before the index.
const ACCUMULATOR_RECORD: u64 = HEADER as u64 + 32;

/// An open file whose index has been read and checked: every offset is inside the file, after
/// the one before it.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(super) file: RecordFile,
    /// Number of the first block.
    pub(super) first: u64,
    /// Offset of each block, then the offset after the last one.
    pub(super) starts: Vec<u64>,
    pub(super) accumulator: [u8; 32],
    /// Offset of the accumulator record.
    pub(super) accumulator_at: u64,
    /// Records of other types between the last block and the accumulator.
    pub(super) others: usize,
}

impl BlockFile for Layout {
    type Packed = Packed;

    /// Opens `path` and reads its index. Offsets are in the unpacked file.
    fn open(path: &Path) -> Result<Self, Error> {
        let file = RecordFile::open(path)?;
        let compression = file.compression;
        Self::read_index(file).map_err(|error| error.unpacked_if(compression))
    }

    fn file(&self) -> &RecordFile {
        &self.file
    }

    fn first(&self) -> u64 {
        self.first
    }

    fn blocks(&self) -> usize {
        self.starts.len() - 1
    }

    fn beginning(&self) -> u64 {
        self.starts[0]
    }

    fn bytes(&self, blocks: Range<usize>, _: Want) -> u64 {
        self.starts[blocks.end] - self.starts[blocks.start]
    }

    fn fill(&self, blocks: Range<usize>, want: Want, into: &mut Packed) -> Result<(), Error> {
        into.fill(self, blocks, want)
    }
}

impl Layout {
    fn read_index(file: RecordFile) -> Result<Self, Error> {
        file.expect_version()?;
        let (index_at, count) = find_index(&file)?;
        let accumulator_at = index_at - ACCUMULATOR_RECORD;
        let mut bytes = vec![];
        file.read(accumulator_at, file.size, &mut bytes)?;
        let mut records = Records::new(&bytes, accumulator_at, &file.path);
        let accumulator = records.expect_word(ACCUMULATOR, "accumulator record")?;
        let index = records.expect(BLOCK_INDEX, "block index record")?;
        let (first, mut starts) = parse_index(index.data, index_at, count, &file)?;
        let last = starts[count - 1];
        let end = end_of_last(&file, last, accumulator_at)?;
        let (others, at) = file.count_others(end, index_at, ACCUMULATOR, &KNOWN)?;
        if at != accumulator_at {
            let (what, found) = ("offset of the accumulator", at.to_string());
            return Err(file.bad(at, what, accumulator_at.to_string(), found));
        }
        starts.push(end);
        Ok(Self { file, first, starts, accumulator, accumulator_at, others })
    }
}

/// Offset of the index record and the number of blocks, from the count at the end of the file.
fn find_index(file: &RecordFile) -> Result<(u64, usize), Error> {
    let (mut bytes, size) = (vec![], file.size);
    let last_word = size.saturating_sub(8);
    file.read(last_word, last_word + 8, &mut bytes)?;
    let count = word(&bytes, 0);
    if count == 0 || count > ERA_BLOCKS as u64 {
        let (what, expected) = ("number of blocks in the block index", "1 to 8192");
        // other bytes than an index end the file
        let found = format!("{count}; was the file cut short?");
        return Err(file.bad(last_word, what, expected, found));
    }
    let index = HEADER as u64 + 16 + 8 * count;
    let needed = HEADER as u64 + count * MIN_BLOCK + ACCUMULATOR_RECORD + index;
    if needed > size {
        let (location, what) = (file.location(0), "era1 file");
        return Err(Error::Truncated { location, what, needed, available: size });
    }
    Ok((size - index, count as usize))
}

/// The first number and the offset of each block.
fn parse_index(
    data: &[u8],
    index_at: u64,
    count: usize,
    file: &RecordFile,
) -> Result<(u64, Vec<u64>), Error> {
    let len = 16 + 8 * count;
    if data.len() != len {
        let found = format!("{} bytes", data.len());
        return Err(file.bad(index_at, "block index record", format!("{len} bytes"), found));
    }
    let first = word(data, 0);
    if first.checked_add(count as u64).is_none() {
        let what = "first block number";
        return Err(file.bad(index_at + 8, what, "a smaller number", first.to_string()));
    }
    let blocks_end = index_at - ACCUMULATOR_RECORD;
    let mut starts = Vec::with_capacity(count + 1);
    for i in 0..count {
        let relative = word(data, 8 + 8 * i) as i64;
        let start = index_at.checked_add_signed(relative);
        let lowest = starts.last().map_or(HEADER as u64, |last: &u64| last + MIN_BLOCK);
        let highest = blocks_end - (count - i) as u64 * MIN_BLOCK;
        let exact = if i == 0 { lowest } else { highest };
        match start {
            Some(start) if start >= lowest && start <= exact => starts.push(start),
            _ => {
                let location = file.location(index_at + 16 + 8 * i as u64);
                let (what, expected) = ("offset of a block", format!("{lowest} to {exact}"));
                let found = start.map_or(format!("{relative} before the index"), |s| s.to_string());
                return Err(Error::Index { location, what, expected, found });
            }
        }
    }
    Ok((first, starts))
}

/// Returns the offset after the last block, which begins at `last` and ends before `limit`.
fn end_of_last(file: &RecordFile, last: u64, limit: u64) -> Result<u64, Error> {
    let mut end = last;
    for _ in BLOCK_RECORDS {
        end = file.record_at(end, limit)?.1;
    }
    if end - last < MIN_BLOCK {
        let (expected, found) = (format!("at least {MIN_BLOCK} bytes"), (end - last).to_string());
        return Err(file.bad(last, "records of the last block", expected, found));
    }
    Ok(end)
}

/// Reads the records of a file from its start, independent of the index. Returns the number of
/// whole blocks, the offset after them, and the error there, unless it is an accumulator or the
/// end.
pub(super) fn count_blocks(path: &Path) -> Result<(u64, u64, Option<Error>), Error> {
    let file = RecordFile::open(path)?;
    let (mut blocks, mut end) = (0, HEADER as u64);
    while end < file.size {
        let mut at = end;
        for (i, expected) in BLOCK_RECORDS.into_iter().enumerate() {
            let (kind, after) = match file.record_at(at, file.size) {
                Ok(record) => record,
                Err(error) => return Ok((blocks, end, Some(error))),
            };
            if kind == ACCUMULATOR && i == 0 {
                return Ok((blocks, end, None));
            }
            if kind != expected {
                let (expected, found) = (format!("{expected:#06x}"), format!("{kind:#06x}"));
                let error = file.bad(at, "type of an e2store record", expected, found);
                return Ok((blocks, end, Some(error)));
            }
            at = after;
        }
        blocks += 1;
        end = at;
    }
    Ok((blocks, end, None))
}
