//! Errors of reading and writing databases, with their locations.

use blockmill_verdict::{Digits, Malformed, Status};
use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The attempted action, as in "cannot open".
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A file violates its format.
    #[error("{} at {offset}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Offset of the wrong part in the file.
        offset: u64,
        /// The reason.
        source: Malformed,
    },
    /// The file that the database asks for is missing.
    #[error("{}: {what} is missing", path.display())]
    Missing {
        /// The file that should have it.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// The key of an entry is not greater than the previous one.
    #[error("expected a key after {}, found {}", Digits(before), Digits(key))]
    Unsorted {
        /// The key before.
        before: Vec<u8>,
        /// The key.
        key: Vec<u8>,
    },
}

impl Error {
    /// The status of a run that ends with this error.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } => Status::of_io(source),
            Self::Malformed { .. } | Self::Missing { .. } | Self::Unsorted { .. } => {
                Status::Corrupt
            }
        }
    }

    /// Adds the path and what was tried.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Error::Io { path: path.to_path_buf(), action, source }
    }

    /// Adds file and offset.
    pub(crate) fn at(path: &Path, offset: u64) -> impl FnOnce(Malformed) -> Self {
        move |source| Error::Malformed { path: path.to_path_buf(), offset, source }
    }
}
