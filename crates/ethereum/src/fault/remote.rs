//! A fault in text: what the summary of a shard carries of the fault in its part of the chain.

use super::{Cause, Fault};
use blockmill_verdict::{Cause as _, Shortfall};
use serde::{Deserialize, Serialize};

/// A fault that another process found.
pub type RemoteFault = blockmill_verdict::RemoteFault<RemoteDetails>;

/// What a remote fault of this chain adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteDetails {
    /// The kind of its cause.
    pub kind: RemoteKind,
    /// What the archive lacks, where that is the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
    /// The number of the block after a gap.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "behind_gap")]
    pub block_after_gap: Option<u64>,
}

/// The kinds of [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteKind {
    /// The archive cannot be read.
    Archive,
    /// The header is not the encoding of a header.
    Header,
    /// The body is not the encoding of a body.
    Body,
    /// A rule is broken.
    Rule,
}

/// `fault` as another process reads it.
pub(crate) fn remote_fault(fault: &Fault) -> RemoteFault {
    let (kind, text) = match &fault.cause {
        Cause::Remote(remote) => return (**remote).clone(),
        Cause::Archive(error) => (RemoteKind::Archive, error.to_string()),
        Cause::Header(error) => (RemoteKind::Header, error.to_string()),
        Cause::Body(error) => (RemoteKind::Body, error.to_string()),
        Cause::Rule(violation) => (RemoteKind::Rule, violation.to_string()),
        // no shard executes, so none has a state
        Cause::State(error) => (RemoteKind::Archive, error.to_string()),
    };
    let block_after_gap = fault.cause.block_after_gap();
    let details = RemoteDetails { kind, shortfall: fault.shortfall(), block_after_gap };
    RemoteFault::new(fault.status(), text, fault.cause.broken_rule(), details)
}
