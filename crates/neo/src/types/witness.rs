//! Witnesses: an invocation and a verification script (`transaction/witness.go`).

use super::{Error, Reader, UInt160, write};
use blockmill_verdict::Span;

/// Length limit of an invocation or verification script.
pub const MAX_WITNESS_SCRIPT: u64 = 1024;

/// A parsed witness: the spans of its scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WitnessParts {
    /// The script that pushes signatures.
    pub invocation: Span,
    /// The script that checks them; empty for a deployed contract.
    pub verification: Span,
}

impl WitnessParts {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self {
            invocation: reader.string("invocation script", MAX_WITNESS_SCRIPT)?,
            verification: reader.string("verification script", MAX_WITNESS_SCRIPT)?,
        })
    }
}

/// A witness of a transaction or a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness<'a> {
    /// The script that pushes signatures.
    pub invocation: &'a [u8],
    /// The script that checks them; empty for a deployed contract.
    pub verification: &'a [u8],
}

impl<'a> Witness<'a> {
    pub(super) fn new(raw: &'a [u8], parts: &WitnessParts) -> Self {
        Self {
            invocation: parts.invocation.slice(raw),
            verification: parts.verification.slice(raw),
        }
    }

    /// The hash of the verification script: the account.
    #[must_use]
    pub fn script_hash(self) -> UInt160 {
        UInt160::of_script(self.verification)
    }

    /// Writes both scripts.
    pub fn write(self, into: &mut Vec<u8>) {
        write::string(into, self.invocation);
        write::string(into, self.verification);
    }
}
