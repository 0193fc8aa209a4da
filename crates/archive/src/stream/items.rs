//! Cuts a file into chunks of whole RLP lists.

use std::path::Path;

use blockmill_rlp::ErrorKind;

use super::{ListFormat, Packed};
use crate::compression::Compression;
use crate::input::{Batches, Filled, Start};
use crate::{ChunkLimit, Error};

/// The lists of one file, chunk by chunk.
#[derive(Debug)]
pub(crate) struct Items {
    batches: Batches,
    format: &'static ListFormat,
    /// The error after the last good list; the file counts as ended after it.
    fault: Option<Error>,
    ended: bool,
}

impl Items {
    /// Opens a file of `format`.
    pub fn open(format: &'static ListFormat, path: &Path) -> Result<Self, Error> {
        Ok(Self { batches: Batches::open(path)?, format, fault: None, ended: false })
    }

    /// Opens a file of `format` at the list at `offset`.
    pub fn open_at(format: &'static ListFormat, path: &Path, offset: u64) -> Result<Self, Error> {
        let mut items = Self::open(format, path)?;
        items.batches.skip(offset)?;
        Ok(items)
    }

    /// How the file is compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.batches.compression()
    }

    /// Reads the next chunk; false at the end. If a list is corrupt, the good lists before it come
    /// first, the next call returns the error, and later calls return false.
    ///
    /// `into.bytes` is overwritten without being cleared, so that a reused buffer is not filled
    /// with zeros each time.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error> {
        into.ends.clear();
        let start = self.batches.start();
        into.file = Some(start.file.clone());
        into.unpacked = start.unpacked;
        into.offset = start.offset;
        if let Some(error) = self.fault.take() {
            self.ended = true;
            return Err(error);
        }
        if self.ended {
            return Ok(false);
        }
        let result = self.fill(limit, into);
        into.disk_bytes = self.batches.take_disk_bytes();
        match result {
            Err(error) if into.ends.is_empty() => {
                self.ended = true;
                return Err(error);
            }
            Err(error) => self.fault = Some(error),
            Ok(()) => {}
        }
        Ok(!into.ends.is_empty())
    }

    /// Reads until the chunk is full or the file ends. `into` has the whole lists, also if a later
    /// one is an error.
    fn fill(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<(), Error> {
        let (format, ends) = (self.format, &mut into.ends);
        let mut needed = 0;
        let (used, result) = self.batches.fill(&mut into.bytes, |start, bytes, used| {
            let more = cut(format, limit, start, bytes, used, ends)?;
            needed = more.unwrap_or(0);
            Ok(more.is_none())
        });
        into.bytes.truncate(used);
        match result? {
            Filled::Whole | Filled::AtEnd(0) => Ok(()),
            Filled::AtEnd(rest) => {
                let (location, what) = (self.batches.start().location(0), format.noun);
                Err(Error::Truncated { location, what, needed, available: rest as u64 })
            }
        }
    }
}

/// Appends the ends of whole lists until the chunk is full (`None`) or bytes are missing (the
/// length of the unfinished list). Only the prefixes of the lists are decoded.
fn cut(
    format: &ListFormat,
    limit: ChunkLimit,
    start: &Start,
    bytes: &[u8],
    used: &mut usize,
    ends: &mut Vec<u32>,
) -> Result<Option<u64>, Error> {
    let rlp_error = |used: usize, offset: usize, kind: ErrorKind| {
        let source = blockmill_rlp::Error { offset, kind };
        Error::Rlp { location: start.location(used), what: format.noun, source }
    };
    while ends.is_empty() || (ends.len() < limit.blocks && *used < limit.bytes) {
        let needed = match blockmill_rlp::Reader::new(&bytes[*used..]).item() {
            Ok(item) if !item.is_list => {
                return Err(rlp_error(*used, 0, ErrorKind::ExpectedList));
            }
            Ok(item) if item.raw.len() <= format.max_bytes => {
                *used += item.raw.len();
                ends.push(*used as u32);
                continue;
            }
            Ok(item) => item.raw.len() as u64,
            Err(blockmill_rlp::Error { kind: ErrorKind::Truncated { needed, .. }, .. }) => {
                // counted from the second byte, if there is a first one
                let first = u64::from(bytes.len() > *used);
                needed.saturating_add(first)
            }
            Err(blockmill_rlp::Error { offset, kind }) => {
                return Err(rlp_error(*used, offset, kind));
            }
        };
        if needed > format.max_bytes as u64 {
            return Err(Error::TooLarge {
                location: start.location(*used),
                what: format.noun,
                limit: format.max_bytes as u64,
                announced: needed,
            });
        }
        return Ok(Some(needed));
    }
    Ok(None)
}
