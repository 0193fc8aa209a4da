//! Why an import failed: a block that was refused, or the files, the store, the options or this
//! machine.

mod text;

use crate::BlockHash;
use crate::datadir;
use crate::fault::Fault;
use crate::index::FileError;
use crate::multiset::Unproven;
use blockmill_verdict::{ConsumerError, FaultReport, Status};
use std::io;
use std::path::{Path, PathBuf};

/// Why an import failed.
#[derive(Debug)]
pub enum Error {
    /// A block was refused.
    Fault(Box<Fault>),
    /// The files cannot be read.
    Archive(blockmill_archive::Error),
    /// The store cannot be read or written.
    Store(blockmill_store::Error),
    /// The index file cannot be read or written.
    Index(FileError),
    /// A system call failed for a file or folder.
    System {
        /// The action, as in "make".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The store is of another network, or its last block is not among the given blocks.
    OtherChain {
        /// The chain of the store.
        expected: String,
        /// The chain of the import.
        found: String,
    },
    /// A datadir of Bitcoin Core cannot be written or read.
    Core(datadir::Error),
    /// The store is inconsistent.
    Corrupt(String),
    /// Undo data or unspent coins are not those of the chain.
    Unproven(Box<Unproven>),
    /// The consumer of verified blocks failed.
    Consumer(ConsumerError),
    /// The run was stopped before the first block was verified.
    Stopped,
    /// The files begin in the middle of a chain, at this block.
    NoBeginning(BlockHash),
    /// The given height of the first block is wrong.
    OtherHeight {
        /// The height according to the blocks.
        expected: u32,
        /// The height that was given.
        found: u32,
    },
    /// No block follows the genesis block.
    Empty,
    /// The block whose chain is assumed valid is not in the files.
    AssumedMissing(BlockHash),
    /// Shards cannot be verified with a set of coins, only with the coin multiset hash.
    ShardsHaveNoCoins,
    /// These block files are not in a datadir with undo data.
    NoUndo(PathBuf),
    /// The folder has no unspent coins.
    NoCoins(PathBuf),
    /// A file was changed after the first step of its shard.
    FileChanged {
        /// The file.
        path: PathBuf,
        /// Its properties in the first step.
        expected: String,
        /// Its properties now.
        found: String,
    },
    /// Documents of another merge, or of other files.
    OtherDocuments(&'static str),
    /// A document of a shard is inconsistent, or does not agree with its file.
    Inconsistent {
        /// The block file of the shard.
        path: PathBuf,
        /// The field.
        field: String,
        /// The value according to the other fields or the file.
        expected: String,
        /// The value of the field.
        found: String,
    },
    /// The parts of the coin multiset hash prove nothing about the chain, for this reason.
    NothingProven(Box<FaultReport>),
    /// A shard is of a file that is not among those that are merged.
    OtherFiles {
        /// The file.
        found: PathBuf,
    },
    /// Block files of a store were removed.
    SourcesGone {
        /// The store.
        store: PathBuf,
        /// Number of removed files.
        gone: usize,
        /// Number of files.
        of: usize,
        /// The first removed file.
        first: PathBuf,
    },
}

impl std::error::Error for Error {}

impl Error {
    /// The status of a run with this error.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Fault(fault) => fault.status(),
            Self::Archive(error) => error.status(),
            Self::Store(error) => error.status(),
            Self::Index(error) => Status::of_io(&error.source),
            Self::System { source, .. } => Status::of_io(source),
            Self::Core(error) => error.status(),
            Self::Consumer(error) => error.status,
            Self::OtherChain { .. } | Self::AssumedMissing(_) => Status::Usage,
            Self::NoBeginning(_)
            | Self::OtherHeight { .. }
            | Self::OtherFiles { .. }
            | Self::NoUndo(_)
            | Self::NoCoins(_)
            | Self::OtherDocuments(_)
            | Self::ShardsHaveNoCoins => Status::Usage,
            Self::Corrupt(_)
            | Self::Unproven(_)
            | Self::FileChanged { .. }
            | Self::Inconsistent { .. } => Status::Corrupt,
            Self::SourcesGone { .. } => Status::Incomplete,
            Self::Stopped => Status::Interrupted,
            Self::Empty | Self::NothingProven(_) => Status::Unrecognised,
        }
    }

    /// The error as a report.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        match self {
            Self::Fault(fault) => fault.report(),
            Self::Store(error) => error.report(),
            Self::Unproven(unproven) => unproven.report(),
            Self::NothingProven(why) => {
                FaultReport { message: self.to_string(), ..(**why).clone() }
            }
            Self::Inconsistent { path, field, expected, found } => FaultReport {
                file: Some(path.clone()),
                rule: Some(field.clone()),
                expected: Some(expected.clone()),
                found: Some(found.clone()),
                ..FaultReport::new(self.to_string())
            },
            other => FaultReport::new(other.to_string()),
        }
    }

    /// Turns a system error into [`Error::System`]; for `map_err`.
    pub(crate) fn system(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, path: path.to_path_buf(), source }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl From<Unproven> for Error {
    fn from(unproven: Unproven) -> Self {
        Self::Unproven(Box::new(unproven))
    }
}

impl From<blockmill_archive::Error> for Error {
    fn from(error: blockmill_archive::Error) -> Self {
        Self::Archive(error)
    }
}

impl From<ConsumerError> for Error {
    fn from(error: ConsumerError) -> Self {
        Self::Consumer(error)
    }
}

impl From<datadir::Error> for Error {
    fn from(error: datadir::Error) -> Self {
        Self::Core(error)
    }
}

impl From<blockmill_store::Error> for Error {
    fn from(error: blockmill_store::Error) -> Self {
        Self::Store(error)
    }
}
