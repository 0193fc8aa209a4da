//! Errors of reading and writing datadirs.

use crate::coins::compress::Malformed;
use crate::{BlockHash, Hash};
use blockmill_leveldb as leveldb;
use blockmill_verdict::{Reversed, Status};
use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a datadir.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system returned an error.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed action, such as "cannot open".
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The datadir cannot be created there, or cannot be renamed.
    #[error("{0}")]
    Output(blockmill_archive::Error),
    /// A file violates its format.
    #[error("{} at {offset}: {source}", path.display())]
    Malformed {
        /// The file, or the folder of the database.
        path: PathBuf,
        /// The offset in the file, or the index of the entry in the database.
        offset: u64,
        /// The violation.
        source: Malformed,
    },
    /// Undo data does not match its checksum.
    #[error(
        "{} at {offset}: expected undo data of checksum {}, found {}",
        path.display(), Reversed(expected), Reversed(found)
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Offset of the data.
        offset: u64,
        /// The checksum that is stored.
        expected: Hash,
        /// The checksum of the data.
        found: Hash,
    },
    /// A required file or entry is missing.
    #[error("{}: {what} is missing", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// The missing item.
        what: String,
    },
    /// A block does not follow its predecessor.
    #[error("block {height}: expected parent {expected}, found {found}")]
    NotConnected {
        /// Its height.
        height: u32,
        /// The hash of its predecessor.
        expected: BlockHash,
        /// The parent that it names.
        found: BlockHash,
    },
    /// The input of a writer is invalid.
    #[error("{}{source}", height.map_or(String::new(), |height| format!("block {height}: ")))]
    Given {
        /// The height of the block, if it is about one.
        height: Option<u32>,
        /// The violation.
        source: Malformed,
    },
    /// A database cannot be written or read.
    #[error(transparent)]
    Database(#[from] leveldb::Error),
}

impl Error {
    /// The status of the error.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } => Status::of_io(source),
            Self::Output(source) => source.status(),
            Self::Database(source) => source.status(),
            _ => Status::Corrupt,
        }
    }

    /// The file and the offset, if known.
    #[must_use]
    pub fn place(&self) -> (Option<PathBuf>, Option<u64>) {
        match self {
            Self::Io { path, .. } | Self::Missing { path, .. } => (Some(path.clone()), None),
            Self::Malformed { path, offset, .. } | Self::Checksum { path, offset, .. } => {
                (Some(path.clone()), Some(*offset))
            }
            Self::Database(leveldb::Error::Malformed { path, offset, .. }) => {
                (Some(path.clone()), Some(*offset))
            }
            Self::Database(leveldb::Error::Missing { path, .. }) => (Some(path.clone()), None),
            _ => (None, None),
        }
    }

    /// The expected and the found value of an error about undo data, without file and offset.
    pub(crate) fn of_undo(&self) -> (String, String) {
        let other = |found: String| ("undo data".to_owned(), found);
        match self {
            Self::Checksum { expected, found, .. } => {
                let expected = format!("undo data of checksum {}", Reversed(expected));
                (expected, Reversed(found).to_string())
            }
            Self::Malformed {
                source: Malformed::Truncated { what, needed, available }, ..
            } => (format!("{what} of {needed} bytes"), available.to_string()),
            Self::Malformed { source, .. } => other(source.to_string()),
            error => other(error.to_string()),
        }
    }

    /// Adds path and action; for `map_err`.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Error::Io { path: path.to_path_buf(), action, source }
    }

    /// Adds file and offset; for `map_err`.
    pub(super) fn at(path: &Path, offset: u64) -> impl FnOnce(Malformed) -> Self {
        move |source| Error::Malformed { path: path.to_path_buf(), offset, source }
    }
}
