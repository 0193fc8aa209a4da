//! A block that is invalid or unreadable: the block, its location, the rule, expected and found.

use crate::rule::Violation;
use crate::types::{self, UInt256};
use blockmill_verdict::{BrokenRule, Location, Shortfall, Status};
use std::fmt;

/// Why a block is invalid or unreadable.
#[derive(Debug)]
pub enum Cause {
    /// The dump cannot be read here.
    Archive(blockmill_archive::Error),
    /// The block cannot be decoded.
    Decode(types::Error),
    /// The block, or one of its transactions, breaks a rule of the chain.
    Rule(Violation),
}

/// The fault of a block.
pub type Fault = blockmill_verdict::Fault<Cause>;

impl blockmill_verdict::Cause for Cause {
    type Hash = UInt256;

    fn hash_text(hash: &UInt256) -> String {
        hash.to_string()
    }

    fn status(&self) -> Status {
        match self {
            Self::Archive(error) => error.status(),
            Self::Decode(_) => Status::Corrupt,
            Self::Rule(_) => Status::Invalid,
        }
    }

    fn broken_rule(&self) -> BrokenRule {
        let Self::Rule(violation) = self else { return BrokenRule::default() };
        BrokenRule {
            rule: Some(violation.rule.name().to_owned()),
            expected: Some(violation.expected.clone()),
            found: Some(violation.found.clone()),
        }
    }

    fn location(&self) -> Option<&Location> {
        let Self::Archive(error) = self else { return None };
        error.location()
    }

    fn names_location(&self) -> bool {
        matches!(self, Self::Archive(_))
    }

    fn shortfall(&self, _block: u64, _location: Option<&Location>) -> Option<Shortfall> {
        let Self::Archive(error) = self else { return None };
        (error.status() == Status::Incomplete).then(|| error.into())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => error.fmt(f),
            Self::Decode(error) => write!(f, "block encoding: {error}"),
            Self::Rule(violation) => violation.fmt(f),
        }
    }
}
