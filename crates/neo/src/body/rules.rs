//! The rules of transactions that need no state, one function each.
//!
//! `execute::admit` has the rules that need the state: fees, settings of Policy, contracts as
//! signers, conflicts with earlier blocks.

use crate::params::{Hardfork, Protocol};
use crate::rule::{Rule, Violation};
use crate::types::{Attribute, Block, MAX_TRANSACTION_SIZE, Scopes, Transaction, UInt160, UInt256};
use crate::witness::{Checked, Verdict};
use hashbrown::HashMap;

/// The hash of the native contract Notary (`nativehashes.Notary`).
pub const NOTARY: UInt160 = UInt160([
    0x3b, 0xec, 0x35, 0x31, 0x11, 0x9b, 0xba, 0xd7, 0x6d, 0xd0, 0x44, 0x92, 0x0b, 0x0d, 0xe6, 0xc3,
    0x19, 0x4f, 0xe1, 0xc1,
]);

/// Checks the transaction rules of a block that need no state. `checked` has the verified witnesses
/// of all transactions, in order.
///
/// # Errors
/// Returns the first broken rule of the first invalid transaction.
pub fn verify(protocol: &Protocol, block: &Block, checked: &[Checked]) -> Result<(), Violation> {
    unique(block)?;
    let mut checked = checked.iter();
    for (index, transaction) in block.transactions().enumerate() {
        let own = checked.as_slice();
        let count = transaction.witnesses().len();
        one(protocol, block.header.index, transaction, own.get(..count).unwrap_or(own))
            .map_err(|violation| violation.in_transaction(index))?;
        checked = own.get(count..).unwrap_or_default().iter();
    }
    Ok(())
}

fn one(
    protocol: &Protocol,
    height: u32,
    transaction: Transaction<'_>,
    checked: &[Checked],
) -> Result<(), Violation> {
    expired(height, transaction)?;
    size(transaction)?;
    witnesses(transaction, checked)?;
    attributes(protocol, height, transaction)
}

/// No transaction is in the block twice. Conflicts between transactions of a block depend on fees
/// that Policy sets, so `execute::admit` decides them.
fn unique(block: &Block) -> Result<(), Violation> {
    let hashes = block.transactions.hashes();
    let mut first: HashMap<&UInt256, usize> = HashMap::with_capacity(hashes.len());
    for (index, hash) in hashes.iter().enumerate() {
        if let Some(first) = first.insert(hash, index) {
            let expected = format!("no repetition of transaction {first}");
            return Err(Violation::of_transaction(
                Rule::RepeatedTransaction,
                index,
                expected,
                hash,
            ));
        }
    }
    Ok(())
}

/// `ValidUntilBlock` is not below the block (`ErrTxExpired`).
fn expired(height: u32, transaction: Transaction<'_>) -> Result<(), Violation> {
    let until = transaction.fields().valid_until_block;
    match until >= height {
        true => Ok(()),
        false => Err(Violation::new(Rule::Expired, format!("{height} or more"), until)),
    }
}

/// `ErrTxTooBig`.
fn size(transaction: Transaction<'_>) -> Result<(), Violation> {
    match transaction.size() <= MAX_TRANSACTION_SIZE {
        true => Ok(()),
        false => {
            let expected = format!("at most {MAX_TRANSACTION_SIZE} bytes");
            Err(Violation::new(Rule::TransactionSize, expected, transaction.size()))
        }
    }
}

/// Each witness belongs to its signer, and is satisfied unless the virtual machine must decide.
fn witnesses(transaction: Transaction<'_>, checked: &[Checked]) -> Result<(), Violation> {
    let signers = transaction.signers().zip(transaction.witnesses()).zip(checked);
    for ((signer, witness), checked) in signers {
        let account = signer.account();
        // a deployed contract has no script here
        if !witness.verification.is_empty() && checked.script_hash != account {
            let (expected, found) = (account.address(), checked.script_hash.address());
            return Err(Violation::new(Rule::WitnessAccount, expected, found));
        }
        if checked.verdict == Verdict::Invalid {
            let expected = format!("the signatures of {}", account.address());
            return Err(Violation::new(Rule::Witness, expected, "a missing or wrong one"));
        }
    }
    Ok(())
}

fn attributes(
    protocol: &Protocol,
    height: u32,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    let mut conflicts: Vec<UInt256> = Vec::new();
    for attribute in transaction.attributes() {
        match attribute {
            Attribute::NotValidBefore(from) if from >= height => {
                let expected = format!("below {height}");
                return Err(Violation::new(Rule::NotValidBefore, expected, from));
            }
            Attribute::Conflicts(other) if conflicts.contains(&other) => {
                return Err(Violation::new(Rule::RepeatedConflict, "each once", other));
            }
            Attribute::Conflicts(other) => conflicts.push(other),
            Attribute::NotaryAssisted(_) => notary_assisted(protocol, height, transaction)?,
            Attribute::OracleResponse { .. } => oracle_scopes(transaction)?,
            Attribute::Reserved { kind, .. } if !protocol.reserved_attributes => {
                let found = format!("{kind:#04x}");
                let expected = "no reserved type";
                return Err(Violation::new(Rule::AttributeType, expected, found));
            }
            _ => {}
        }
    }
    Ok(())
}

fn notary_assisted(
    protocol: &Protocol,
    height: u32,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    // as of the parent block, as in neo-go
    if !protocol.hardforks.holds(Hardfork::Echidna, height.saturating_sub(1)) {
        let expected = format!("{} before notary-assisted transactions", Hardfork::Echidna);
        return Err(Violation::new(Rule::AttributeType, expected, format!("height {height}")));
    }
    if !transaction.signers().any(|signer| signer.account() == NOTARY) {
        let found = "other signers";
        return Err(Violation::new(Rule::NotaryAssisted, "the contract Notary as signer", found));
    }
    match (transaction.sender() == NOTARY, transaction.signers().len()) {
        (false, _) | (true, 2) => Ok(()),
        (true, count) => {
            let expected = "2 signers if the contract Notary pays";
            Err(Violation::new(Rule::NotaryAssisted, expected, count))
        }
    }
}

fn oracle_scopes(transaction: Transaction<'_>) -> Result<(), Violation> {
    match transaction.signers().find(|signer| signer.scopes() != Scopes::NONE) {
        None => Ok(()),
        Some(signer) => Err(Violation::new(Rule::OracleScopes, Scopes::NONE, signer.scopes())),
    }
}
