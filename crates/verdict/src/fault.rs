//! The parts of a fault, for programs that read `--json` and run records.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What stopped a run, in parts. Only the message is always there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultReport {
    /// The sentence that a person reads.
    pub message: String,
    /// Number or height of the block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Its hash, in the notation of its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The file where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::path::serialize_option")]
    pub file: Option<PathBuf>,
    /// And the byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The rule that is broken, as its chain names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the rule asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What the reader may not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FaultReport {
    /// A fault of which there is only a sentence.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}
