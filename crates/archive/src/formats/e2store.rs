//! e2store records: type (2 bytes), length (4), reserved zeros (2), all little-endian, then data.
//!
//! What the formats of such records share is here: era, era1 and ere.

pub(crate) mod accumulator;
pub(crate) mod file;
pub(crate) mod framing;
pub(crate) mod name;
pub(crate) mod pieces;
pub(crate) mod read;
pub(crate) mod unpack;
pub(crate) mod write;

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use crate::Error;
use file::RecordFile;

/// Bytes before the data of a record.
pub(crate) const HEADER: usize = 8;

/// Type of the record that every e2store file begins with; its bytes read "e2".
pub(crate) const VERSION: u16 = 0x3265;
/// A signed beacon block, SSZ in a framed Snappy stream.
pub(crate) const BEACON_BLOCK: u16 = 0x01;
/// A beacon state, SSZ in a framed Snappy stream.
pub(crate) const BEACON_STATE: u16 = 0x02;
/// A header, RLP in a framed Snappy stream.
pub(crate) const COMPRESSED_HEADER: u16 = 0x03;
/// A body, RLP in a framed Snappy stream.
pub(crate) const COMPRESSED_BODY: u16 = 0x04;
/// The receipts of a block, RLP in a framed Snappy stream.
pub(crate) const COMPRESSED_RECEIPTS: u16 = 0x05;
/// Total difficulty after a block, 32 bytes, little-endian.
pub(crate) const TOTAL_DIFFICULTY: u16 = 0x06;
/// Root over block hashes and total difficulties, 32 bytes.
pub(crate) const ACCUMULATOR: u16 = 0x07;
/// First block number, relative offsets of all blocks, their count.
pub(crate) const BLOCK_INDEX: u16 = 0x3266;
/// The slim receipts of a block, RLP in a framed Snappy stream.
pub(crate) const SLIM_RECEIPTS: u16 = 0x0a;
/// A proof that a block is canonical, RLP in a framed Snappy stream.
pub(crate) const PROOF: u16 = 0x0b;
/// First block number, relative offsets of the parts of all blocks, numbers of parts and blocks.
pub(crate) const DYNAMIC_INDEX: u16 = 0x3267;

/// First slot, relative offsets of the records of all slots, their count.
pub(crate) const SLOT_INDEX: u16 = 0x3269;

/// The version record, with which every e2store file begins.
const VERSION_RECORD: [u8; HEADER] = [0x65, 0x32, 0, 0, 0, 0, 0, 0];

/// An e2store format with execution blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Block after block.
    Era1,
    /// Part after part: all headers, then all bodies, and so on.
    Ere,
    /// Beacon blocks and a beacon state.
    Era,
}

/// The format of an e2store file; `None` for other files. The order of its first records decides,
/// and its name if they are corrupt.
pub(crate) fn kind_of(path: &Path, head: &[u8]) -> Result<Option<Kind>, Error> {
    if !head.starts_with(&VERSION_RECORD) {
        return Ok(None);
    }
    let ends_like = |ending: &str| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        crate::names::without_compression(name).ends_with(ending.as_bytes())
    };
    Ok(Some(match first_kinds(path)? {
        [Some(COMPRESSED_HEADER), Some(COMPRESSED_HEADER), _] => Kind::Ere,
        [Some(COMPRESSED_HEADER), Some(COMPRESSED_BODY), Some(COMPRESSED_RECEIPTS)] => Kind::Era1,
        [Some(BEACON_BLOCK | BEACON_STATE), ..] => Kind::Era,
        _ if ends_like(".era1") => Kind::Era1,
        _ if ends_like(".era") => Kind::Era,
        _ if ends_like(".ere") || ends_like(".erae") => Kind::Ere,
        // one block
        [Some(COMPRESSED_HEADER), Some(COMPRESSED_BODY), Some(_)] => Kind::Ere,
        _ => Kind::Era1,
    }))
}

/// Types of the three records after the version, as far as they can be read.
fn first_kinds(path: &Path) -> Result<[Option<u16>; 3], Error> {
    let file = RecordFile::open(path)?;
    let (mut kinds, mut at) = ([None; 3], HEADER as u64);
    for found in &mut kinds {
        match file.record_at(at, file.size) {
            Ok((kind, after)) => (*found, at) = (Some(kind), after),
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(_) => break,
        }
    }
    Ok(kinds)
}

/// The error of a record that is too long for its place. The file has its end, so nothing was cut.
pub(crate) fn not_cut(error: Error) -> Error {
    match error {
        Error::Truncated { location, what, needed, available } => {
            let expected = format!("at most {available} bytes, by the index");
            Error::BadRecord { location, what, expected, found: format!("{needed} bytes") }
        }
        error => error,
    }
}

/// The little-endian number at `at`; the caller has checked the length.
pub(crate) fn word(data: &[u8], at: usize) -> u64 {
    data.get(at..).and_then(|d| d.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Appends the eight bytes before the data of a record.
pub(crate) fn put_header(out: &mut Vec<u8>, kind: u16, len: u32) {
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
}

/// One record, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub kind: u16,
    pub data: &'a [u8],
    /// Offset of the record in its file.
    pub offset: u64,
}

/// Walks the records in a part of a file.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    rest: &'a [u8],
    /// Offset of `rest` in the file.
    offset: u64,
    file: &'a Arc<Path>,
}

impl<'a> Records<'a> {
    /// Iterates over the records in `bytes`, which are at `offset` of `file`.
    pub fn new(bytes: &'a [u8], offset: u64, file: &'a Arc<Path>) -> Self {
        Self { rest: bytes, offset, file }
    }

    /// Checks that no record is left: the index says that the next block begins here.
    pub fn expect_end(&self) -> Result<(), Error> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let (location, expected) = (self.location(), "the next block".into());
        let (what, found) = ("end of a block", "another record".into());
        Err(Error::Index { location, what, expected, found })
    }

    /// The location of the next record.
    pub fn location(&self) -> Location {
        Location::new(&**self.file, self.offset)
    }

    /// The next record, whatever its type.
    pub fn next(&mut self) -> Result<Record<'a>, Error> {
        let available = self.rest.len() as u64;
        let short = |needed| {
            let what = "e2store record";
            Error::Truncated { location: self.location(), what, needed, available }
        };
        let Some((header, after)) = self.rest.split_first_chunk::<HEADER>() else {
            return Err(short(HEADER as u64));
        };
        let [k0, k1, l0, l1, l2, l3, reserved @ ..] = *header;
        if reserved != [0, 0] {
            return Err(Error::BadRecord {
                location: self.location(),
                what: "reserved bytes of an e2store record",
                expected: "0".into(),
                found: u16::from_le_bytes(reserved).to_string(),
            });
        }
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        let Some((data, rest)) = after.split_at_checked(len as usize) else {
            return Err(short(HEADER as u64 + u64::from(len)));
        };
        let record = Record { kind: u16::from_le_bytes([k0, k1]), data, offset: self.offset };
        self.rest = rest;
        self.offset += (HEADER + data.len()) as u64;
        Ok(record)
    }

    /// The next record, which must be of type `kind`.
    pub fn expect(&mut self, kind: u16, what: &'static str) -> Result<Record<'a>, Error> {
        let location = self.location();
        let record = self.next()?;
        if record.kind == kind {
            return Ok(record);
        }
        let name = |kind| format!("record type {kind:#06x}");
        Err(Error::BadRecord { location, what, expected: name(kind), found: name(record.kind) })
    }

    /// The next record, which must be of type `kind` and 32 bytes long.
    pub fn expect_word(&mut self, kind: u16, what: &'static str) -> Result<[u8; 32], Error> {
        let location = self.location();
        let data = self.expect(kind, what)?.data;
        data.try_into().map_err(|_| {
            let (expected, found) = ("32 bytes".into(), format!("{} bytes", data.len()));
            Error::BadRecord { location, what, expected, found }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk<T>(bytes: &[u8], read: impl FnOnce(&mut Records) -> T) -> T {
        read(&mut Records::new(bytes, 100, &Path::new("x.era1").into()))
    }

    #[test]
    fn records_round_trip_and_places_follow() {
        let mut bytes = vec![];
        put_header(&mut bytes, ACCUMULATOR, 3);
        bytes.extend_from_slice(&[1, 2, 3, 9]);
        walk(&bytes, |records| {
            let record = records.expect(ACCUMULATOR, "accumulator").unwrap();
            assert_eq!((record.data, record.offset), (&[1, 2, 3][..], 100));
            assert_eq!(records.location().offset, 111);
            assert!(matches!(records.next(), Err(Error::Truncated { available: 1, .. })));
        });
    }

    #[test]
    fn rejects_reserved_bytes() {
        let error = walk(&[3, 0, 0, 0, 0, 0, 0, 1], |r| r.next().unwrap_err());
        let text = "x.era1 at byte 100: reserved bytes of an e2store record: expected 0, found 256";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn rejects_other_types_and_lengths() {
        let bytes = [0x65, 0x32, 0, 0, 0, 0, 0, 0];
        let error = walk(&bytes, |r| r.expect(ACCUMULATOR, "accumulator").unwrap_err());
        let text = "accumulator: expected record type 0x0007, found record type 0x3265";
        assert!(error.to_string().ends_with(text), "{error}");
        let error = walk(&bytes, |r| r.expect_word(VERSION, "version").unwrap_err());
        assert!(error.to_string().ends_with("expected 32 bytes, found 0 bytes"), "{error}");
    }

    #[test]
    fn rejects_records_longer_than_the_file() {
        let bytes = [3, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 1];
        let error = walk(&bytes, |r| r.next().unwrap_err());
        assert!(error.to_string().ends_with("expected 4294967303 bytes, found 9"), "{error}");
    }
}
