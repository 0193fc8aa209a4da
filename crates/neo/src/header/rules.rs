//! The rules of headers, one function each.

use crate::params::Protocol;
use crate::rule::{Rule, Violation};
use crate::types::{Block, Header, UInt160, UInt256};
use crate::witness::{Checked, Verdict};

/// What the rules of a header need of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The block's hash.
    pub hash: UInt256,
    /// Its height.
    pub index: u32,
    /// Its time in milliseconds.
    pub timestamp: u64,
    /// The account that signs the next block.
    pub next_consensus: UInt160,
}

impl From<&Block> for Parent {
    fn from(block: &Block) -> Self {
        let Header { index, timestamp, next_consensus, .. } = block.header;
        Self { hash: block.hash, index, timestamp, next_consensus }
    }
}

/// Checks all rules of a header after the genesis block. `checked` is its verified witness.
///
/// # Errors
/// Returns the first broken rule.
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

/// The header names its parent (`ErrHdrHashMismatch`).
fn previous_hash(parent: &Parent, header: &Header) -> Result<(), Violation> {
    match header.previous == parent.hash {
        true => Ok(()),
        false => Err(Violation::new(Rule::PreviousHash, parent.hash, header.previous)),
    }
}

/// The height is the parent's plus one (`ErrHdrIndexMismatch`).
fn index(parent: &Parent, header: &Header) -> Result<(), Violation> {
    let expected = parent.index.wrapping_add(1);
    match header.index == expected {
        true => Ok(()),
        false => Err(Violation::new(Rule::Index, expected, header.index)),
    }
}

/// The time is later than the parent's (`ErrHdrInvalidTimestamp`).
fn timestamp(parent: &Parent, header: &Header) -> Result<(), Violation> {
    match header.timestamp > parent.timestamp {
        true => Ok(()),
        false => {
            let expected = format!("more than {} ms", parent.timestamp);
            Err(Violation::new(Rule::Timestamp, expected, header.timestamp))
        }
    }
}

/// The primary, which gets the fees, is one of the consensus nodes (`Header.Verify` of the C# node;
/// neo-go fails when it pays).
fn primary_index(protocol: &Protocol, header: &Header) -> Result<(), Violation> {
    let count = protocol.validator_count(header.index);
    match usize::from(header.primary) < count {
        true => Ok(()),
        false => Err(Violation::new(Rule::PrimaryIndex, format!("below {count}"), header.primary)),
    }
}

/// The witness belongs to the account that the parent names.
fn account(parent: &Parent, checked: &Checked) -> Result<(), Violation> {
    match checked.script_hash == parent.next_consensus {
        true => Ok(()),
        false => {
            let (expected, found) = (parent.next_consensus, checked.script_hash);
            Err(Violation::new(Rule::BlockAccount, expected.address(), found.address()))
        }
    }
}

/// The consensus nodes signed. The link stage has run scripts of other forms.
fn witness(checked: &Checked) -> Result<(), Violation> {
    let expected = "signatures of a quorum of the consensus nodes";
    match checked.verdict {
        Verdict::Valid { .. } => Ok(()),
        Verdict::Invalid | Verdict::Machine => {
            Err(Violation::new(Rule::BlockWitness, expected, "a missing or wrong signature"))
        }
    }
}
