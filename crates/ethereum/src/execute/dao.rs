//! The irregular state change of the DAO fork (EIP-779).

use super::addresses::{DAO_ACCOUNTS, DAO_REFUND};
use super::evm::Evm;
use crate::params::DaoFork;
use crate::state::{Account, State, StateError};
use crate::{Address, U256};

/// Moves the balances of the DAO and its children to the refund contract, in the first block of the
/// fork, on chains that support it.
///
/// All accounts of the list and the contract exist afterwards; those that did not exist are empty,
/// until EIP-158 removes them (go-ethereum, `misc.ApplyDAOHardFork`).
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

/// Takes all wei of an account, and returns the amount. With `clear`, an account that is empty
/// afterwards is removed (EIP-161).
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
