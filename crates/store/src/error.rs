//! Errors of a store: location, expected and found value.

use std::{
    io,
    path::{Path, PathBuf},
};

use blockmill_verdict::{FaultReport, Status, grouped};

use crate::crash::CrashPoint;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The verb of the operation: "read", "write", "open", ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process (or another handle of this one) has the store open for writing.
    #[error("{} is in use by another process", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The folder holds no store.
    #[error("{} holds no store: no manifest", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// Another version of this program wrote the store.
    #[error(
        "{} has the format {found}, and this version reads {expected}: import again into a new \
         folder, or use the version that wrote it", path.display()
    )]
    OtherFormat {
        /// The file with that format.
        path: PathBuf,
        /// The format that is read.
        expected: String,
        /// The format found.
        found: String,
    },
    /// Bytes on disk differ from what the store wrote.
    #[error(
        "{} at offset {offset}: corrupt {what}: expected {expected}, found {found}",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte position in that file.
        offset: u64,
        /// The item at that position.
        what: &'static str,
        /// The expected value.
        expected: String,
        /// The value found.
        found: String,
    },
    /// An argument does not fit the store: a gap, a wrong column, a wrong tip.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// The property that does not fit.
        what: &'static str,
        /// The expected value.
        expected: String,
        /// The value given.
        found: String,
    },
    /// Body and receipts of a block were removed, because the store keeps the last blocks only.
    #[error(
        "block {} was removed: this store keeps the last {} blocks, {} to {}",
        grouped(*block), grouped(last.saturating_sub(*first) + 1), grouped(*first), grouped(*last)
    )]
    Removed {
        /// Its number.
        block: u64,
        /// The first block that is whole.
        first: u64,
        /// The last block.
        last: u64,
    },
    /// An earlier write failed, so memory and disk may differ. Open the store again.
    #[error("an earlier write to {} failed; open the store again", path.display())]
    Failed {
        /// The folder of the store.
        path: PathBuf,
    },
    /// The store was opened for reading only.
    #[error("{} is open for reading only", path.display())]
    ReadOnly {
        /// The folder of the store.
        path: PathBuf,
    },
    /// The run stopped at the crash point that [`crate::StoreOptions::crash_at`] names.
    #[error("stopped at the crash point {0:?}")]
    Crash(CrashPoint),
}

/// Advice for a corrupt store.
pub const CORRUPTION_HINT: &str = "the store is corrupt, not what is imported: \
     `blockmill check DATA` reads all of it and says what is left and what repairs it";

/// Advice for a removed block.
pub const REMOVED_HINT: &str = "an import of all blocks into another folder has it";

impl Error {
    /// The parts of the error.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        let mut report = FaultReport::new(self.to_string());
        if let Self::Corrupt { path, offset, expected, found, .. } = self {
            (report.file, report.offset) = (Some(path.clone()), Some(*offset));
            (report.expected, report.found) = (Some(expected.clone()), Some(found.clone()));
            report.hint = Some(CORRUPTION_HINT.into());
        }
        if let Self::Removed { block, .. } = self {
            (report.block, report.hint) = (Some(*block), Some(REMOVED_HINT.into()));
        }
        report
    }

    /// The status of a run that ends with this error.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof => {
                Status::Corrupt
            }
            Self::Io { .. } | Self::Locked { .. } | Self::Failed { .. } => Status::Environment,
            Self::NoStore { .. }
            | Self::Mismatch { .. }
            | Self::Removed { .. }
            | Self::ReadOnly { .. } => Status::Usage,
            Self::OtherFormat { .. } => Status::Unrecognised,
            Self::Corrupt { .. } => Status::Corrupt,
            Self::Crash(_) => Status::Environment,
        }
    }
}

/// Names the failed action and the file of an [`io::Error`].
pub fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { action, path, source }
}

/// The error for a file that cannot be opened. One that is not there was there before: it is
/// corruption of the store, not trouble of the machine.
pub fn missing_or(source: io::Error, path: &Path) -> Error {
    if source.kind() != io::ErrorKind::NotFound {
        return Error::Io { action: "open", path: path.to_path_buf(), source };
    }
    Error::Corrupt {
        path: path.to_path_buf(),
        offset: 0,
        what: "file",
        expected: "a file of the store".into(),
        found: "no file of that name".into(),
    }
}

/// Bytes in hexadecimal digits, for messages.
pub fn hex(bytes: &[u8]) -> String {
    blockmill_verdict::Digits(bytes).to_string()
}

/// An [`Error::Mismatch`] from two printable values.
pub fn mismatch(what: &'static str, expected: impl ToString, found: impl ToString) -> Error {
    Error::Mismatch { what, expected: expected.to_string(), found: found.to_string() }
}
