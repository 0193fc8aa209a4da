//! The irregular change of 2016 (EIP-779).

use super::addresses::{DAO_ACCOUNTS, DAO_REFUND};
use super::evm::Evm;
use crate::U256;
use crate::params::DaoFork;
use crate::state::StateError;

/// In the first block of the fork, on the side that supports it, everything that the DAO and its
/// children own goes to one contract.
pub(super) fn refund_dao(
    evm: &mut Evm<'_>,
    dao: Option<DaoFork>,
    number: u64,
) -> Result<(), StateError> {
    if dao != Some(DaoFork { block: number, support: true }) {
        return Ok(());
    }
    let mut total = U256::ZERO;
    for address in &DAO_ACCOUNTS {
        if let Some((_, account, _)) = evm.state().account(address)? {
            total = total.saturating_add(account.balance);
            let account = crate::state::Account { balance: U256::ZERO, ..account };
            evm.state().set_account(address, Some(account), None)?;
        }
    }
    evm.state().credit(&DAO_REFUND, total, false)
}
