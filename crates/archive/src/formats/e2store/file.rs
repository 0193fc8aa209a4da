//! An open e2store file, which is read at offsets.

use blockmill_platform::input_file::InputFile;
use blockmill_verdict::{Location, counted};
use std::path::Path;
use std::sync::Arc;

use super::{HEADER, Records, VERSION};
use crate::input::Seekable;
use crate::{Compression, Error};

/// An open file. Offsets are in the unpacked file.
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: InputFile,
    /// Compression of the whole file, in addition to the Snappy data in it.
    pub compression: Option<Compression>,
    pub path: Arc<Path>,
    /// Bytes.
    pub size: u64,
}

impl RecordFile {
    /// Opens `path`, and unpacks it to a temporary file if it is compressed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let seekable = Seekable::open(path)?;
        let (file, compression) = (seekable.file().clone(), seekable.compression);
        let size = file.length().map_err(Error::io("cannot read", path))?;
        Ok(Self { file, compression, path: path.into(), size })
    }

    /// Appends the bytes from `start` to `end`. The caller has compared both with the file's size.
    pub fn read(&self, start: u64, end: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        let (before, needed) = (into.len(), end - start);
        into.resize(before + needed as usize, 0);
        let available = self.file.read_full_at(&mut into[before..], start);
        let available = available.map_err(Error::io("cannot read", &self.path))? as u64;
        if available < needed {
            let (location, what) = (self.location(start), "e2store file");
            return Err(Error::Truncated { location, what, needed, available });
        }
        Ok(())
    }

    /// Checks that the file begins with the version record.
    pub fn expect_version(&self) -> Result<(), Error> {
        let mut bytes = vec![];
        self.read(0, HEADER as u64, &mut bytes)?;
        let version = Records::new(&bytes, 0, &self.path).expect(VERSION, "version record")?;
        if version.data.is_empty() {
            return Ok(());
        }
        let found = format!("{} bytes", version.data.len());
        Err(self.bad(0, "version record", "no data", found))
    }

    /// Type of the record at `at` and the offset after it, which is at most `limit`.
    pub fn record_at(&self, at: u64, limit: u64) -> Result<(u16, u64), Error> {
        let mut bytes = vec![];
        let available = limit.saturating_sub(at);
        self.read(at, at + available.min(HEADER as u64), &mut bytes)?;
        let short = |needed| {
            let (location, what) = (self.location(at), "e2store record");
            Error::Truncated { location, what, needed, available }
        };
        let Some([k0, k1, l0, l1, l2, l3, reserved @ ..]) = bytes.first_chunk::<HEADER>() else {
            return Err(short(HEADER as u64));
        };
        if *reserved != [0, 0] {
            let found = u16::from_le_bytes(*reserved).to_string();
            return Err(self.bad(at, "reserved bytes of an e2store record", "0", found));
        }
        let needed = HEADER as u64 + u64::from(u32::from_le_bytes([*l0, *l1, *l2, *l3]));
        if needed > available {
            return Err(short(needed));
        }
        Ok((u16::from_le_bytes([*k0, *k1]), at + needed))
    }

    /// Names the records of unknown types, which are not checked; `None` if there are none.
    pub fn others(&self, count: usize) -> Option<String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let records = counted(count as u64, "record");
        (count > 0).then(|| format!("{name}: {records} of unknown types"))
    }

    /// Counts the records of unknown types from `at` to the first record of type `end`, or to
    /// `limit`. Returns the offset after them too. A record of a `known` type is an error: it
    /// belongs to no block of the index.
    pub fn count_others(
        &self,
        at: u64,
        limit: u64,
        end: u16,
        known: &[u16],
    ) -> Result<(usize, u64), Error> {
        const MOST: usize = 1024;
        let mut next = at;
        for others in 0..MOST {
            if next == limit {
                return Ok((others, next));
            }
            let (kind, after) = self.record_at(next, limit)?;
            if kind == end {
                return Ok((others, next));
            }
            if known.contains(&kind) {
                let (what, expected) = ("what follows the last block", "the end of the blocks");
                let found = format!("a record of type {kind:#06x}");
                return Err(self.bad(next, what, expected, found));
            }
            next = after;
        }
        let what = "records after the last block";
        Err(self.bad(at, what, format!("at most {MOST}"), "more"))
    }

    /// A location in this file.
    pub fn location(&self, offset: u64) -> Location {
        Location::new(&*self.path, offset)
    }

    /// The error of a record that violates the format.
    pub fn bad(
        &self,
        offset: u64,
        what: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        let (expected, found) = (expected.into(), found.into());
        Error::BadRecord { location: self.location(offset), what, expected, found }
    }
}
