//! Cuts a file into chunks of whole RLP lists.

use blockmill_verdict::Location;
use std::path::Path;
use std::sync::Arc;

use blockmill_rlp::ErrorKind;

use super::{Packed, item_kind};
use crate::input::Input;
use crate::{ChunkLimit, Compression, Error, Format};

/// Bytes that are read beyond what the last chunk needed. The part of them that belongs to the
/// next chunk is copied, so they are few against a chunk of 2,048 headers (1.1 MB).
const STEP: usize = 64 << 10;

/// The lists of one file, chunk by chunk.
#[derive(Debug)]
pub(crate) struct Items {
    input: Input,
    file: Arc<Path>,
    what: &'static str,
    max_item: usize,
    /// Offset of the next chunk's first byte.
    offset: u64,
    /// Bytes read beyond the last chunk.
    carry: Vec<u8>,
    /// Bytes of the last chunk: what the next one probably needs.
    last_len: usize,
    /// `input.disk_bytes()` at the end of the last chunk.
    disk_bytes: u64,
    /// The error behind the last good list, and then the end.
    fault: Option<Error>,
    ended: bool,
}

impl Items {
    /// Opens a file of `format`, an RLP export or a header stream.
    pub fn open(format: Format, path: &Path) -> Result<Self, Error> {
        let (what, max_item) = item_kind(format);
        Ok(Self {
            input: Input::open(path)?,
            file: path.into(),
            what,
            max_item,
            offset: 0,
            carry: vec![],
            last_len: 0,
            disk_bytes: 0,
            fault: None,
            ended: false,
        })
    }

    /// The same from the list at `offset` on.
    pub fn open_at(format: Format, path: &Path, offset: u64) -> Result<Self, Error> {
        let mut items = Self::open(format, path)?;
        items.input.skip(offset)?;
        items.offset = offset;
        Ok(items)
    }

    /// How the file is compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.input.compression()
    }

    /// Reads the next chunk; false at the end. Good lists before a fault come first; the call
    /// after them returns the error, and the calls after that false.
    ///
    /// `into.bytes` is read over without being cleared, so that a buffer that goes round is not
    /// filled with zeros each time.
    pub fn read(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<bool, Error> {
        into.ends.clear();
        into.file = Some(self.file.clone());
        into.unpacked = self.input.is_compressed();
        into.offset = self.offset;
        if let Some(error) = self.fault.take() {
            self.ended = true;
            return Err(error);
        }
        if self.ended {
            return Ok(false);
        }
        let result = self.fill(limit, into);
        let disk_bytes = self.input.disk_bytes();
        into.disk_bytes = disk_bytes - self.disk_bytes;
        self.disk_bytes = disk_bytes;
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

    /// Reads until the chunk is full or the file ends, and leaves whole lists in `into`, also when
    /// it fails behind them.
    fn fill(&mut self, limit: ChunkLimit, into: &mut Packed) -> Result<(), Error> {
        let bytes = &mut into.bytes;
        let mut filled = self.carry.len();
        if bytes.len() < filled {
            bytes.resize(filled, 0);
        }
        bytes[..filled].copy_from_slice(&self.carry);
        let mut walked = 0;
        let result = loop {
            match self.walk(limit, &bytes[..filled], &mut walked, &mut into.ends) {
                Ok(Some(needed)) => match self.read_step(bytes, filled, walked) {
                    Ok(0) if filled == walked => break Ok(()),
                    Ok(0) => {
                        let available = (filled - walked) as u64;
                        let (location, what) = (self.location(walked), self.what);
                        break Err(Error::Truncated { location, what, needed, available });
                    }
                    Ok(count) => filled += count,
                    Err(error) => break Err(error),
                },
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.carry.clear();
        self.carry.extend_from_slice(&bytes[walked..filled]);
        bytes.truncate(walked);
        self.offset += walked as u64;
        self.last_len = walked;
        result
    }

    /// Reads once. Asks for as much as the last chunk had, else for as much as is there of an
    /// unfinished list: memory stays below a constant times what was read.
    fn read_step(
        &mut self,
        bytes: &mut Vec<u8>,
        filled: usize,
        walked: usize,
    ) -> Result<usize, Error> {
        let step = self.last_len.saturating_sub(filled).max(filled - walked).max(STEP);
        if bytes.len() < filled + step {
            bytes.resize(filled + step, 0);
        }
        self.input.read(&mut bytes[filled..filled + step], self.offset + filled as u64)
    }

    /// Appends the ends of whole lists until the chunk is full (None) or bytes are missing (how
    /// many the unfinished list needs). Only prefixes are looked at.
    fn walk(
        &self,
        limit: ChunkLimit,
        bytes: &[u8],
        walked: &mut usize,
        ends: &mut Vec<u32>,
    ) -> Result<Option<u64>, Error> {
        while ends.is_empty() || (ends.len() < limit.blocks && *walked < limit.bytes) {
            let needed = match blockmill_rlp::Reader::new(&bytes[*walked..]).item() {
                Ok(item) if !item.is_list => {
                    return Err(self.rlp_error(*walked, 0, ErrorKind::ExpectedList));
                }
                Ok(item) if item.raw.len() <= self.max_item => {
                    *walked += item.raw.len();
                    ends.push(*walked as u32);
                    continue;
                }
                Ok(item) => item.raw.len() as u64,
                Err(blockmill_rlp::Error { kind: ErrorKind::Truncated { needed, .. }, .. }) => {
                    // counted from behind the first byte, unless not even that is there
                    let first = u64::from(bytes.len() > *walked);
                    needed.saturating_add(first)
                }
                Err(blockmill_rlp::Error { offset, kind }) => {
                    return Err(self.rlp_error(*walked, offset, kind));
                }
            };
            if needed > self.max_item as u64 {
                return Err(Error::TooLarge {
                    location: self.location(*walked),
                    what: self.what,
                    limit: self.max_item as u64,
                    announced: needed,
                });
            }
            return Ok(Some(needed));
        }
        Ok(None)
    }

    fn location(&self, walked: usize) -> Location {
        let offset = self.offset + walked as u64;
        Location { file: self.file.to_path_buf(), offset, unpacked: self.input.is_compressed() }
    }

    fn rlp_error(&self, walked: usize, offset: usize, kind: ErrorKind) -> Error {
        let source = blockmill_rlp::Error { offset, kind };
        Error::Rlp { location: self.location(walked), what: self.what, source }
    }
}
