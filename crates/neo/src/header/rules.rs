//! The rules of headers, a function for each.

use crate::error::{Rule, Violation};
use crate::params::Protocol;
use crate::types::{Block, Header, UInt160, UInt256};
use crate::witness::{Checked, Verdict};

/// What the next header must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The block's hash.
    pub hash: UInt256,
    /// Its height.
    pub index: u32,
    /// Its time in milliseconds.
    pub timestamp: u64,
    /// Who signs the next block.
    pub next_consensus: UInt160,
}

impl Parent {
    /// The block as one that others follow.
    #[must_use]
    pub fn of(block: &Block) -> Self {
        let Header { index, timestamp, next_consensus, .. } = block.header;
        Self { hash: block.hash, index, timestamp, next_consensus }
    }
}

/// All rules of a header after the first, whose witness was `checked`.
///
/// # Errors
/// The first rule that it breaks.
pub fn verify(
    protocol: &Protocol,
    parent: &Parent,
    header: &Header,
    checked: &Checked,
) -> Result<(), Violation> {
    previous_hash(parent, header)?;
    index(parent, header)?;
    timestamp(parent, header)?;
    primary_index(protocol, header)?;
    account(parent, checked)?;
    witness(checked)
}

/// The header names the block before (`ErrHdrHashMismatch`).
fn previous_hash(parent: &Parent, header: &Header) -> Result<(), Violation> {
    match header.previous == parent.hash {
        true => Ok(()),
        false => Err(Violation::new(Rule::PreviousHash, parent.hash, header.previous)),
    }
}

/// The height is one more (`ErrHdrIndexMismatch`).
fn index(parent: &Parent, header: &Header) -> Result<(), Violation> {
    let expected = parent.index.wrapping_add(1);
    match header.index == expected {
        true => Ok(()),
        false => Err(Violation::new(Rule::Index, expected, header.index)),
    }
}

/// Time goes on (`ErrHdrInvalidTimestamp`).
fn timestamp(parent: &Parent, header: &Header) -> Result<(), Violation> {
    match header.timestamp > parent.timestamp {
        true => Ok(()),
        false => {
            let expected = format!("more than {} ms", parent.timestamp);
            Err(Violation::new(Rule::Timestamp, expected, header.timestamp))
        }
    }
}

/// The primary, who gets the fees, is one of the consensus nodes (`Header.Verify` of the C# node;
/// neo-go finds out when it pays).
fn primary_index(protocol: &Protocol, header: &Header) -> Result<(), Violation> {
    let count = protocol.validator_count(header.index);
    match usize::from(header.primary) < count {
        true => Ok(()),
        false => Err(Violation::new(Rule::PrimaryIndex, format!("below {count}"), header.primary)),
    }
}

/// The witness is that of the account that the block before names.
fn account(parent: &Parent, checked: &Checked) -> Result<(), Violation> {
    match checked.script_hash == parent.next_consensus {
        true => Ok(()),
        false => {
            let (expected, found) = (parent.next_consensus, checked.script_hash);
            Err(Violation::new(Rule::BlockAccount, expected.address(), found.address()))
        }
    }
}

/// The consensus nodes signed. The link has run scripts of other than the standard form.
fn witness(checked: &Checked) -> Result<(), Violation> {
    let expected = "signatures of a quorum of the consensus nodes";
    match checked.verdict {
        Verdict::Valid { .. } => Ok(()),
        Verdict::Invalid | Verdict::Machine => {
            Err(Violation::new(Rule::BlockWitness, expected, "a missing or wrong signature"))
        }
    }
}
