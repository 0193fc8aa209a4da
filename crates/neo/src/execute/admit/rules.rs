//! Rules of one transaction.

use super::TransactionVerifier;
use crate::{
    execute::{
        contract::{check_script, native_hash},
        native::{self, neo, policy},
    },
    rule::{Rule, Violation},
    types::{Attribute, Transaction, UInt160},
};

/// The script consists of valid instructions (`scparser.IsScriptCorrect`).
pub(super) fn script(transaction: Transaction<'_>) -> Result<(), Violation> {
    check_script(transaction.script())
        .map_err(|error| Violation::new(Rule::Script, "instructions", error))
}

/// `ValidUntilBlock` is not too far ahead (`ErrTxNotYetValid`).
pub(super) fn valid_until_increment(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    let height = verifier.before.header.index;
    let protocol = &verifier.chain.protocol;
    let ahead = policy::valid_until_increment(verifier.state, protocol, height);
    let last = height.saturating_add(ahead);
    let found = transaction.fields().valid_until_block;
    match found <= last {
        true => Ok(()),
        false => Err(Violation::new(Rule::ValidUntilIncrement, format!("at most {last}"), found)),
    }
}

/// No signer is blocked (`Policy.CheckPolicy`).
pub(super) fn blocked(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    let mut accounts = transaction.signers().map(|signer| signer.account());
    match accounts.find(|account| policy::is_blocked(verifier.state, &account.0)) {
        None => Ok(()),
        Some(account) => {
            let expected = "accounts that are not blocked";
            Err(Violation::new(Rule::BlockedAccount, expected, account.address()))
        }
    }
}

/// The network fee pays for bytes and attributes (`ErrTxSmallNetworkFee`). Returns the rest, for
/// the witnesses.
pub(super) fn network_fee(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
) -> Result<u64, Violation> {
    let bytes = (transaction.size() as u64).saturating_mul(policy::fee_per_byte(verifier.state));
    let needed = bytes.saturating_add(attribute_fees(verifier, transaction));
    let found = transaction.fields().network_fee.unsigned_abs();
    match found.checked_sub(needed) {
        Some(left) => Ok(left),
        None => Err(Violation::new(Rule::NetworkFee, format!("{needed} or more"), found)),
    }
}

/// `Blockchain.CalculateAttributesFee`.
fn attribute_fees(verifier: &TransactionVerifier<'_>, transaction: Transaction<'_>) -> u64 {
    let fee = |kind: u8| u64::from(policy::attribute_fee(verifier.state, kind));
    let signers = transaction.signers().len() as u64;
    let fees = transaction.attributes().map(|attribute| match attribute {
        Attribute::HighPriority => fee(0x01),
        Attribute::OracleResponse { .. } => fee(0x11),
        Attribute::NotValidBefore(_) => fee(0x20),
        Attribute::Conflicts(_) => fee(0x21).saturating_mul(signers),
        Attribute::NotaryAssisted(keys) if verifier.chain.protocol.p2p_sig_extensions => {
            fee(policy::NOTARY_ASSISTED).saturating_mul(u64::from(keys) + 1)
        }
        Attribute::NotaryAssisted(_) => 0,
        Attribute::Reserved { kind, .. } => fee(kind),
    });
    fees.fold(0, u64::saturating_add)
}

/// The transaction is not in the chain (`ErrAlreadyExists`), and no traceable transaction of one of
/// its signers names it as conflicting (`ErrHasConflicts`).
pub(super) fn new(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    let (view, hash) = (&verifier.chain.view, transaction.hash());
    if let Some(height) = (view.height)(hash) {
        let found = format!("{hash} of block {height}");
        return Err(Violation::new(Rule::StoredTransaction, "a new transaction", found));
    }
    let height = verifier.before.header.index;
    let protocol = &verifier.chain.protocol;
    let traceable = policy::traceable_blocks(verifier.state, protocol, height);
    for signer in transaction.signers() {
        let Some(at) = (view.conflict)((hash, signer.account())) else { continue };
        if at <= height && at.saturating_add(traceable) > height {
            let expected = "no conflicting transaction in the chain";
            return Err(Violation::new(Rule::Conflict, expected, format!("one of block {at}")));
        }
    }
    Ok(())
}

/// `Blockchain.verifyTxAttributes`, as far as it needs state.
pub(super) fn attributes(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    transaction.attributes().try_for_each(|attribute| match attribute {
        Attribute::HighPriority => high_priority(verifier, transaction),
        Attribute::OracleResponse { id, .. } => oracle_response(verifier, transaction, id),
        Attribute::Conflicts(other) => match (verifier.chain.view.height)(other) {
            None => Ok(()),
            Some(height) => {
                let found = format!("{other} of block {height}");
                Err(Violation::new(Rule::Conflict, "a hash that is not in the chain", found))
            }
        },
        _ => Ok(()),
    })
}

fn has_signer(transaction: Transaction<'_>, account: UInt160) -> bool {
    transaction.signers().any(|signer| signer.account() == account)
}

/// The committee signs for high priority.
fn high_priority(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
) -> Result<(), Violation> {
    let committee = neo::committee_account(verifier.state).ok().map(UInt160);
    match committee.is_some_and(|committee| has_signer(transaction, committee)) {
        true => Ok(()),
        false => {
            let expected = match committee {
                Some(committee) => format!("the committee {} as signer", committee.address()),
                None => "a committee".into(),
            };
            Err(Violation::new(Rule::HighPriority, expected, "other signers"))
        }
    }
}

/// An oracle response has the oracle nodes as signer, answers a pending request, has the script of
/// responses, and its fees cover the gas of the request.
fn oracle_response(
    verifier: &TransactionVerifier<'_>,
    transaction: Transaction<'_>,
    id: u64,
) -> Result<(), Violation> {
    let refused =
        |expected: &str, found: &str| Err(Violation::new(Rule::OracleResponse, expected, found));
    let height = verifier.before.header.index.saturating_add(1);
    let nodes = native::oracle_account(verifier.state, height).map(UInt160);
    if !nodes.is_some_and(|nodes| has_signer(transaction, nodes)) {
        return refused("the oracle nodes as signer", "other signers");
    }
    let contract = native_hash("OracleContract");
    if transaction.script() != native::answer_script(&contract) {
        return refused("the script of oracle responses", "another script");
    }
    let Some(gas) = native::gas_for_answer(verifier.state, id) else {
        return refused("a pending request", &format!("request {id}"));
    };
    let fields = transaction.fields();
    let fees = fields.network_fee.saturating_add(fields.system_fee);
    match fees.unsigned_abs() < gas {
        false => Ok(()),
        true => refused(&format!("fees of {gas} or more"), &fees.to_string()),
    }
}
