//! What stops an import: the block, the location, the rule, what was expected and found.

mod cause;
mod text;

use crate::BlockHash;
use crate::datadir;
use crate::index::FileError;
use crate::multiset::Unproven;
use blockmill_verdict::{ConsumerError, FaultReport, Status};
use std::io;
use std::path::{Path, PathBuf};

pub use cause::Cause;
pub(crate) use cause::fault_of_block;

/// A block that is not accepted.
pub type Fault = blockmill_verdict::Fault<Cause>;

/// Why an import ended before its end.
#[derive(Debug)]
pub enum Error {
    /// A block is not accepted.
    Fault(Box<Fault>),
    /// The files cannot be read at all.
    Archive(blockmill_archive::Error),
    /// The store cannot be read or written.
    Store(blockmill_store::Error),
    /// The index file cannot be read or written.
    Index(FileError),
    /// The system refused to do something with a file or folder.
    System {
        /// What was tried, as in "make".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The store is of another network, or its last block is not among the blocks given.
    OtherChain {
        /// What the store holds.
        expected: String,
        /// What was to be imported.
        found: String,
    },
    /// A datadir of Bitcoin Core cannot be written or read.
    Core(datadir::Error),
    /// What the store holds contradicts itself.
    Corrupt(String),
    /// Undo data or unspent coins are not those of the chain.
    Unproven(Box<Unproven>),
    /// The consumer of verified blocks failed.
    Consumer(ConsumerError),
    /// The user wanted an end before there was anything to keep.
    Stopped,
    /// The files begin in the middle of a chain, at this block.
    NoBeginning(BlockHash),
    /// A height was given for the first block that is not its own.
    OtherHeight {
        /// The height that the blocks say.
        expected: u32,
        /// The height that was given.
        found: u32,
    },
    /// No block follows the genesis block.
    Empty,
    /// The block whose chain is assumed valid is in none of the files.
    AssumedMissing(BlockHash),
    /// Coins are asked for where files are verified apart, but not by a sum.
    ShardsHaveNoCoins,
    /// These block files stand in no datadir, which has undo data.
    NoUndo(PathBuf),
    /// This is no folder of unspent coins.
    NoCoins(PathBuf),
    /// A file is not what it was when its shard's first step told its bytes.
    FileChanged {
        /// Which one.
        path: PathBuf,
        /// What was told of it.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Documents of another merge, or of other files.
    OtherDocuments(&'static str),
    /// A document of a shard disagrees with itself, or with its file.
    Inconsistent {
        /// The block file of the shard.
        path: PathBuf,
        /// The field.
        field: String,
        /// What the other fields or the file give.
        expected: String,
        /// What the field says.
        found: String,
    },
    /// The parts of the sum prove nothing of the chain, for this reason.
    NothingProven(Box<FaultReport>),
    /// A shard is of a file that is not among those that are merged.
    OtherFiles {
        /// The file.
        found: PathBuf,
    },
    /// Block files that a store was created from are no longer there.
    SourcesGone {
        /// The store.
        store: PathBuf,
        /// Files that are gone.
        gone: usize,
        /// All of them.
        of: usize,
        /// The first that is gone.
        first: PathBuf,
    },
}

impl std::error::Error for Error {}

impl Error {
    /// What the error says of the chain, the files, the store or this machine.
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

    /// Its parts.
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
