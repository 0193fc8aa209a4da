//! System calls of a block: to contracts that store roots and hashes, and to contracts that collect
//! requests to the beacon chain.

use super::addresses::{BEACON_ROOTS, CONSOLIDATIONS, HISTORY, WITHDRAWALS};
use super::block::PreparedBlock;
use super::evm::Evm;
use super::verify::ExecutionError;
use crate::Address;
use crate::params::Fork;
use crate::rule::{Rule, Violation};
use crate::state::{EMPTY_CODE, StateError};
use blockmill_verdict::Hex;

/// Stores the parent's beacon root (EIP-4788) and hash (EIP-2935), before the transactions. Missing
/// or failing contracts are ignored.
pub(super) fn keep_roots(evm: &mut Evm<'_>, block: &PreparedBlock) -> Result<(), StateError> {
    let fork = block.terms.fork;
    if let Some(root) = &block.header.parent_beacon_root
        && fork >= Fork::Cancun
        && has_code(evm, &BEACON_ROOTS)?
    {
        evm.system_call(&BEACON_ROOTS, root)?;
    }
    if fork >= Fork::Prague && has_code(evm, &HISTORY)? {
        evm.system_call(&HISTORY, &block.header.parent_hash)?;
    }
    Ok(())
}

/// Takes the requests that contracts collected, after the transactions: a type byte and records
/// each (EIP-7002, EIP-7251).
///
/// # Errors
/// [`Rule::SystemCall`] if a contract is missing or fails; [`ExecutionError::State`].
pub(super) fn collect_requests(evm: &mut Evm<'_>) -> Result<Vec<Vec<u8>>, ExecutionError> {
    let mut requests = vec![];
    for (kind, contract) in [(1, &WITHDRAWALS), (2, &CONSOLIDATIONS)] {
        let broken = |found: &str| {
            let expected = format!("a system contract at {} that answers", Hex(contract));
            ExecutionError::Rule(Violation::new(Rule::SystemCall, expected, found))
        };
        if !has_code(evm, contract)? {
            return Err(broken("no code"));
        }
        let records = evm.system_call(contract, &[])?.ok_or_else(|| broken("a failure"))?;
        if !records.is_empty() {
            requests.push([&[kind], &records[..]].concat());
        }
    }
    Ok(requests)
}

fn has_code(evm: &mut Evm<'_>, address: &Address) -> Result<bool, StateError> {
    Ok(evm.state().account(address)?.is_some_and(|found| found.1.code_hash != EMPTY_CODE))
}
