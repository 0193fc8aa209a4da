//! The index at the end of an ere file: which parts of blocks there are, and where.

use std::path::Path;

use super::layout::{BODIES, HEADERS, SECTIONS};
use crate::Error;
use crate::formats::e2store::accumulator::ERA_BLOCKS;
use crate::formats::e2store::file::RecordFile;
use crate::formats::e2store::{
    BLOCK_INDEX, COMPRESSED_BODY, COMPRESSED_HEADER, DYNAMIC_INDEX, HEADER, PROOF, Records,
    SLIM_RECEIPTS, TOTAL_DIFFICULTY, not_cut, word,
};

/// Bytes after the offsets: number of parts, number of blocks.
const TAIL: u64 = 16;

/// Type numbers of a version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types {
    /// The type of the records of each section, in the order of the file.
    pub sections: [u16; SECTIONS],
    /// The type of the index.
    pub index: u16,
}

/// The types of ere files.
pub(super) const CURRENT: Types = Types {
    sections: [COMPRESSED_HEADER, COMPRESSED_BODY, SLIM_RECEIPTS, PROOF, TOTAL_DIFFICULTY],
    index: DYNAMIC_INDEX,
};

/// The types of the first files of the format, which were named `.erae`.
const EARLY: Types = Types {
    sections: [COMPRESSED_HEADER, COMPRESSED_BODY, 0x08, 0x09, TOTAL_DIFFICULTY],
    index: BLOCK_INDEX,
};

/// An open file of which the head of the index was read: numbers, and the parts of the first block.
#[derive(Debug)]
pub(super) struct Index {
    pub file: RecordFile,
    pub types: Types,
    /// Offset of the index record.
    pub at: u64,
    /// Number of the first block.
    pub first: u64,
    /// Number of blocks.
    pub count: usize,
    /// The section of each part of a block, in the order of the index.
    pub parts: Vec<usize>,
}

impl Index {
    /// Opens `path` and reads the head of its index. Offsets are in the unpacked file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = RecordFile::open(path)?;
        let compression = file.compression;
        Self::read(file).map_err(|error| error.unpacked_if(compression))
    }

    fn read(file: RecordFile) -> Result<Self, Error> {
        file.expect_version()?;
        let (at, types, parts, count) = match find(&file) {
            Ok(found) => found,
            Err(error) => return Err(reason(&file, error)),
        };
        let mut bytes = vec![];
        let first_entry = at + HEADER as u64 + 8;
        file.read(at + HEADER as u64, first_entry + 8 * parts as u64, &mut bytes)?;
        let first = word(&bytes, 0);
        if first.checked_add(count as u64).is_none() {
            let (what, found) = ("first block number", first.to_string());
            return Err(file.bad(at + HEADER as u64, what, "a smaller number", found));
        }
        let mut index = Self { file, types, at, first, count, parts: vec![] };
        for part in 0..parts {
            let section =
                index.section_at(first_entry + 8 * part as u64, word(&bytes, 8 + 8 * part))?;
            index.parts.push(section);
        }
        match [(HEADERS, "headers"), (BODIES, "bodies")].iter().find(|(s, _)| !index.has(*s)) {
            Some((_, what)) => {
                let (expected, found) = (format!("{what} in the index"), "none".to_string());
                Err(index.file.bad(at, "block index record", expected, found))
            }
            None => Ok(index),
        }
    }

    /// Whether the file has a section.
    pub fn has(&self, section: usize) -> bool {
        self.parts.contains(&section)
    }

    /// The section of a part of the first block, by the type of the record that the index names at
    /// `entry`.
    fn section_at(&self, entry: u64, relative: u64) -> Result<usize, Error> {
        let wrong = |what, expected: String, found: String| Error::Index {
            location: self.file.location(entry),
            what,
            expected,
            found,
        };
        let range = HEADER as u64..self.at;
        let offset = self.offset(relative).filter(|offset| range.contains(offset));
        let Some(offset) = offset else {
            let (expected, found) = (format!("{range:?}"), self.shown(relative));
            return Err(wrong("offset of a part of the first block", expected, found));
        };
        let (kind, _) = self.file.record_at(offset, self.at).map_err(not_cut)?;
        let section = self.types.sections.iter().position(|known| *known == kind);
        let what = "type of a part of the first block";
        let found = format!("record type {kind:#06x} at {offset}");
        match section {
            None => Err(wrong(what, "a header, body, receipts, proof or difficulty".into(), found)),
            Some(section) if self.has(section) => {
                Err(wrong(what, "each part once".into(), format!("{found}, again")))
            }
            Some(section) => Ok(section),
        }
    }

    /// The offset in the file that an entry states relative to the index.
    pub fn offset(&self, relative: u64) -> Option<u64> {
        self.at.checked_add_signed(relative as i64)
    }

    /// The offset that an entry states, in a message.
    pub fn shown(&self, relative: u64) -> String {
        let shown = |offset: u64| offset.to_string();
        self.offset(relative).map_or(format!("{} before the index", relative as i64), shown)
    }
}

/// Offset of the index record, the types of the file, the parts of a block and the number of
/// blocks, from the end of the file.
fn find(file: &RecordFile) -> Result<(u64, Types, usize, usize), Error> {
    let (mut bytes, size) = (vec![], file.size);
    let tail = size.saturating_sub(TAIL);
    file.read(tail, tail + TAIL, &mut bytes)?;
    let (parts, count) = (word(&bytes, 0), word(&bytes, 8));
    if count == 0 || count > ERA_BLOCKS as u64 {
        let (what, expected) = ("number of blocks in the block index", "1 to 8192");
        return Err(file.bad(size - 8, what, expected, count.to_string()));
    }
    if !(2..=SECTIONS as u64).contains(&parts) {
        let (what, expected) = ("number of parts of a block in the block index", "2 to 5");
        return Err(file.bad(tail, what, expected, parts.to_string()));
    }
    let len = 8 + 8 * parts * count + TAIL;
    let needed = HEADER as u64 + HEADER as u64 * parts * count + HEADER as u64 + len;
    if needed > size {
        let (location, what) = (file.location(0), "ere file");
        return Err(Error::Truncated { location, what, needed, available: size });
    }
    let at = size - len - HEADER as u64;
    bytes.clear();
    file.read(at, at + HEADER as u64, &mut bytes)?;
    let (kind, data) = (u16::from_le_bytes([bytes[0], bytes[1]]), word(&bytes, 0) >> 16);
    let types = [CURRENT, EARLY].into_iter().find(|types| types.index == kind);
    let (Some(types), true) = (types, data == len) else {
        let expected = format!("record type 0x3267 with {len} bytes");
        let found = format!("record type {kind:#06x} with {data} bytes");
        return Err(file.bad(at, "block index record", expected, found));
    };
    Ok((at, types, parts as usize, count as usize))
}

/// The reason why a file has no index at its end: it was cut short, or bytes follow the index, or
/// the index is corrupt, of which `error` says more.
fn reason(file: &RecordFile, error: Error) -> Error {
    const MOST: usize = SECTIONS * ERA_BLOCKS + 1024;
    if matches!(error, Error::Io { .. }) {
        return error;
    }
    let mut at = HEADER as u64;
    for _ in 0..MOST {
        if at == file.size {
            let (location, what) = (file.location(at), "block index");
            let (expected, found) = ("a block index record".into(), "the end of the file".into());
            return Error::Missing { location, what, expected, found };
        }
        match file.record_at(at, file.size) {
            Ok((kind, after)) if [CURRENT.index, EARLY.index].contains(&kind) => {
                let more = file.size - after;
                return match more {
                    0 => error,
                    _ => {
                        file.bad(after, "end of the file", "no more bytes", format!("{more} more"))
                    }
                };
            }
            Ok((_, after)) => at = after,
            Err(cut @ Error::Truncated { .. }) => return cut,
            Err(_) => return error,
        }
    }
    error
}

/// The entries of the index: for each block the offsets of its parts, relative to the index.
pub(super) fn entries(index: &Index) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![];
    index.file.read(index.at, index.file.size, &mut bytes)?;
    let data = Records::new(&bytes, index.at, &index.file.path)
        .expect(index.types.index, "block index record")?
        .data;
    Ok(data.get(8..data.len().saturating_sub(TAIL as usize)).unwrap_or_default().to_vec())
}
