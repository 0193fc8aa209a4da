//! Writes a dump.

use std::path::Path;

use super::{Head, MAX_BLOCK, height_of};
use crate::Error;
use crate::stream::Sink;

/// A writer of the blocks of one dump, in order.
#[derive(Debug)]
pub struct DumpWriter {
    sink: Sink,
    head: Head,
    written: u32,
}

impl DumpWriter {
    /// Creates a file that appears at `path` when it is finished, compressed if `gzip`. The number
    /// of blocks is at the start of the file, so `head` states it now.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be created, and [`Error::Unwritable`] if it exists
    /// or if a dump that is not incremental does not begin with block 0 or 1.
    pub fn create(path: &Path, head: Head, gzip: bool) -> Result<Self, Error> {
        if !head.incremental && head.first > 1 {
            return Err(Error::Unwritable {
                path: path.to_path_buf(),
                expected: "block 0 or 1 first in a dump that is not incremental".into(),
                found: format!("block {}", head.first),
            });
        }
        let mut sink = Sink::create(path, gzip)?;
        sink.write(&head.bytes())?;
        Ok(Self { sink, head, written: 0 })
    }

    fn unwritable(&self, expected: String, found: String) -> Error {
        Error::Unwritable { path: self.sink.path().to_path_buf(), expected, found }
    }

    /// Appends the next block.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if the block has another height than expected, is too long, or
    /// exceeds the stated number of blocks; and [`Error::Io`] if it cannot be written.
    pub fn append(&mut self, block: &[u8]) -> Result<(), Error> {
        let expected = self.head.first.saturating_add(self.written);
        let found = height_of(block);
        if found != Some(expected) || self.written == self.head.count {
            let last = self.head.last();
            let found = found.map_or("no block".into(), |found| format!("block {found}"));
            return Err(self.unwritable(format!("block {expected} of up to {last}"), found));
        }
        let length = u32::try_from(block.len()).ok().filter(|length| *length <= MAX_BLOCK);
        let Some(length) = length else {
            let found = format!("{} bytes", block.len());
            return Err(self.unwritable(format!("a block of at most {MAX_BLOCK} bytes"), found));
        };
        self.sink.write(&length.to_le_bytes())?;
        self.sink.write(block)?;
        self.written += 1;
        Ok(())
    }

    /// Completes the file, makes it durable and gives it its name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if blocks are missing, and [`Error::Io`] if the file cannot be
    /// written or renamed.
    pub fn finish(self) -> Result<(), Error> {
        if self.written != self.head.count {
            let (expected, found) = (self.head.count, self.written);
            return Err(self.unwritable(format!("{expected} blocks"), format!("{found}")));
        }
        self.sink.finish()
    }
}
