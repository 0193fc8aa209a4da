//! Errors of reading and writing archives, with their locations.

mod display;

use std::io;
use std::path::{Path, PathBuf};

use blockmill_verdict::{Location, ShortfallKind, Status};

use crate::compression::{Compression, CompressionFault};

/// What went wrong. Each variant that concerns bytes names the location, what stands there, what
/// was expected and what was found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to open, read, write or rename a file.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as in "cannot open".
        action: &'static str,
        /// The system's answer.
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
        /// Bytes that are there.
        available: u64,
    },
    /// A file begins with other bytes than its format demands.
    BadMagic {
        /// The location.
        location: Location,
        /// What was expected, in words or hex.
        expected: &'static str,
        /// The bytes that are there, at most 8.
        found: Vec<u8>,
    },
    /// A record, an index entry or a field is not what the format demands.
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
    /// An index points outside of the data, or contradicts it.
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
        /// Why.
        reason: String,
    },
    /// A checksum does not agree.
    Crc {
        /// The location of the checksummed data.
        location: Location,
        /// What the data is.
        what: &'static str,
        /// The checksum that is stored.
        expected: u32,
        /// The checksum of the data.
        found: u32,
    },
    /// Compressed data cannot be unpacked; the location counts unpacked bytes.
    Compressed {
        /// How far it unpacked.
        location: Location,
        /// How it is compressed.
        compression: Compression,
        /// Why.
        fault: CompressionFault,
    },
    /// The user asked to stop while a file was unpacked or a pipe was waited for.
    Stopped {
        /// The file or pipe.
        path: PathBuf,
    },
    /// Data of another program in a form that this one does not read.
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to give instead.
        instead: &'static str,
    },
    /// A file in an older layout of a format, which is not read.
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to give instead.
        instead: &'static str,
    },
    /// RLP is not what the format demands; `source` counts from the location.
    Rlp {
        /// Where the outermost item begins.
        location: Location,
        /// What the item is.
        what: &'static str,
        /// Why, and how far from the location.
        source: blockmill_rlp::Error,
    },
    /// An item announces more bytes than any genuine one has.
    TooLarge {
        /// The location.
        location: Location,
        /// What the item is.
        what: &'static str,
        /// The most that is read.
        limit: u64,
        /// What the item announces.
        announced: u64,
    },
    /// A block does not follow the one before it.
    Gap {
        /// The number that should follow.
        expected: u64,
        /// The number that is there.
        found: u64,
        /// The file of the block before.
        before: PathBuf,
        /// The location of the block that does not follow.
        location: Location,
    },
    /// A block of a number that was read before is another one.
    Repeated {
        /// Its number.
        number: u64,
        /// The hash of the block that was read before.
        expected: Box<[u8; 32]>,
        /// Its own; the same where only the bodies differ.
        found: Box<[u8; 32]>,
        /// The location of the block that was read before.
        before: Box<Location>,
        /// Its own location.
        location: Location,
    },
    /// Something is not there that other parts of the archive speak of.
    Missing {
        /// The location that speaks of it, or where it should be.
        location: Location,
        /// What is missing.
        what: &'static str,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A store that is read as an archive cannot be read.
    Store {
        /// What the error says of the store, or of this machine.
        status: Status,
        /// The error of the store.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No archive format that this program knows.
    UnknownFormat {
        /// The file or folder.
        path: PathBuf,
        /// What was found there.
        found: String,
    },
    /// The paths hold archives of different formats or networks, or several ancient folders.
    Mixed {
        /// The first one.
        first: PathBuf,
        /// What it is.
        expected: String,
        /// The one that does not go with it.
        second: PathBuf,
        /// What that is.
        found: String,
    },
    /// A path that is neither a file nor a folder nor a pipe: a device, a socket.
    Special {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// A writer lacks what its format demands, or was given blocks that do not fit.
    Unwritable {
        /// What is being written.
        path: PathBuf,
        /// What the format demands.
        expected: String,
        /// What was given.
        found: String,
    },
}

impl Error {
    /// Turns a system error into [`Error::Io`]; for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_path_buf(), action, source }
    }

    /// Says that offsets count unpacked bytes where a file was `compression`-compressed.
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

    /// What the error says of the archive, or of this machine.
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } => Status::of_io(source),
            Self::Store { status, .. } => *status,
            // a block that comes again lacks nothing, and does not follow
            Self::Gap { expected, found, .. } if found < expected => Status::Invalid,
            Self::Repeated { .. } => Status::Invalid,
            Self::Gap { .. }
            | Self::Missing { .. }
            | Self::Truncated { .. }
            | Self::Compressed { fault: CompressionFault::Cut, .. } => Status::Incomplete,
            Self::UnknownFormat { .. } | Self::Unsupported { .. } => Status::Unrecognised,
            Self::Stopped { .. } => Status::Interrupted,
            Self::Compressed { fault: CompressionFault::Window, .. }
            | Self::Foreign { .. }
            | Self::Mixed { .. }
            | Self::Special { .. }
            | Self::Unwritable { .. } => Status::Usage,
            _ => Status::Corrupt,
        }
    }

    /// Which kind of shortfall the error is, if the archive lacks something.
    pub fn shortfall_kind(&self) -> ShortfallKind {
        match self {
            Self::Gap { .. } | Self::Missing { .. } => ShortfallKind::MissingBlocks,
            Self::Truncated { .. } | Self::Compressed { fault: CompressionFault::Cut, .. } => {
                ShortfallKind::Cut
            }
            _ => ShortfallKind::CorruptRecord,
        }
    }

    /// Where in the archive the fault is, when it has an offset.
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

/// Where two files join, and where two parts of one do that were verified apart: block `found`, at
/// `location`, is the one after the last one of `before`.
///
/// # Errors
/// It is not the `expected` one.
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
