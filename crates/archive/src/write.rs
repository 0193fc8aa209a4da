//! Writes chunks into an archive of any format.

use std::path::Path;

use crate::row::{WriteBlocks, WriteOptions};
use crate::{Chunk, Error, Format};

/// A writer of an archive of any format.
#[derive(Debug)]
pub struct ArchiveWriter(Box<dyn WriteBlocks>);

impl ArchiveWriter {
    /// Begins an archive at `path`: a file for RLP exports and header streams, a folder for the
    /// other formats, which is created if it is missing.
    ///
    /// # Errors
    /// Returns [`Error::Unwritable`] for a format that only an import writes, and [`Error::Io`] if
    /// the file or folder cannot be created.
    pub fn create(format: Format, path: &Path, options: &WriteOptions) -> Result<Self, Error> {
        let unwritable = || Error::Unwritable {
            path: path.to_path_buf(),
            expected: "a format of archives".into(),
            found: format!("a {format}, which only an import writes"),
        };
        let create = format.row().create.ok_or_else(unwritable)?;
        Ok(Self(create(path, options)?))
    }

    /// Appends the blocks of `chunk`, which follow the blocks written before. The chunk must have
    /// what the format stores: bodies for every format but header streams; receipts, in the
    /// format's own encoding, and total difficulties for era1 and ancient folders.
    ///
    /// # Errors
    /// Returns [`Error::Unwritable`] if the chunk lacks a part that the format stores or does not
    /// follow, and [`Error::Io`] if the file cannot be written.
    pub fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.0.append(chunk)
    }

    /// Completes the archive and makes it durable. A writer that is dropped before leaves no
    /// archive.
    ///
    /// # Errors
    /// Returns [`Error::Unwritable`] if there is nothing to write, and [`Error::Io`] if the file
    /// cannot be written or renamed.
    pub fn finish(self) -> Result<(), Error> {
        self.0.finish()
    }
}
