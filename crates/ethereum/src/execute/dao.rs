//! The irregular change of 2016 (EIP-779).

use super::addresses::{DAO_ACCOUNTS, DAO_REFUND};
use super::evm::Evm;
use crate::params::DaoFork;
use crate::state::{Account, State, StateError};
use crate::{Address, U256};

/// Moves everything that the DAO and its children own to one contract, in the first block of the
/// fork, on the side that supports it.
///
/// All accounts on the list exist afterwards, as does the contract, also those that did not exist
/// before: empty accounts, until EIP-158 removes them (go-ethereum, `misc.ApplyDAOHardFork`).
pub(super) fn refund_dao(
    evm: &mut Evm<'_>,
    dao: Option<DaoFork>,
    number: u64,
) -> Result<(), StateError> {
    if dao != Some(DaoFork { block: number, support: true }) {
        return Ok(());
    }
    let clear = evm.clears_empty();
    let mut total = U256::ZERO;
    for address in &DAO_ACCOUNTS {
        total = total.saturating_add(drain(evm.state(), address, clear)?);
    }
    evm.state().credit(&DAO_REFUND, total, clear)
}

/// Takes all wei of an account; how many it had. Where `clear` says so, an account that is empty
/// afterwards ceases to exist (EIP-161).
fn drain(state: &mut State, address: &Address, clear: bool) -> Result<U256, StateError> {
    let found = state.account(address)?.map(|found| found.1);
    let before = found.unwrap_or_default();
    if found.is_some() && before.balance.is_zero() {
        // not touched: there is nothing to take
        return Ok(U256::ZERO);
    }
    let after = Account { balance: U256::ZERO, ..before };
    let ended = clear && after.is_empty();
    let id = state.set_account(address, (!ended).then_some(after), None)?;
    if ended {
        state.clear_slots(id);
    }
    Ok(before.balance)
}
