//! Why a block is not accepted.

use super::{Fault, RemoteFault, RemoteKind};
use crate::Hash;
use crate::body::BodyError;
use crate::rule::{Rule, Violation};
use crate::state::DiskError;
use blockmill_archive::CompressionFault;
use blockmill_verdict::{BrokenRule, Hex, Location, Shortfall, ShortfallKind, Status};
use std::fmt;

/// Why a block is not accepted.
#[derive(Debug)]
pub enum Cause {
    /// The archive cannot be read here.
    Archive(blockmill_archive::Error),
    /// The header is not canonical RLP: its bytes are damaged.
    Header(blockmill_rlp::Error),
    /// The body is not canonical RLP: its bytes are damaged.
    Body(BodyError),
    /// The block, or one of its transactions, breaks a rule of the chain.
    Rule(Violation),
    /// The state that the block needs cannot be read or changed: no fault of the block's.
    State(DiskError),
    /// The fault that another process found when it verified the block in a part of the chain.
    Remote(Box<RemoteFault>),
}

impl Cause {
    /// Is it a header that cannot be decoded?
    pub(crate) fn is_header_encoding(&self) -> bool {
        match self {
            Self::Header(_) => true,
            Self::Rule(violation) => violation.rule == Rule::HeaderEncoding,
            Self::Remote(remote) => {
                remote.details.kind == RemoteKind::Header
                    || remote.rule.as_deref() == Some(Rule::HeaderEncoding.name())
            }
            Self::Archive(_) | Self::Body(_) | Self::State(_) => false,
        }
    }

    /// Does the fault leave in doubt the block before it as well? That block has another hash than
    /// this one names, or comes from compressed data that does not have its checksum: no block
    /// that was read names its hash.
    pub(crate) fn doubts_previous(&self) -> bool {
        match self {
            Self::Rule(violation) => violation.rule == Rule::ParentHash,
            Self::Archive(blockmill_archive::Error::Compressed { fault, .. }) => {
                matches!(fault, CompressionFault::Corrupt(_))
            }
            _ => false,
        }
    }

    /// The number of the block after a gap, where that is the fault.
    pub(crate) fn block_after_gap(&self) -> Option<u64> {
        match self {
            Self::Archive(blockmill_archive::Error::Gap { found, .. }) => Some(*found),
            Self::Remote(remote) => remote.details.block_after_gap,
            _ => None,
        }
    }
}

impl blockmill_verdict::Cause for Cause {
    type Hash = Hash;

    fn hash_text(hash: &Hash) -> String {
        Hex(hash).to_string()
    }

    fn status(&self) -> Status {
        match self {
            Self::Archive(error) => error.status(),
            Self::Header(_) | Self::Body(_) => Status::Corrupt,
            Self::Rule(violation) => match violation.rule {
                Rule::BodyMissing => Status::Incomplete,
                // what this program cannot judge is not invalid
                Rule::ExecutionRules | Rule::SealEpoch | Rule::UnknownFork => Status::Unrecognised,
                _ => Status::Invalid,
            },
            Self::State(error) => error.store().status(),
            Self::Remote(remote) => remote.status,
        }
    }

    fn broken_rule(&self) -> BrokenRule {
        match self {
            Self::Rule(violation) => BrokenRule {
                rule: Some(violation.rule.name().to_owned()),
                expected: Some(violation.expected.clone()),
                found: Some(violation.found.clone()),
            },
            Self::Remote(remote) => remote.broken_rule(),
            _ => BrokenRule::default(),
        }
    }

    fn location(&self) -> Option<&Location> {
        match self {
            Self::Archive(error) => error.location(),
            _ => None,
        }
    }

    /// The errors of an archive name their locations themselves.
    fn names_location(&self) -> bool {
        match self {
            Self::Archive(_) => true,
            Self::Remote(remote) => remote.details.kind == RemoteKind::Archive,
            Self::Header(_) | Self::Body(_) | Self::Rule(_) | Self::State(_) => false,
        }
    }

    fn shortfall(&self, block: u64, location: Option<&Location>) -> Option<Shortfall> {
        match self {
            Self::Remote(remote) => remote.details.shortfall.clone(),
            Self::Archive(error) if self.status() == Status::Incomplete => Some(error.into()),
            Self::Rule(violation) if self.status() == Status::Incomplete => {
                let text = format!("block {block}: {violation}");
                let shortfall = Shortfall::new(ShortfallKind::MissingBlocks, text);
                Some(match location {
                    Some(location) => shortfall.at(&location.file, location.offset),
                    None => shortfall,
                })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Header(error) => write!(f, "header encoding: {error}"),
            Self::Body(error) => write!(f, "body encoding: {error}"),
            Self::Rule(violation) => violation.fmt(f),
            Self::State(error) => error.fmt(f),
            Self::Remote(remote) => match remote.details.kind {
                RemoteKind::Header => write!(f, "header encoding: {}", remote.text),
                RemoteKind::Body => write!(f, "body encoding: {}", remote.text),
                RemoteKind::Archive | RemoteKind::Rule => f.write_str(&remote.text),
            },
        }
    }
}

/// The archive cannot be read where `block` should be, or has another block of a number before it.
pub(crate) fn archive_fault(block: u64, error: blockmill_archive::Error) -> Fault {
    let location = error.location().cloned();
    if let blockmill_archive::Error::Repeated { number, expected, found, before, .. } = &error {
        let body = if expected == found { ", with another body" } else { "" };
        let expected = format!("{}, as read before at {before}", Hex(&expected[..]));
        let found_text = format!("{}{body}", Hex(&found[..]));
        let cause = Cause::Rule(Violation::new(Rule::RepeatedBlock, expected, found_text));
        return Fault { block: *number, hash: Some(**found), location, cause };
    }
    Fault { block, hash: None, location, cause: Cause::Archive(error) }
}
