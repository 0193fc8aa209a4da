//! Why a datadir cannot be written or read, and where.

use crate::coins::compress::Malformed;
use crate::{BlockHash, Hash};
use blockmill_leveldb as leveldb;
use blockmill_verdict::{Reversed, Status};
use std::io;
use std::path::{Path, PathBuf};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as in "cannot open".
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The datadir cannot be made there, or cannot get its name.
    #[error("{0}")]
    Output(blockmill_archive::Error),
    /// A file is not what its format demands.
    #[error("{} at {offset}: {source}", path.display())]
    Malformed {
        /// The file, or the folder of the database.
        path: PathBuf,
        /// Where it begins: bytes into the file, or the index of the entry in the database.
        offset: u64,
        /// What is wrong.
        source: Malformed,
    },
    /// Undo data does not fit its checksum.
    #[error(
        "{} at {offset}: expected undo data of checksum {}, found {}",
        path.display(), Reversed(expected), Reversed(found)
    )]
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
    #[error("{}: {what} is missing", path.display())]
    Missing {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// A block does not follow the one before.
    #[error("block {height}: expected parent {expected}, found {found}")]
    NotConnected {
        /// Its height.
        height: u32,
        /// The hash of the block before.
        expected: BlockHash,
        /// The parent that it names.
        found: BlockHash,
    },
    /// What was given to write makes no sense.
    #[error("{}{source}", height.map_or(String::new(), |height| format!("block {height}: ")))]
    Given {
        /// The height of the block, if it is about one.
        height: Option<u32>,
        /// What is wrong.
        source: Malformed,
    },
    /// A database cannot be written or read.
    #[error(transparent)]
    Database(#[from] leveldb::Error),
}

impl Error {
    /// What the error says of the datadir, or of this machine.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } => Status::of_io(source),
            Self::Output(source) => source.status(),
            Self::Database(source) => source.status(),
            _ => Status::Corrupt,
        }
    }

    /// The file, and the byte in it, where they are known.
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

    /// Of undo data: what was expected and found, for whoever names file and offset already.
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

    /// Adds the path and what was tried.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Error::Io { path: path.to_path_buf(), action, source }
    }

    /// Adds file and offset.
    pub(super) fn at(path: &Path, offset: u64) -> impl FnOnce(Malformed) -> Self {
        move |source| Error::Malformed { path: path.to_path_buf(), offset, source }
    }
}
