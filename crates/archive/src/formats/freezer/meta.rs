//! The `.meta` file of a freezer table: an RLP list, padded with zeros by newer writers.

use blockmill_verdict::Location;
use std::path::Path;

use blockmill_rlp::Encode;

use crate::Error;

/// Bytes of the file as geth 1.17 writes it.
pub(super) const META_SIZE: usize = 32;

const WHAT: &str = "table metadata";

/// The metadata of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meta {
    /// geth 1.9 wrote no file.
    Absent,
    /// The first version: geth 1.11, for one.
    V1 {
        /// Items below this number are deleted or hidden.
        tail: u64,
    },
    /// The second version: geth 1.17, for one.
    V2 {
        /// Items below this number are deleted or hidden.
        tail: u64,
        /// Bytes of the index file that were safe on disk, with their data, when this was
        /// written. geth cuts off what follows.
        flushed: u64,
    },
}

impl Meta {
    /// Reads `bytes`, the content of the file `path`; only zeros may follow the list.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        let rlp = |source| Error::Rlp { location: Location::new(path, 0), what: WHAT, source };
        let mut outer = blockmill_rlp::Reader::new(bytes);
        let mut list = outer.list().map_err(rlp)?;
        let version = list.u64().map_err(rlp)?;
        let tail = list.u64().map_err(rlp)?;
        let meta = match version {
            1 => Self::V1 { tail },
            2 => Self::V2 { tail, flushed: list.u64().map_err(rlp)? },
            found => {
                let (location, expected) = (Location::new(path, 0), "version 1 or 2".into());
                let found = format!("version {found}");
                return Err(Error::BadRecord { location, what: WHAT, expected, found });
            }
        };
        list.finish().map_err(rlp)?;
        if outer.rest().iter().any(|byte| *byte != 0) {
            let location = Location::new(path, outer.offset() as u64);
            let (expected, found) = ("zeros after the list".into(), "other bytes".into());
            return Err(Error::BadRecord { location, what: WHAT, expected, found });
        }
        Ok(meta)
    }

    /// The file of a whole table: version 2, nothing hidden, `flushed` bytes of index.
    pub fn whole_table(flushed: u64) -> [u8; META_SIZE] {
        let list = [2, 0, flushed][..].encode();
        let mut file = [0; META_SIZE];
        file[..list.len()].copy_from_slice(&list);
        file
    }

    /// Items below this number are hidden; 0 when the table does not say.
    pub fn tail(self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::V1 { tail } | Self::V2 { tail, .. } => tail,
        }
    }

    /// Bytes of the index that count, when the table says.
    pub fn flushed(self) -> Option<u64> {
        match self {
            Self::V2 { flushed, .. } => Some(flushed),
            Self::Absent | Self::V1 { .. } => None,
        }
    }

    /// Version number; none without a file.
    pub fn version(self) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::V1 { .. } => Some(1),
            Self::V2 { .. } => Some(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<Meta, String> {
        Meta::parse(bytes, Path::new("headers.meta")).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_both_versions_padded_or_not() {
        assert_eq!(parse(&[0xc2, 0x01, 0x80]), Ok(Meta::V1 { tail: 0 }));
        assert_eq!(parse(&[0xc3, 0x01, 0x81, 0x80, 0]), Ok(Meta::V1 { tail: 128 }));
        let v2 = [0xc6, 0x02, 0x80, 0x83, 0x01, 0x80, 0x06];
        assert_eq!(parse(&v2), Ok(Meta::V2 { tail: 0, flushed: 98_310 }));
        assert_eq!(parse(&Meta::whole_table(98_310)), parse(&v2));
        assert_eq!(Meta::whole_table(98_310)[..7], v2);
    }

    #[test]
    fn the_largest_numbers_fit_the_file() {
        let flushed = u64::MAX;
        assert_eq!(parse(&Meta::whole_table(flushed)), Ok(Meta::V2 { tail: 0, flushed }));
    }

    #[test]
    fn rejects_other_versions_missing_fields_and_garbage() {
        let bad = |bytes: &[u8]| parse(bytes).unwrap_err();
        let version = "headers.meta at byte 0: table metadata: expected version 1 or 2, found \
                       version 3";
        assert_eq!(bad(&[0xc3, 0x03, 0x80, 0x80]), version);
        let padding = "headers.meta at byte 3: table metadata: expected zeros after the list, \
                       found other bytes";
        assert_eq!(bad(&[0xc2, 0x01, 0x80, 0x07]), padding);
        for bytes in [&[][..], &[0x80], &[0xc2, 0x02, 0x80], &[0xc3, 0x01, 0x80, 0x80], &[0xff]] {
            assert!(bad(bytes).contains("RLP"), "{bytes:02x?}");
        }
    }
}
