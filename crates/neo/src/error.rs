//! Why an import failed: a block that is invalid or unreadable, or the dumps, the store, the
//! options or this machine.

use crate::fault::Fault;
use crate::logs::TransferError;
use crate::params::Difference;
use crate::types::{self, UInt256};
use blockmill_leveldb as leveldb;
use blockmill_verdict::{ConsumerError, FaultReport, Level, Shortfall, Status};
use std::fmt;

/// The error of an import.
#[derive(Debug)]
pub enum Error {
    /// A block is invalid or unreadable.
    Fault(Box<Fault>),
    /// The dumps cannot be read.
    Archive(blockmill_archive::Error),
    /// The store cannot be read or written.
    Store(blockmill_store::Error),
    /// The store has another chain or another level.
    OtherChain {
        /// The chain or level of the store.
        expected: String,
        /// The chain or level of the import.
        found: String,
    },
    /// The store has another configuration of the network.
    OtherConfiguration(Difference),
    /// The store cannot continue with this value of the option `blocks`.
    Blocks {
        /// The value that it requires, and the reason.
        expected: String,
        /// The requested value.
        found: &'static str,
    },
    /// The store cannot be unwound to this block.
    Unwind {
        /// The possible target.
        expected: String,
        /// The requested target.
        found: String,
    },
    /// The facts of the last commit cannot be decoded.
    StoredFacts(String),
    /// A record in the undo log cannot be decoded.
    StoredUndo {
        /// The height of its block.
        height: u32,
        /// The decode error.
        error: types::Error,
    },
    /// An entry of the table of transfers cannot be decoded.
    StoredTransfer(types::Error),
    /// A stored transfer names a missing execution of this block.
    StoredPlace(u32),
    /// The store has no executed blocks; its level.
    NotExecuted(Option<Level>),
    /// The neo-go database cannot be written.
    Database(leveldb::Error),
    /// The sink does not fit the requested level.
    Level(Level),
    /// The dumps begin in the middle of the chain, and the signers of their first block are
    /// unknown.
    NoBeginning {
        /// The required first block.
        expected: u32,
        /// The first block of the dumps.
        found: u32,
    },
    /// The block of `--assume-valid` is not in the dumps.
    NotThere(UInt256),
    /// The dumps have no block in the requested range.
    Empty,
    /// The configuration has an invalid genesis block.
    Genesis(types::Error),
    /// A stored block is not the committed one.
    StoredBlock {
        /// The height of its block.
        number: u64,
        /// The committed hash.
        expected: UInt256,
        /// The hash of the stored block; `None` if it cannot be read.
        found: Option<UInt256>,
    },
    /// The state trie cannot be built.
    Trie(blockmill_trie::update::Error),
    /// The stored state is not the committed one.
    StoredState {
        /// The committed state root.
        expected: UInt256,
        /// The root of the stored state.
        found: UInt256,
    },
    /// A stored application log cannot be decoded.
    StoredLog {
        /// The height of its block.
        height: u32,
        /// The decode error.
        error: types::Error,
    },
    /// The application logs of a batch exceed the limit of the store.
    LongLog(u32),
    /// All blocks that were read are valid, but the input is incomplete.
    Incomplete(Vec<Shortfall>),
    /// The consumer of verified blocks failed.
    Consumer(ConsumerError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Archive(error) => error.fmt(f),
            Self::Consumer(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::OtherChain { expected, found } => {
                write!(f, "a store takes blocks of one chain and one level only: ")?;
                write!(f, "expected {expected}, found {found}")
            }
            Self::OtherConfiguration(difference) => {
                write!(f, "the store was made with another configuration of the network: ")?;
                difference.fmt(f)
            }
            Self::Blocks { expected, found } => {
                write!(
                    f,
                    "the store cannot do this with its blocks: expected blocks={expected}, "
                )?;
                write!(f, "found blocks={found}")
            }
            Self::Unwind { expected, found } => {
                write!(f, "cannot take blocks back: expected {expected}, found {found}")
            }
            Self::NotExecuted(level) => {
                let found = level.map_or("one without a block", Level::name);
                write!(f, "expected a store of level execution, found {found}: a client needs ")?;
                f.write_str("state and logs, which `import --level execution` makes")
            }
            Self::Database(error) => error.fmt(f),
            Self::StoredFacts(_)
            | Self::StoredUndo { .. }
            | Self::StoredTransfer(_)
            | Self::StoredPlace(_)
            | Self::StoredBlock { .. }
            | Self::StoredState { .. }
            | Self::StoredLog { .. } => self.fmt_stored(f),
            Self::Level(level) => {
                let level = level.name();
                write!(f, "--level {level}: blocks are executed into a ledger, and others not")
            }
            Self::NoBeginning { expected, found } => {
                write!(
                    f,
                    "the dumps begin in the middle of the chain: expected block {expected}, "
                )?;
                write!(f, "which names the signers of the next, found block {found} first")
            }
            Self::NotThere(hash) => {
                write!(f, "--assume-valid {hash}: the dumps have no new block with this hash")
            }
            Self::Empty => f.write_str("the dumps have no block, or none in the range asked for"),
            Self::Genesis(error) => write!(f, "the configuration gives no first block: {error}"),
            Self::Trie(error) => write!(f, "state trie: {error}"),
            Self::LongLog(height) => {
                write!(f, "the application logs up to block {height} are longer than 4 GiB")
            }
            Self::Incomplete(shortfalls) => write_shortfalls(f, shortfalls),
        }
    }
}

fn write_shortfalls(f: &mut fmt::Formatter<'_>, shortfalls: &[Shortfall]) -> fmt::Result {
    f.write_str("the dumps are incomplete")?;
    if let Some(first) = shortfalls.first() {
        write!(f, ": {first}")?;
    }
    match shortfalls.len() {
        0 | 1 => Ok(()),
        more => write!(f, "; and {} more", more - 1),
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The corrupt part of a store.
    fn fmt_stored(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoredFacts(found) => {
                write!(f, "the manifest is damaged: expected what a commit of Neo blocks says, ")?;
                write!(f, "found {found}")
            }
            Self::StoredUndo { height, error } => {
                write!(f, "the undo log is damaged at block {height}: {error}")
            }
            Self::StoredTransfer(error) => write!(f, "a stored transfer is damaged: {error}"),
            Self::StoredPlace(height) => {
                write!(f, "a stored transfer is damaged: expected one of an execution of ")?;
                write!(f, "block {height}, found one of none")
            }
            Self::StoredBlock { number, expected, found } => {
                write!(f, "block {number} of the store is damaged: expected {expected}")?;
                match found {
                    Some(found) => write!(f, ", found {found}"),
                    None => f.write_str(", found nothing"),
                }
            }
            Self::StoredState { expected, found } => {
                write!(f, "the state of the store is damaged: expected root {expected}, ")?;
                write!(f, "found {found}")
            }
            Self::StoredLog { height, error } => {
                write!(f, "the application log of block {height} is damaged: {error}")
            }
            _ => Ok(()),
        }
    }

    /// The status of the error.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Fault(fault) => fault.status(),
            Self::Archive(error) => error.status(),
            Self::Consumer(error) => error.status,
            Self::Store(error) => error.status(),
            Self::Database(error) => error.status(),
            Self::OtherChain { .. }
            | Self::OtherConfiguration(_)
            | Self::Blocks { .. }
            | Self::Unwind { .. }
            | Self::Level(_)
            | Self::Genesis(_)
            | Self::NotExecuted(_)
            | Self::NotThere(_) => Status::Usage,
            Self::StoredBlock { .. }
            | Self::StoredState { .. }
            | Self::StoredLog { .. }
            | Self::StoredFacts(_)
            | Self::StoredTransfer(_)
            | Self::StoredPlace(_)
            | Self::StoredUndo { .. } => Status::Corrupt,
            Self::Trie(_) | Self::LongLog(_) => Status::Unrecognised,
            Self::Incomplete(_) | Self::NoBeginning { .. } => Status::Incomplete,
            Self::Empty => Status::Unrecognised,
        }
    }

    /// The shortfall of the dumps, if it is the cause of the error.
    pub(crate) fn shortfall(&self) -> Option<Shortfall> {
        match self {
            Self::Fault(fault) => fault.shortfall(),
            Self::Archive(error) if self.status() == Status::Incomplete => Some(error.into()),
            _ => None,
        }
    }

    /// The report of the error.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        match self {
            Self::Fault(fault) => fault.report(),
            Self::Store(error) => error.report(),
            other => FaultReport::new(other.to_string()),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl From<ConsumerError> for Error {
    fn from(error: ConsumerError) -> Self {
        Self::Consumer(error)
    }
}

impl From<blockmill_archive::Error> for Error {
    fn from(error: blockmill_archive::Error) -> Self {
        Self::Archive(error)
    }
}

impl From<leveldb::Error> for Error {
    fn from(error: leveldb::Error) -> Self {
        Self::Database(error)
    }
}

impl From<TransferError> for Error {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Store(error) => Self::Store(error),
            TransferError::Entry(error) => Self::StoredTransfer(error),
        }
    }
}

impl From<blockmill_trie::update::Error> for Error {
    fn from(error: blockmill_trie::update::Error) -> Self {
        Self::Trie(error)
    }
}

impl From<blockmill_store::Error> for Error {
    fn from(error: blockmill_store::Error) -> Self {
        Self::Store(error)
    }
}
