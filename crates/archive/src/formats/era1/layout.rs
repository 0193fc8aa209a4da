//! The layout of an era1 file: version record, block index, accumulator.

use blockmill_verdict::Location;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::accumulator::ERA_BLOCKS;
use super::e2store::{ACCUMULATOR, BLOCK_INDEX, BLOCK_RECORDS, HEADER, Records, VERSION};
use crate::input::{Seekable, read_full_at};
use crate::{Compression, Error};

/// The least that a block takes: four record headers and a total difficulty.
const MIN_BLOCK: u64 = 4 * HEADER as u64 + 32;

/// Bytes of the accumulator record, which is just before the index.
const ACCUMULATOR_RECORD: u64 = HEADER as u64 + 32;

/// An open file whose index has been read and checked: every offset is inside the file, after
/// the one before it.
#[derive(Debug)]
pub(super) struct Layout {
    file: Arc<File>,
    /// Compression of the whole file, in addition to the Snappy data in it.
    pub compression: Option<Compression>,
    pub path: Arc<Path>,
    /// Number of the first block.
    pub first: u64,
    /// Offset of each block, then the offset after the last one.
    pub starts: Vec<u64>,
    pub accumulator: [u8; 32],
    /// Offset of the accumulator record.
    pub accumulator_at: u64,
    /// Records of other types between the last block and the accumulator.
    pub others: usize,
}

impl Layout {
    /// Opens `path` and reads its index. Offsets are in the unpacked file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let seekable = Seekable::open(path)?;
        let compression = seekable.compression;
        Self::read_index(seekable, path.into()).map_err(|error| error.unpacked_if(compression))
    }

    fn read_index(seekable: Seekable, path: Arc<Path>) -> Result<Self, Error> {
        let (file, compression) = (seekable.file().clone(), seekable.compression);
        let size = file.metadata().map_err(Error::io("cannot read", &path))?.len();
        let mut bytes = vec![];
        read_part(&file, &path, 0, HEADER as u64, &mut bytes)?;
        let version = Records::new(&bytes, 0, &path).expect(VERSION, "version record")?;
        if !version.data.is_empty() {
            let found = format!("{} bytes", version.data.len());
            return Err(bad(&path, 0, "version record", "no data", found));
        }
        bytes.clear();
        let (index_at, count) = find_index(&file, &path, size)?;
        let base = index_at - ACCUMULATOR_RECORD;
        read_part(&file, &path, base, size - base, &mut bytes)?;
        let mut records = Records::new(&bytes, base, &path);
        let accumulator = records.expect_word(ACCUMULATOR, "accumulator record")?;
        let index = records.expect(BLOCK_INDEX, "block index record")?;
        let (first, mut starts) = parse_index(index.data, index_at, count, &path)?;
        let last = starts[count - 1];
        let (end, others) = end_of_blocks(&file, &path, last, base)?;
        starts.push(end);
        let accumulator_at = base;
        Ok(Self { file, compression, path, first, starts, accumulator, accumulator_at, others })
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.starts.len() - 1
    }

    /// Appends the bytes from `start` to `end`, which must be between the first and the last of
    /// `starts`.
    pub fn read(&mut self, start: u64, end: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        let read = read_part(&self.file, &self.path, start, end - start, into);
        read.map_err(|error| error.unpacked_if(self.compression))
    }
}

/// Appends `len` bytes at `offset`. The caller has compared `len` with the file's size.
fn read_part(
    file: &File,
    path: &Path,
    offset: u64,
    len: u64,
    into: &mut Vec<u8>,
) -> Result<(), Error> {
    let before = into.len();
    into.resize(before + len as usize, 0);
    let available = read_full_at(file, &mut into[before..], offset);
    let available = available.map_err(Error::io("cannot read", path))? as u64;
    if available < len {
        let location = Location::new(path, offset);
        return Err(Error::Truncated { location, what: "era1 file", needed: len, available });
    }
    Ok(())
}

/// Offset of the index record and the number of blocks, from the count at the end of the file.
fn find_index(file: &File, path: &Path, size: u64) -> Result<(u64, usize), Error> {
    let mut bytes = vec![];
    read_part(file, path, size.saturating_sub(8), 8, &mut bytes)?;
    let count = word(&bytes, 0);
    if count == 0 || count > ERA_BLOCKS as u64 {
        let (what, expected) = ("number of blocks in the block index", "1 to 8192");
        // other bytes than an index end the file
        let found = format!("{count}; was the file cut short?");
        return Err(bad(path, size - 8, what, expected, found));
    }
    let index = HEADER as u64 + 16 + 8 * count;
    let needed = HEADER as u64 + count * MIN_BLOCK + ACCUMULATOR_RECORD + index;
    if needed > size {
        let location = Location::new(path, 0);
        return Err(Error::Truncated { location, what: "era1 file", needed, available: size });
    }
    Ok((size - index, count as usize))
}

/// The first number and the offset of each block.
fn parse_index(
    data: &[u8],
    index_at: u64,
    count: usize,
    path: &Path,
) -> Result<(u64, Vec<u64>), Error> {
    let len = 16 + 8 * count;
    if data.len() != len {
        let found = format!("{} bytes", data.len());
        return Err(bad(path, index_at, "block index record", format!("{len} bytes"), found));
    }
    let first = word(data, 0);
    if first.checked_add(count as u64).is_none() {
        let what = "first block number";
        return Err(bad(path, index_at + 8, what, "a smaller number", first.to_string()));
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
                let location = Location::new(path, index_at + 16 + 8 * i as u64);
                let (what, expected) = ("offset of a block", format!("{lowest} to {exact}"));
                let found = start.map_or(format!("{relative} before the index"), |s| s.to_string());
                return Err(Error::Index { location, what, expected, found });
            }
        }
    }
    Ok((first, starts))
}

/// Returns the offset after the last block, which begins at `last`, and the number of records of
/// other types between it and the accumulator, at offset `limit`. A limited number of such records
/// is skipped. Records of the types of blocks and files are an error, because the index leaves them
/// out.
fn end_of_blocks(file: &File, path: &Path, last: u64, limit: u64) -> Result<(u64, usize), Error> {
    const MOST: usize = 1024;
    let mut at = last;
    for _ in BLOCK_RECORDS {
        at = next_record(file, path, at, limit)?.1;
    }
    let end = at;
    for others in 0..MOST {
        if at == limit && end - last >= MIN_BLOCK {
            return Ok((end, others));
        }
        let (kind, after) = next_record(file, path, at, limit)?;
        if BLOCK_RECORDS.contains(&kind) || [VERSION, ACCUMULATOR, BLOCK_INDEX].contains(&kind) {
            let (what, expected) = ("what follows the last block", "the accumulator");
            return Err(bad(path, at, what, expected, format!("a record of type {kind:#06x}")));
        }
        at = after;
    }
    let what = "records after the last block";
    Err(bad(path, last, what, format!("at most {MOST}"), "more"))
}

/// Type of the record at `at` and the offset after it, which is at most `limit`.
fn next_record(file: &File, path: &Path, at: u64, limit: u64) -> Result<(u16, u64), Error> {
    let mut bytes = vec![];
    read_part(file, path, at, (HEADER as u64).min(limit - at), &mut bytes)?;
    let available = limit - at;
    let short = |needed| {
        let (location, what) = (Location::new(path, at), "e2store record");
        Error::Truncated { location, what, needed, available }
    };
    let Some([k0, k1, l0, l1, l2, l3, reserved @ ..]) = bytes.first_chunk::<HEADER>() else {
        return Err(short(HEADER as u64));
    };
    if *reserved != [0, 0] {
        let found = u16::from_le_bytes(*reserved).to_string();
        return Err(bad(path, at, "reserved bytes of an e2store record", "0", found));
    }
    let needed = HEADER as u64 + u64::from(u32::from_le_bytes([*l0, *l1, *l2, *l3]));
    if needed > available {
        return Err(short(needed));
    }
    Ok((u16::from_le_bytes([*k0, *k1]), at + needed))
}

/// Reads the records of a file from its start, independent of the index. Returns the number of
/// whole blocks, the offset after them, and the error there, unless it is an accumulator or the
/// end.
pub(super) fn count_blocks(path: &Path) -> Result<(u64, u64, Option<Error>), Error> {
    let seekable = Seekable::open(path)?;
    let file = seekable.file();
    let size = file.metadata().map_err(Error::io("cannot read", path))?.len();
    let (mut blocks, mut end) = (0, HEADER as u64);
    while end < size {
        let mut at = end;
        for (i, expected) in BLOCK_RECORDS.into_iter().enumerate() {
            let (kind, after) = match next_record(file, path, at, size) {
                Ok(record) => record,
                Err(error) => return Ok((blocks, end, Some(error))),
            };
            if kind == ACCUMULATOR && i == 0 {
                return Ok((blocks, end, None));
            }
            if kind != expected {
                let (expected, found) = (format!("{expected:#06x}"), format!("{kind:#06x}"));
                let error = bad(path, at, "type of an e2store record", expected, found);
                return Ok((blocks, end, Some(error)));
            }
            at = after;
        }
        blocks += 1;
        end = at;
    }
    Ok((blocks, end, None))
}

/// The little-endian number at `at`; the caller has checked the length.
fn word(data: &[u8], at: usize) -> u64 {
    data.get(at..).and_then(|d| d.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

fn bad(
    path: &Path,
    offset: u64,
    what: &'static str,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> Error {
    let location = Location::new(path, offset);
    Error::BadRecord { location, what, expected: expected.into(), found: found.into() }
}
