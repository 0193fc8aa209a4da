//! Reads a file in batches of whole items, for formats without an index. This is the only place
//! where a buffer grows while a file is read.

use std::path::Path;
use std::sync::Arc;

use blockmill_verdict::Location;

use super::Input;
use crate::Error;
use crate::compression::Compression;

/// Bytes that are read beyond the length of the last batch. The part of them that belongs to the
/// next batch is copied, so they are few compared with a batch of 2,048 headers (1.1 MB).
const STEP: usize = 64 << 10;

/// A file that is cut into batches of whole items.
///
/// Memory stays below a constant times the bytes read, whatever length an item announces.
#[derive(Debug)]
pub(crate) struct Batches {
    input: Input,
    start: Start,
    /// Bytes read beyond the last batch.
    carry: Vec<u8>,
    /// Length of the last batch: what the next one probably needs.
    last_len: usize,
    /// `input.disk_bytes()` at the end of the last batch.
    disk_bytes: u64,
}

/// Where a batch starts.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub file: Arc<Path>,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Whether offsets count the bytes that a compressed file unpacks to.
    pub unpacked: bool,
}

impl Start {
    /// The location of a byte of the batch.
    pub fn location(&self, at: usize) -> Location {
        let offset = self.offset + at as u64;
        Location { file: self.file.to_path_buf(), offset, unpacked: self.unpacked }
    }
}

/// Why a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// It has all items that were wanted.
    Whole,
    /// The file ends. So many of its bytes are left after the last whole item.
    AtEnd(usize),
}

impl Batches {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let input = Input::open(path)?;
        let start = Start { file: path.into(), offset: 0, unpacked: input.is_compressed() };
        Ok(Self { input, start, carry: vec![], last_len: 0, disk_bytes: 0 })
    }

    /// Skips the first `count` bytes of a file of which nothing was read.
    pub fn skip(&mut self, count: u64) -> Result<(), Error> {
        self.input.skip(count)?;
        self.start.offset = count;
        Ok(())
    }

    /// How the file is compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.input.compression()
    }

    /// Where the next batch starts.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Bytes read from disk since the last call.
    pub fn take_disk_bytes(&mut self) -> u64 {
        let before = std::mem::replace(&mut self.disk_bytes, self.input.disk_bytes());
        self.disk_bytes - before
    }

    /// Reads one batch into `bytes`, whose old content is overwritten without being cleared first.
    ///
    /// `cut` gets the bytes read so far and moves its last argument past the whole items in them.
    /// It returns true if the batch is complete, and false if it needs more bytes. Returns the
    /// length of the whole items, which are valid after an error, too.
    pub fn fill(
        &mut self,
        bytes: &mut Vec<u8>,
        mut cut: impl FnMut(&Start, &[u8], &mut usize) -> Result<bool, Error>,
    ) -> (usize, Result<Filled, Error>) {
        let mut filled = self.carry.len();
        if bytes.len() < filled {
            bytes.resize(filled, 0);
        }
        bytes[..filled].copy_from_slice(&self.carry);
        let mut used = 0;
        let result = loop {
            match cut(&self.start, &bytes[..filled], &mut used) {
                Ok(true) => break Ok(Filled::Whole),
                Ok(false) => match self.read_step(bytes, filled, used) {
                    Ok(0) => break Ok(Filled::AtEnd(filled - used)),
                    Ok(count) => filled += count,
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        self.carry.clear();
        self.carry.extend_from_slice(&bytes[used..filled]);
        self.start.offset += used as u64;
        self.last_len = used;
        (used, result)
    }

    /// The bytes read beyond the last batch.
    pub fn rest(&self) -> &[u8] {
        &self.carry
    }

    /// Whether the file ends with the last batch.
    pub fn is_at_end(&mut self) -> Result<bool, Error> {
        Ok(self.carry.is_empty() && self.input.read(&mut [0], self.start.offset)? == 0)
    }

    /// Reads once: as much as the last batch had, else as much as there is of the unfinished item.
    fn read_step(
        &mut self,
        bytes: &mut Vec<u8>,
        filled: usize,
        used: usize,
    ) -> Result<usize, Error> {
        let step = self.last_len.saturating_sub(filled).max(filled - used).max(STEP);
        if bytes.len() < filled + step {
            bytes.resize(filled + step, 0);
        }
        self.input.read(&mut bytes[filled..filled + step], self.start.offset + filled as u64)
    }
}
