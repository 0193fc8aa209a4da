//! e2store records: type (2 bytes), length (4), reserved zeros (2), all little-endian, then data.

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use crate::Error;

/// Bytes before the data of a record.
pub(super) const HEADER: usize = 8;

/// Type of the record that every e2store file begins with; its bytes read "e2".
pub(super) const VERSION: u16 = 0x3265;
/// A header, RLP in a framed Snappy stream.
pub(super) const COMPRESSED_HEADER: u16 = 0x03;
/// A body, RLP in a framed Snappy stream.
pub(super) const COMPRESSED_BODY: u16 = 0x04;
/// The receipts of a block, RLP in a framed Snappy stream.
pub(super) const COMPRESSED_RECEIPTS: u16 = 0x05;
/// Total difficulty after a block, 32 bytes, little-endian.
pub(super) const TOTAL_DIFFICULTY: u16 = 0x06;
/// Root over block hashes and total difficulties, 32 bytes.
pub(super) const ACCUMULATOR: u16 = 0x07;
/// First block number, relative offsets of all blocks, their count.
pub(super) const BLOCK_INDEX: u16 = 0x3266;

/// The records of one block, in order.
pub(super) const BLOCK_RECORDS: [u16; 4] =
    [COMPRESSED_HEADER, COMPRESSED_BODY, COMPRESSED_RECEIPTS, TOTAL_DIFFICULTY];

/// Appends the eight bytes before the data of a record.
pub(super) fn put_header(out: &mut Vec<u8>, kind: u16, len: u32) {
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
}

/// One record, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub kind: u16,
    pub data: &'a [u8],
    /// Offset of the record in its file.
    pub offset: u64,
}

/// Walks the records in a part of a file.
#[derive(Debug)]
pub(super) struct Records<'a> {
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

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
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
