//! A fault as another run told it, in text: what a boundary carries of the fault of its unit.

use super::{Cause, Fault};
use blockmill_verdict::{Shortfall, Status};
use serde::{Deserialize, Serialize};

/// What another run found wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// What the fault says of the chain and of the archive.
    pub status: Status,
    /// In which part of the work it showed.
    pub kind: ToldKind,
    /// What is wrong, in a sentence.
    pub text: String,
    /// The rule that is broken, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the rule asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What the archive lacks, where that is the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
    /// The number of the block after a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind_gap: Option<u64>,
}

/// The kinds of [`Cause`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToldKind {
    /// The archive cannot be read.
    Archive,
    /// The header is no encoding of a header.
    Header,
    /// The body is no encoding of a body.
    Body,
    /// A rule is broken.
    Rule,
}

impl From<&Fault> for Told {
    fn from(fault: &Fault) -> Self {
        let (kind, text) = match &fault.cause {
            Cause::Told(told) => return (**told).clone(),
            Cause::Archive(error) => (ToldKind::Archive, error.to_string()),
            Cause::Header(error) => (ToldKind::Header, error.to_string()),
            Cause::Body(error) => (ToldKind::Body, error.to_string()),
            Cause::Rule(violation) => (ToldKind::Rule, violation.to_string()),
            // no unit executes, so none has a state
            Cause::State(error) => (ToldKind::Archive, error.to_string()),
        };
        let report = fault.report();
        Self {
            status: fault.status(),
            kind,
            text,
            rule: report.rule,
            expected: report.expected,
            found: report.found,
            shortfall: fault.shortfall(),
            behind_gap: fault.behind_gap(),
        }
    }
}
