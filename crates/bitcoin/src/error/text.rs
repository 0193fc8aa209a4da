//! Errors as sentences.

use super::Error;
use crate::coins::SpentCoins;
use std::fmt;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Archive(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Index(error) => error.fmt(f),
            Self::Core(error) => error.fmt(f),
            Self::Unproven(unproven) => unproven.fmt(f),
            Self::Consumer(error) => error.fmt(f),
            Self::System { action, path, source } => {
                write!(f, "cannot {action} {}: {source}", path.display())
            }
            Self::OtherChain { expected, found } => {
                write!(f, "the store continues from its own chain only: expected {expected}, ")?;
                write!(f, "found {found}")
            }
            Self::Corrupt(what) => write!(f, "the store is corrupt: {what}"),
            Self::NoBeginning(first) => {
                write!(f, "level execution needs the blocks from the genesis block on, and ")?;
                write!(f, "these files begin with block {first}; levels headers and ")?;
                f.write_str("bodies verify it and what follows by themselves")
            }
            Self::OtherHeight { expected: 0, found } => {
                write!(f, "--from {found}: these files follow the genesis block, whose height is 0")
            }
            Self::OtherHeight { expected, found } => {
                write!(f, "--from {found}: the first block in these files has height {expected}")
            }
            Self::Stopped => f.write_str("stopped on request"),
            Self::Empty => f.write_str("no block in these files follows the genesis block"),
            Self::AssumedMissing(hash) => {
                write!(f, "--assume-valid: block {hash} is not in these files")
            }
            Self::ShardsHaveNoCoins => {
                f.write_str("level: expected headers or bodies for shards, or execution with ")?;
                write!(f, "{} and a shard of unspent coins, found execution", SpentCoins::Multiset)
            }
            Self::NoUndo(path) => {
                let path = path.display();
                write!(f, "{path}: expected a block file in a datadir, with undo data, found it ")?;
                f.write_str("alone")
            }
            Self::NoCoins(path) => {
                write!(f, "{}: expected the chainstate of a datadir, or the ", path.display())?;
                f.write_str("coins of a store")
            }
            Self::FileChanged { path, expected, found } => {
                let path = path.display();
                write!(f, "{path} was changed while it was verified in shards: expected ")?;
                write!(f, "{expected}, found {found}")
            }
            Self::OtherDocuments(expected) => write!(f, "expected {expected}, found another"),
            Self::Inconsistent { path, field, expected, found } => {
                write!(f, "the summary of {} disagrees with itself or its ", path.display())?;
                write!(f, "file: {field}: expected {expected}, found {found}")
            }
            Self::NothingProven(why) => {
                write!(f, "the coin multiset hash proves nothing: {}", why.message)
            }
            Self::OtherFiles { found } => {
                let found = found.display();
                write!(f, "expected shards of the files that are merged, found one of {found}")
            }
            Self::SourcesGone { store, gone, of, first } => {
                let (store, first) = (store.display(), first.display());
                write!(f, "{store} is a store, which has its blocks in {of} block files: ")?;
                write!(f, "{gone} gone, the first one {first}")
            }
        }
    }
}
