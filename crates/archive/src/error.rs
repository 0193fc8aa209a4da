//! Errors of reading and writing archives, with their locations.

mod display;

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use blockmill_verdict::{Location, ShortfallKind, Status};

use crate::compression::{Compression, CompressionFault};

/// An error of reading or writing an archive. Each variant about bytes has the location, the item,
/// what was expected and what was found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed to open, read, write or rename a file.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The attempted action, as in "cannot open".
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file ends inside an item.
    Truncated {
        /// Where the item begins.
        location: Location,
        /// What the item is.
        what: &'static str,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that the file has.
        available: u64,
    },
    /// A file begins with other bytes than its format requires.
    BadMagic {
        /// The location.
        location: Location,
        /// The expected bytes, in words or hex.
        expected: &'static str,
        /// The bytes found, at most 8.
        found: Vec<u8>,
    },
    /// A record, an index entry or a field violates the format.
    BadRecord {
        /// The location.
        location: Location,
        /// What the record is.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// An index points outside the data or contradicts it.
    Index {
        /// The location of the index entry.
        location: Location,
        /// What the entry points to.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Snappy data cannot be decompressed.
    Snappy {
        /// The location of the compressed item.
        location: Location,
        /// What the item is.
        what: &'static str,
        /// The reason.
        reason: String,
    },
    /// A checksum does not match.
    Crc {
        /// The location of the checksummed data.
        location: Location,
        /// What the data is.
        what: &'static str,
        /// The stored checksum.
        expected: u32,
        /// The checksum of the data.
        found: u32,
    },
    /// Compressed data cannot be unpacked; the location counts unpacked bytes.
    Compressed {
        /// The first unpacked byte that is missing.
        location: Location,
        /// The compression of the file.
        compression: Compression,
        /// The reason.
        fault: CompressionFault,
    },
    /// The user requested a stop while a file was unpacked or a pipe was read.
    Stopped {
        /// The file or pipe.
        path: PathBuf,
    },
    /// Data of another program, in a format that is not read.
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// What it is.
        what: Cow<'static, str>,
        /// What to give instead.
        instead: Cow<'static, str>,
    },
    /// A file in an older layout of a format. Older layouts are not read.
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: Cow<'static, str>,
        /// What to give instead.
        instead: Cow<'static, str>,
    },
    /// RLP violates the format. Offsets in `source` are relative to the location.
    Rlp {
        /// Where the outermost item begins.
        location: Location,
        /// What the item is.
        what: &'static str,
        /// The reason, and the offset from the location.
        source: blockmill_rlp::Error,
    },
    /// An item announces more bytes than any valid item has.
    TooLarge {
        /// The location.
        location: Location,
        /// What the item is.
        what: &'static str,
        /// The largest size that is read.
        limit: u64,
        /// The announced size.
        announced: u64,
    },
    /// A block does not follow the one before it.
    Gap {
        /// The number that was expected.
        expected: u64,
        /// The number of the block found.
        found: u64,
        /// The file of the block before; empty if it is not known.
        before: PathBuf,
        /// The location of the block that does not follow.
        location: Location,
    },
    /// A block differs from the block of the same number that was read before.
    Repeated {
        /// The number of both blocks.
        number: u64,
        /// The hash of the block that was read before.
        expected: Box<[u8; 32]>,
        /// The hash of this block. It is the same if only the bodies differ.
        found: Box<[u8; 32]>,
        /// The location of the block that was read before.
        before: Box<Location>,
        /// The location of this block.
        location: Location,
    },
    /// Something is not there that other parts of the archive speak of.
    Missing {
        /// The location that refers to the missing part, or where it was expected.
        location: Location,
        /// What is missing.
        what: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A store that is read as an archive is corrupt or cannot be read.
    Store {
        /// The status of the store's error.
        status: Status,
        /// The error of the store.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The content is no known archive format.
    UnknownFormat {
        /// The file or folder.
        path: PathBuf,
        /// A description of the content.
        found: String,
    },
    /// The paths hold archives of different formats or networks, or several ancient folders.
    Mixed {
        /// The first archive.
        first: PathBuf,
        /// What it is.
        expected: String,
        /// The archive that does not belong to the first one.
        second: PathBuf,
        /// The format and network of the second archive.
        found: String,
    },
    /// The path is neither a file nor a folder nor a pipe, but a device or a socket.
    Special {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// A writer lacks data that its format requires, or got blocks that do not follow each other.
    Unwritable {
        /// The output.
        path: PathBuf,
        /// What the format requires.
        expected: String,
        /// What the writer got.
        found: String,
    },
}

impl Error {
    /// Converts an error of the operating system to [`Error::Io`]; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_path_buf(), action, source }
    }

    /// Marks offsets as counts of unpacked bytes if the file is compressed.
    pub(crate) fn unpacked_if(mut self, compression: Option<Compression>) -> Self {
        let location = match &mut self {
            Self::Truncated { location, .. }
            | Self::BadMagic { location, .. }
            | Self::BadRecord { location, .. }
            | Self::Index { location, .. }
            | Self::Snappy { location, .. }
            | Self::Crc { location, .. }
            | Self::Rlp { location, .. }
            | Self::TooLarge { location, .. }
            | Self::Gap { location, .. }
            | Self::Repeated { location, .. } => location,
            _ => return self,
        };
        location.unpacked |= compression.is_some();
        self
    }

    /// The status of a run that ends with this error.
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } => Status::of_io(source),
            Self::Store { status, .. } => *status,
            // a repeated block lacks nothing, but does not follow
            Self::Gap { expected, found, .. } if found < expected => Status::Invalid,
            Self::Repeated { .. } => Status::Invalid,
            Self::Gap { .. }
            | Self::Missing { .. }
            | Self::Truncated { .. }
            | Self::Compressed { fault: CompressionFault::Cut, .. } => Status::Incomplete,
            Self::UnknownFormat { .. } | Self::Unsupported { .. } => Status::Unrecognised,
            Self::Stopped { .. } => Status::Interrupted,
            Self::Compressed {
                fault: CompressionFault::Window | CompressionFault::Refused(_),
                ..
            }
            | Self::Foreign { .. }
            | Self::Mixed { .. }
            | Self::Special { .. }
            | Self::Unwritable { .. } => Status::Usage,
            _ => Status::Corrupt,
        }
    }

    /// What is in a zip file that is sound and not read.
    pub(crate) fn refused_packing(&self) -> Option<&str> {
        match self {
            Self::Compressed { fault: CompressionFault::Refused(found), .. } => Some(found),
            _ => None,
        }
    }

    /// The kind of shortfall, if the archive is incomplete or corrupt.
    pub fn shortfall_kind(&self) -> ShortfallKind {
        match self {
            Self::Gap { .. } | Self::Missing { .. } => ShortfallKind::MissingBlocks,
            Self::Truncated { .. } | Self::Compressed { fault: CompressionFault::Cut, .. } => {
                ShortfallKind::Cut
            }
            _ => ShortfallKind::CorruptRecord,
        }
    }

    /// The location in the archive, if the error has an offset.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Truncated { location, .. }
            | Self::BadMagic { location, .. }
            | Self::BadRecord { location, .. }
            | Self::Index { location, .. }
            | Self::Snappy { location, .. }
            | Self::Crc { location, .. }
            | Self::Compressed { location, .. }
            | Self::Rlp { location, .. }
            | Self::TooLarge { location, .. }
            | Self::Gap { location, .. }
            | Self::Repeated { location, .. }
            | Self::Missing { location, .. } => Some(location),
            Self::Io { .. }
            | Self::Store { .. }
            | Self::Stopped { .. }
            | Self::Foreign { .. }
            | Self::Unsupported { .. }
            | Self::UnknownFormat { .. }
            | Self::Mixed { .. }
            | Self::Special { .. }
            | Self::Unwritable { .. } => None,
        }
    }
}

/// Checks that two files join, or two parts of a file that were verified separately: block `found`,
/// at `location`, comes after the last block of `before`.
///
/// # Errors
///
/// Returns [`Error::Gap`] if `found` is not `expected`.
pub fn expect_next(
    expected: u64,
    before: &Path,
    found: u64,
    location: Location,
) -> Result<(), Error> {
    if found != expected {
        let before = before.to_path_buf();
        return Err(Error::Gap { expected, found, before, location });
    }
    Ok(())
}
