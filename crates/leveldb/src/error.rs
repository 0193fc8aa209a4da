//! Errors of reading and writing databases, with their locations.

use blockmill_verdict::{Digits, Status};
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
    #[error("expected a key behind {}, found {}", Digits(before), Digits(key))]
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

/// The reason why bytes are no part of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too early.
    #[error("{what}: expected {needed} bytes, found {available}")]
    Truncated {
        /// The part that was being read.
        what: &'static str,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// A number is larger than it can be.
    #[error("{what}: expected at most {limit}, found {found}")]
    TooLarge {
        /// The number.
        what: &'static str,
        /// The largest that was expected.
        limit: u64,
        /// The number that was found, or `u64::MAX` for a larger one.
        found: u64,
    },
    /// There are more or fewer items than there should be.
    #[error("expected {expected} {what}, found {found}")]
    Count {
        /// The counted unit.
        what: &'static str,
        /// How many were expected.
        expected: u64,
        /// How many were found.
        found: u64,
    },
    /// A number, a marker or a constant has the wrong value.
    #[error("{what}: expected {expected:#x}, found {found:#x}")]
    Unexpected {
        /// What it is.
        what: &'static str,
        /// What was expected.
        expected: u64,
        /// What was found.
        found: u64,
    },
}

/// Splits `N` bytes off the front.
pub(crate) fn take<'a, const N: usize>(
    from: &mut &'a [u8],
    what: &'static str,
) -> Result<&'a [u8; N], Malformed> {
    let found = Malformed::Truncated { what, needed: N as u64, available: from.len() as u64 };
    let (head, rest) = from.split_first_chunk().ok_or(found)?;
    *from = rest;
    Ok(head)
}

/// Splits a given number of bytes off the front.
pub(crate) fn take_slice<'a>(
    from: &mut &'a [u8],
    needed: u64,
    what: &'static str,
) -> Result<&'a [u8], Malformed> {
    let found = Malformed::Truncated { what, needed, available: from.len() as u64 };
    let needed = usize::try_from(needed).map_err(|_| found)?;
    let (head, rest) = from.split_at_checked(needed).ok_or(found)?;
    *from = rest;
    Ok(head)
}
