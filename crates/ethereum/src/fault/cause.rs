//! Why a block is not accepted.

use super::{Told, ToldKind};
use crate::body::BodyError;
use crate::error::{Rule, Violation};
use crate::state::DiskError;

/// Why a block is not accepted.
#[derive(Debug)]
pub enum Cause {
    /// The archive cannot be read here.
    Archive(blockmill_archive::Error),
    /// The header is no canonical RLP: its bytes are damaged.
    Header(blockmill_rlp::Error),
    /// The body is no canonical RLP: its bytes are damaged.
    Body(BodyError),
    /// The block, or one of its transactions, breaks a rule of the chain.
    Rule(Violation),
    /// The state that the block needs cannot be read or changed: no fault of the block's.
    State(DiskError),
    /// What another run found, which verified the block in a part of the chain alone.
    Told(Box<Told>),
}

impl Cause {
    /// Is it the archive that is at fault? Its errors name their location themselves.
    pub(super) fn is_of_archive(&self) -> bool {
        match self {
            Self::Archive(_) => true,
            Self::Told(told) => told.kind == ToldKind::Archive,
            Self::Header(_) | Self::Body(_) | Self::Rule(_) | Self::State(_) => false,
        }
    }

    /// Is it a header that cannot be decoded?
    pub(crate) fn is_header_encoding(&self) -> bool {
        match self {
            Self::Header(_) => true,
            Self::Rule(violation) => violation.rule == Rule::HeaderEncoding,
            Self::Told(told) => {
                told.kind == ToldKind::Header
                    || told.rule.as_deref() == Some(Rule::HeaderEncoding.name())
            }
            Self::Archive(_) | Self::Body(_) | Self::State(_) => false,
        }
    }
}
