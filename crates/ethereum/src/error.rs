//! Why an import ended before its end: a block that is not accepted, or the archive, the store, the
//! options or this machine.

use crate::Hash;
use crate::fault::{Cause, Fault};
use crate::state::DiskError;
use blockmill_verdict::{ConsumerError, FaultReport, Hex, Level, Shortfall, Status};
use std::fmt;

/// Why an import ended before its end.
#[derive(Debug)]
pub enum Error {
    /// A block is not accepted.
    Fault(Box<Fault>),
    /// The archive cannot be read at all.
    Archive(blockmill_archive::Error),
    /// The store cannot be read or written.
    Store(blockmill_store::Error),
    /// The state on disk cannot be read or written.
    State(DiskError),
    /// The store holds another chain or another depth of verification.
    OtherChain {
        /// What the store holds.
        expected: String,
        /// What was to be imported.
        found: String,
    },
    /// Blocks of this archive cannot be executed.
    Execution {
        /// What is missing.
        lacks: String,
    },
    /// An option does not go with another, or with the store.
    Setting {
        /// The option and value that does.
        expected: String,
        /// What was asked for.
        found: String,
    },
    /// The archive has no block in the range that was asked for.
    Empty,
    /// The archive ends where the store begins, or before.
    Before {
        /// Number of the first block of the store.
        first: u64,
        /// Number of its last block.
        last: u64,
    },
    /// A block of the store is not what was written there.
    StoredBlock {
        /// Its number.
        number: u64,
        /// The hash that was committed.
        expected: Hash,
        /// The hash of what is there now; `None` if nothing is.
        found: Option<Hash>,
    },
    /// The state that the store keeps is not the one after a stored block.
    StoredState {
        /// The block's number.
        number: u64,
        /// The state root in its header.
        expected: Hash,
        /// The root of the state.
        found: Hash,
    },
    /// The state is that of a later block than the last one; the log does not lead back.
    StateAhead {
        /// The block of the state.
        state: u64,
        /// The last block of the store.
        blocks: u64,
    },
    /// The store cannot go back so far.
    Unwind {
        /// Where it can go back to, or what it lacks.
        expected: String,
        /// What was asked for.
        found: String,
    },
    /// The state is not kept twice, so there is nothing to repair it from.
    KeptOnce {
        /// What there is.
        found: String,
    },
    /// Every block that was read is good, and something is missing.
    Incomplete(Vec<Shortfall>),
    /// Block hashes that the user trusts are not in the archive.
    TrustedMissing(Vec<Hash>),
    /// The run was asked to stop, and what it found so far is of no use.
    Stopped,
    /// The consumer of verified blocks failed.
    Consumer(ConsumerError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Archive(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::State(error) => error.fmt(f),
            Self::OtherChain { expected, found } => {
                write!(f, "a store takes blocks of one chain and one level only: ")?;
                write!(f, "expected {expected}, found {found}")
            }
            Self::Execution { lacks } => {
                let level = Level::Execution.name();
                write!(f, "--level {level}: expected {lacks}; --level bodies needs none")
            }
            Self::Setting { expected, found } => {
                write!(f, "--with {found}: expected {expected}")
            }
            Self::Empty => f.write_str("the archive has no block, or none in the range asked for"),
            Self::Before { first, last } => {
                write!(f, "the archive has no block of the store's range or after it: ")?;
                write!(f, "expected block {}, found none from block {first} on", last + 1)
            }
            Self::StoredBlock { number, expected, found } => {
                write!(f, "block {number} of the store is damaged: expected {}", Hex(expected))?;
                match found {
                    Some(found) => write!(f, ", found {}", Hex(found)),
                    None => f.write_str(", found nothing"),
                }
            }
            Self::StoredState { number, expected, found } => {
                write!(f, "the state after block {number} of the store is damaged: ")?;
                write!(f, "expected root {}, found {}", Hex(expected), Hex(found))
            }
            Self::StateAhead { state, blocks } => {
                write!(f, "the state is of block {state}, and no log leads back to block {blocks}")
            }
            Self::Unwind { expected, found } => {
                write!(f, "block to go back to: expected {expected}, found {found}")
            }
            Self::KeptOnce { found } => {
                f.write_str("expected a store with values and nodes of its state ")?;
                write!(f, "(--with state=flat+trie), found {found}")
            }
            Self::Incomplete(shortfalls) => {
                f.write_str("the archive is incomplete")?;
                if let Some(first) = shortfalls.first() {
                    write!(f, ": {first}")?;
                }
                match shortfalls.len() {
                    0 | 1 => Ok(()),
                    more => write!(f, "; and {} more", more - 1),
                }
            }
            Self::Consumer(error) => error.fmt(f),
            Self::TrustedMissing(hashes) => {
                write!(f, "--trust: expected block {}", Hex(&hashes[0]))?;
                if hashes.len() > 1 {
                    write!(f, " and {} more", hashes.len() - 1)?;
                }
                f.write_str(", found no block of that hash in the range verified")
            }
            Self::Stopped => f.write_str("asked to stop"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// What the error says of the chain, the archive, the store or this machine.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Fault(fault) => fault.status(),
            Self::Archive(error) => error.status(),
            Self::Store(error) => error.status(),
            Self::State(error) => error.store().status(),
            Self::OtherChain { .. }
            | Self::Before { .. }
            | Self::Execution { .. }
            | Self::Setting { .. }
            | Self::Unwind { .. }
            | Self::KeptOnce { .. } => Status::Usage,
            Self::StoredBlock { .. } | Self::StoredState { .. } => Status::Corrupt,
            Self::StateAhead { .. } => Status::Corrupt,
            Self::Incomplete(_) => Status::Incomplete,
            Self::Empty => Status::Unrecognised,
            Self::TrustedMissing(_) => Status::Invalid,
            Self::Stopped => Status::Interrupted,
            Self::Consumer(error) => error.status,
        }
    }

    /// What the archive lacks, as far as that is what stopped the run.
    pub(crate) fn shortfall(&self) -> Option<Shortfall> {
        match self {
            Self::Fault(fault) => fault.shortfall(),
            Self::Archive(error) if self.status() == Status::Incomplete => Some(error.into()),
            _ => None,
        }
    }

    /// The number of the block after a gap.
    pub(crate) fn block_after_gap(&self) -> Option<u64> {
        let Self::Fault(fault) = self else { return None };
        fault.cause.block_after_gap()
    }

    /// Its parts.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        match self {
            Self::Fault(fault) => fault.report(),
            Self::Store(error) => error.report(),
            Self::State(error) => error.store().report(),
            other => FaultReport::new(other.to_string()),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault.cause {
            Cause::State(error) => Self::State(error),
            _ => Self::Fault(Box::new(fault)),
        }
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

impl From<blockmill_store::Error> for Error {
    fn from(error: blockmill_store::Error) -> Self {
        Self::Store(error)
    }
}
