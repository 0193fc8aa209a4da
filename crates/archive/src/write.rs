//! The front door for writing: chunks into an archive of any format.

use std::fmt;
use std::path::Path;

use crate::{Chunk, Error, Format};

/// What some formats need to know besides the blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Compress an RLP export or a header stream with gzip.
    pub gzip: bool,
    /// The network's name, which begins the names of era1 files.
    pub network: String,
    /// era1: replace files of the same eras.
    pub replace: bool,
}

/// Writes an archive of one format.
pub(crate) trait WriteBlocks: fmt::Debug + Send {
    /// Appends the blocks of `chunk`, which follow those before.
    fn append(&mut self, chunk: &Chunk) -> Result<(), Error>;
    /// Makes the archive complete and durable.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

/// Writes an archive of any format.
#[derive(Debug)]
pub struct ArchiveWriter(Box<dyn WriteBlocks>);

impl ArchiveWriter {
    /// Begins an archive at `path`: a file for RLP exports and header streams, a folder for the
    /// others, which is created when missing.
    pub fn create(format: Format, path: &Path, options: &WriteOptions) -> Result<Self, Error> {
        let unwritable = || Error::Unwritable {
            path: path.to_path_buf(),
            expected: "a format of archives".into(),
            found: format!("a {format}, which only an import makes"),
        };
        let create = format.row().create.ok_or_else(unwritable)?;
        Ok(Self(create(path, options)?))
    }

    /// Appends the blocks of `chunk`, which follow those before. The chunk must hold what the
    /// format stores: bodies for all but header streams; receipts, in the format's own encoding,
    /// and total difficulties for era1 and ancient folders.
    pub fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        self.0.append(chunk)
    }

    /// Makes the archive complete and durable. Without it nothing usable is left behind.
    pub fn finish(self) -> Result<(), Error> {
        self.0.finish()
    }
}
