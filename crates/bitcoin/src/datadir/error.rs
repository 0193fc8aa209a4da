//! Why a datadir cannot be written or read, and where.

use crate::coins::compress::Malformed;
use crate::{BlockHash, Hash};
use chain::{Digits, Reversed, Status};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as in "cannot open".
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The datadir cannot be made there, or cannot get its name.
    Output(archive::Error),
    /// A file is not what its format demands.
    Malformed {
        /// The file, or the folder of the database.
        path: PathBuf,
        /// Where it begins: bytes into the file, or the index of the entry in the database.
        offset: u64,
        /// What is wrong.
        source: Malformed,
    },
    /// Undo data does not fit its checksum.
    Checksum {
        /// The file.
        path: PathBuf,
        /// Where the data begins.
        offset: u64,
        /// The checksum that is stored.
        expected: Hash,
        /// The checksum of the data.
        found: Hash,
    },
    /// The file that the database asks for is missing, or an entry that it must have.
    Missing {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// A block does not follow the one before.
    NotConnected {
        /// Its height.
        height: u32,
        /// The hash of the block before.
        expected: BlockHash,
        /// The parent that it names.
        found: BlockHash,
    },
    /// What was given to write makes no sense.
    Given {
        /// The height of the block, if it is about one.
        height: Option<u32>,
        /// What is wrong.
        source: Malformed,
    },
    /// An entry does not sort behind the one before.
    Unsorted {
        /// The key before.
        before: Vec<u8>,
        /// The key.
        key: Vec<u8>,
    },
}

impl Error {
    /// What the error says of the datadir, or of this machine.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } => Status::of_io(source),
            Self::Output(source) => source.status(),
            _ => Status::Damage,
        }
    }

    /// Adds the path and what was tried.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Error::Io { path: path.to_path_buf(), action, source }
    }

    /// Adds file and offset.
    pub(super) fn at(path: &Path, offset: u64) -> impl FnOnce(Malformed) -> Self {
        move |source| Error::Malformed { path: path.to_path_buf(), offset, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, action, source } => write!(f, "{action} {}: {source}", path.display()),
            Self::Output(source) => source.fmt(f),
            Self::Malformed { path, offset, source } => {
                write!(f, "{} at {offset}: {source}", path.display())
            }
            Self::Checksum { path, offset, expected, found } => write!(
                f,
                "{} at {offset}: expected undo data of checksum {}, found {}",
                path.display(),
                Reversed(expected),
                Reversed(found)
            ),
            Self::Missing { path, what } => write!(f, "{}: {what} is missing", path.display()),
            Self::NotConnected { height, expected, found } => {
                write!(f, "block {height}: expected parent {expected}, found {found}")
            }
            Self::Given { height: Some(height), source } => write!(f, "block {height}: {source}"),
            Self::Given { height: None, source } => source.fmt(f),
            Self::Unsorted { before, key } => {
                let (before, key) = (Digits(before), Digits(key));
                write!(f, "expected a key behind {before}, found {key}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Malformed { source, .. } | Self::Given { source, .. } => Some(source),
            _ => None,
        }
    }
}
