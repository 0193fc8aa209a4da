//! Why a block was refused.

use super::Fault;
use crate::header::rules;
use crate::index::Tree;
use crate::script::ScriptFault;
use crate::shard::documents::RemoteFault;
use crate::{BlockHash, Rule, Violation, script, types};
use blockmill_archive::blkdat::BlockFiles;
use blockmill_verdict::{BrokenRule, Location, Status};
use std::fmt;

/// Why a block was refused.
#[derive(Debug)]
pub enum Cause {
    /// Its bytes cannot be read.
    Archive(blockmill_archive::Error),
    /// Its header is not the one that pass 1 found in this place.
    Changed {
        /// The hash of the header in pass 1.
        expected: BlockHash,
        /// The hash of the header now.
        found: BlockHash,
    },
    /// Its bytes are no valid encoding of a block.
    Encoding(types::Error),
    /// Its header breaks a rule.
    Header(rules::Violation),
    /// It breaks a rule.
    Rule(Violation),
    /// A script fails.
    Script(ScriptFault),
    /// The signet signature of the block is invalid.
    Solution(script::SolutionFault),
    /// The fault that another process found.
    Remote(Box<RemoteFault>),
}

impl Cause {
    /// Whether the cause may be corrupt bytes: another copy of the block with the same header may
    /// be good.
    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Archive(_) | Self::Changed { .. } | Self::Encoding(_) => true,
            Self::Rule(violation) => {
                // the merkle root of the header, or the commitment of the coinbase, does not cover
                // these
                let rule = violation.rule;
                rule == Rule::MerkleRoot
                    || rule == Rule::RepeatedTransactions
                    || rule == Rule::WitnessNonce
                    || rule == Rule::WitnessCommitment
                    || rule == Rule::UnexpectedWitness
            }
            Self::Header(_) | Self::Script(_) | Self::Solution(_) => false,
            Self::Remote(remote) => remote.details.is_corrupt,
        }
    }
}

impl blockmill_verdict::Cause for Cause {
    type Hash = BlockHash;

    fn hash_text(hash: &BlockHash) -> String {
        hash.to_string()
    }

    fn status(&self) -> Status {
        match self {
            Self::Archive(error) => error.status(),
            Self::Changed { .. } | Self::Encoding(_) => Status::Corrupt,
            Self::Header(_) | Self::Rule(_) | Self::Script(_) | Self::Solution(_) => {
                Status::Invalid
            }
            Self::Remote(remote) => remote.status,
        }
    }

    fn broken_rule(&self) -> BrokenRule {
        let only = |rule: &str| BrokenRule { rule: Some(rule.to_owned()), ..BrokenRule::default() };
        match self {
            Self::Rule(Violation { rule, expected, found, .. }) => BrokenRule {
                rule: Some(rule.tag().to_owned()),
                expected: Some(expected.clone()),
                found: Some(found.clone()),
            },
            Self::Header(violation) => only(violation.rule()),
            Self::Script(_) => only(Rule::Script.tag()),
            Self::Remote(remote) => remote.broken_rule(),
            _ => BrokenRule::default(),
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
            Self::Remote(remote) => f.write_str(&remote.text),
        }
    }
}

/// The fault of a block of the tree, which is in one of `files`.
pub(crate) fn fault_of_block(files: &BlockFiles, tree: &Tree, block: u32, cause: Cause) -> Fault {
    let record = tree.record(block);
    let file = record.and_then(|found| files.files().get(found.file as usize));
    let path = file.map(|file| file.path().to_path_buf()).unwrap_or_default();
    Fault {
        block: (tree.base() + tree.height(block)).into(),
        hash: Some(*tree.hash(block)),
        location: Some(Location::new(path, record.map_or(0, |found| found.offset))),
        cause,
    }
}
