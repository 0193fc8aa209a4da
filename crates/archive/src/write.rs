//! The front door for writing: chunks into an archive of any format.

use std::path::Path;

use crate::headers::HeaderStreamWriter;
use crate::rlp_export::RlpExportWriter;
use crate::{Chunk, Error, Format, era1, freezer};

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

/// Writes an archive of any format.
#[derive(Debug)]
pub enum ArchiveWriter {
    /// A folder of era1 files.
    Era1(Box<era1::Writer>),
    /// An ancient folder.
    Freezer(Box<freezer::Writer>),
    /// An RLP export.
    RlpExport(RlpExportWriter),
    /// A header stream.
    HeaderStream(HeaderStreamWriter),
}

impl ArchiveWriter {
    /// Begins an archive at `path`: a file for RLP exports and header streams, a folder for the
    /// others, which is created when missing.
    pub fn create(format: Format, path: &Path, options: &WriteOptions) -> Result<Self, Error> {
        Ok(match format {
            Format::Era1 => {
                Self::Era1(Box::new(era1::Writer::create(path, &options.network, options.replace)?))
            }
            Format::Freezer => Self::Freezer(Box::new(freezer::Writer::create(path)?)),
            Format::Store => {
                return Err(Error::Unwritable {
                    path: path.to_path_buf(),
                    expected: "a format of archives".into(),
                    found: "a store, which only an import makes".into(),
                });
            }
            Format::RlpExport => Self::RlpExport(RlpExportWriter::create(path, options.gzip)?),
            Format::HeaderStream => {
                Self::HeaderStream(HeaderStreamWriter::create(path, options.gzip)?)
            }
        })
    }

    /// Appends the blocks of `chunk`, which follow those before. The chunk must hold what the
    /// format stores: bodies for all but header streams; receipts, in the format's own encoding,
    /// and total difficulties for era1 and ancient folders.
    pub fn append(&mut self, chunk: &Chunk) -> Result<(), Error> {
        match self {
            Self::Era1(writer) => writer.append(chunk),
            Self::Freezer(writer) => writer.append(chunk),
            Self::RlpExport(writer) => writer.append(chunk),
            Self::HeaderStream(writer) => writer.append(chunk),
        }
    }

    /// Makes the archive complete and durable. Without it nothing usable is left behind.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Self::Era1(writer) => writer.finish(),
            Self::Freezer(writer) => writer.finish(),
            Self::RlpExport(writer) => writer.finish(),
            Self::HeaderStream(writer) => writer.finish(),
        }
    }
}
