//! What stops an import: the block, the location, the rule, what was expected and found.

mod text;

use crate::datadir;
use crate::header::rules;
use crate::index::{FileError, Tree};
use crate::script::ScriptFault;
use crate::sum::Unproven;
use crate::unit::documents::Told;
use crate::{BlockHash, Rule, Violation, script, types};
use blockmill_archive::blkdat::BlockFiles;
use blockmill_pipeline::NotMade;
use blockmill_verdict::{FaultReport, Status};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a block is not accepted.
#[derive(Debug)]
pub enum Cause {
    /// Its bytes cannot be read.
    Archive(blockmill_archive::Error),
    /// Its bytes are not those of the header that was found there before.
    Changed {
        /// The header's hash in pass 1.
        expected: BlockHash,
        /// That of the bytes that stand there now.
        found: BlockHash,
    },
    /// It is no block in the network's encoding.
    Encoding(types::Error),
    /// Its header breaks a rule.
    Header(rules::Violation),
    /// It breaks a rule.
    Rule(Violation),
    /// A script fails.
    Script(ScriptFault),
    /// The signet's signature of the block does not hold.
    Solution(script::SolutionFault),
    /// What somebody else found who looked at the block.
    Told(Box<Told>),
}

/// A block that is not accepted. Everything before it has been verified.
#[derive(Debug)]
pub struct Fault {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
    /// The file that holds it.
    pub file: PathBuf,
    /// Where its first byte stands in the file.
    pub offset: u64,
    /// What is wrong.
    pub cause: Cause,
}

impl Fault {
    /// The fault of a block of the tree, which stands in one of `files`.
    pub(crate) fn at(files: &BlockFiles, tree: &Tree, block: u32, cause: Cause) -> Self {
        let record = tree.record(block);
        let file = record.and_then(|found| files.files().get(found.file as usize));
        Self {
            height: tree.base() + tree.height(block),
            hash: *tree.hash(block),
            file: file.map(|file| file.path().to_path_buf()).unwrap_or_default(),
            offset: record.map_or(0, |found| found.offset),
            cause,
        }
    }

    /// Can the fault lie in the stored bytes alone, so that another copy of the block with the same
    /// header may be good?
    pub fn is_damage(&self) -> bool {
        match &self.cause {
            Cause::Archive(_) | Cause::Changed { .. } | Cause::Encoding(_) => true,
            Cause::Rule(violation) => {
                // what the header's merkle root or the coinbase's commitment does not cover
                let rule = violation.rule;
                rule == Rule::MerkleRoot
                    || rule == Rule::RepeatedTransactions
                    || rule == Rule::WitnessNonce
                    || rule == Rule::WitnessCommitment
                    || rule == Rule::UnexpectedWitness
            }
            Cause::Header(_) | Cause::Script(_) | Cause::Solution(_) => false,
            Cause::Told(told) => told.is_damage,
        }
    }
}

impl Fault {
    /// Does the block break a rule, or are its bytes not what was written there?
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.cause {
            Cause::Archive(error) => error.status(),
            Cause::Changed { .. } | Cause::Encoding(_) => Status::Damage,
            Cause::Header(_) | Cause::Rule(_) | Cause::Script(_) | Cause::Solution(_) => {
                Status::Fault
            }
            Cause::Told(told) => told.status,
        }
    }

    /// Its parts.
    #[must_use]
    pub fn report(&self) -> FaultReport {
        let (rule, expected, found) = match &self.cause {
            Cause::Rule(violation) => {
                let Violation { rule, expected, found, .. } = violation;
                (Some(rule.tag()), Some(expected.clone()), Some(found.clone()))
            }
            Cause::Header(violation) => (Some(violation.rule()), None, None),
            Cause::Script(_) => (Some(Rule::Script.tag()), None, None),
            Cause::Told(told) => (told.rule.as_deref(), told.expected.clone(), told.found.clone()),
            _ => (None, None, None),
        };
        FaultReport {
            message: self.to_string(),
            block: Some(self.height.into()),
            hash: Some(self.hash.to_string()),
            file: Some(self.file.clone()),
            offset: Some(self.offset),
            rule: rule.map(str::to_owned),
            expected,
            found,
            hint: None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Changed { expected, found } => {
                write!(f, "the file has changed: expected header {expected}, found {found}")
            }
            Self::Encoding(error) => error.fmt(f),
            Self::Header(violation) => violation.fmt(f),
            Self::Rule(violation) => violation.fmt(f),
            Self::Script(fault) => write!(f, "{}: {fault}", Rule::Script.tag()),
            Self::Solution(fault) => write!(f, "bad-signet-blksig (BIP325): {fault}"),
            Self::Told(told) => f.write_str(&told.text),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (height, id) = (self.height, self.hash);
        let (file, offset, cause) = (self.file.display(), self.offset, &self.cause);
        write!(f, "block {height} ({id}), {file} at byte {offset}: {cause}")
    }
}

impl std::error::Error for Fault {}

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
    Damaged(String),
    /// Undo data or unspent coins are not those of the chain.
    Unproven(Box<Unproven>),
    /// What should be made of verified blocks cannot be, or cannot be kept.
    NotMade(NotMade),
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
    UnitsHaveNoCoins,
    /// These block files stand in no datadir, which has undo data.
    NoUndo(PathBuf),
    /// This is no folder of unspent coins.
    NoCoins(PathBuf),
    /// A file is not what it was when its unit's first step told its bytes.
    FileChanged {
        /// Which one.
        path: PathBuf,
        /// What was told of it.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Documents of another join, or of other files.
    OtherDocuments(&'static str),
    /// A document of a unit disagrees with itself, or with its file.
    Inconsistent {
        /// The block file of the unit.
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
    /// A unit is of a file that is not among those that are joined.
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
            Self::NotMade(error) => error.status,
            Self::OtherChain { .. } | Self::AssumedMissing(_) => Status::Usage,
            Self::NoBeginning(_)
            | Self::OtherHeight { .. }
            | Self::OtherFiles { .. }
            | Self::NoUndo(_)
            | Self::NoCoins(_)
            | Self::OtherDocuments(_)
            | Self::UnitsHaveNoCoins => Status::Usage,
            Self::Damaged(_)
            | Self::Unproven(_)
            | Self::FileChanged { .. }
            | Self::Inconsistent { .. } => Status::Damage,
            Self::SourcesGone { .. } => Status::Incomplete,
            Self::Stopped => Status::Interrupted,
            Self::Empty | Self::NothingProven(_) => Status::Unknown,
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

impl From<NotMade> for Error {
    fn from(error: NotMade) -> Self {
        Self::NotMade(error)
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
