//! System calls of a block: to contracts that store roots and hashes, and to contracts that collect
//! requests to the beacon chain.

use super::addresses::{
    BEACON_ROOTS, BUILDER_DEPOSITS, BUILDER_EXITS, CONSOLIDATIONS, HISTORY, WITHDRAWALS,
};
use super::block::PreparedBlock;
use super::evm::Evm;
use super::verify::ExecutionError;
use crate::Address;
use crate::params::Fork;
use crate::rule::{Rule, Violation};
use crate::state::{EMPTY_CODE, StateError};
use blockmill_verdict::Hex;

/// Contracts that collect requests, in the order of the request types, with their first fork.
const COLLECTORS: [(u8, Address, Fork); 4] = [
    (1, WITHDRAWALS, Fork::Prague),
    (2, CONSOLIDATIONS, Fork::Prague),
    (3, BUILDER_DEPOSITS, Fork::Amsterdam),
    (4, BUILDER_EXITS, Fork::Amsterdam),
];

/// Stores the parent's beacon root (EIP-4788) and hash (EIP-2935), before the transactions. Missing
/// or failing contracts are ignored.
pub(super) fn keep_roots(evm: &mut Evm<'_>, block: &PreparedBlock) -> Result<(), StateError> {
    let fork = block.terms.fork;
    if let Some(root) = &block.header.parent_beacon_root
        && fork >= Fork::Cancun
        && is_called(evm, fork, &BEACON_ROOTS)?
    {
        evm.system_call(&BEACON_ROOTS, root)?;
    }
    if fork >= Fork::Prague && is_called(evm, fork, &HISTORY)? {
        evm.system_call(&HISTORY, &block.header.parent_hash)?;
    }
    Ok(())
}

/// Takes the requests that contracts collected, after the transactions: a type byte and records
/// each (EIP-7002, EIP-7251, EIP-8282).
///
/// # Errors
/// [`Rule::SystemCall`] if a contract is missing or fails; [`ExecutionError::State`].
pub(super) fn collect_requests(
    evm: &mut Evm<'_>,
    fork: Fork,
) -> Result<Vec<Vec<u8>>, ExecutionError> {
    let mut requests = vec![];
    for (kind, contract, _) in COLLECTORS.iter().filter(|(.., since)| fork >= *since) {
        let broken = |found: &str| {
            let expected = format!("a system contract at {} that answers", Hex(contract));
            ExecutionError::Rule(Violation::new(Rule::SystemCall, expected, found))
        };
        if !has_code(evm, contract)? {
            return Err(broken("no code"));
        }
        let records = evm.system_call(contract, &[])?.ok_or_else(|| broken("a failure"))?;
        if !records.is_empty() {
            requests.push([&[*kind], &records[..]].concat());
        }
    }
    Ok(requests)
}

/// Whether a contract that may be missing is called: from Amsterdam on always, as the access list
/// has each call.
fn is_called(evm: &mut Evm<'_>, fork: Fork, address: &Address) -> Result<bool, StateError> {
    Ok(fork >= Fork::Amsterdam || has_code(evm, address)?)
}

fn has_code(evm: &mut Evm<'_>, address: &Address) -> Result<bool, StateError> {
    Ok(evm.state().account(address)?.is_some_and(|found| found.1.code_hash != EMPTY_CODE))
}
