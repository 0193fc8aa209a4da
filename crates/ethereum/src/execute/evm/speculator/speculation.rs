//! The result of a speculation, and its validation.

use super::read_set::ReadSet;
use super::{SPECULATIVE_BALANCE, View};
use crate::execute::evm::Outcome;
use crate::state::{State, StateError};
use crate::{Address, U256};
use revm::database_interface::Database;
use revm::primitives;
use revm::state::{AccountInfo, EvmState};

/// Speculations of blocks that were committed, and those that were aborted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Speculations that were validated and committed.
    pub committed: u64,
    /// Speculations with a stale read set.
    pub aborted: u64,
    /// Gas of the committed ones.
    pub committed_gas: u64,
    /// Gas of the aborted ones, which was executed for nothing.
    pub aborted_gas: u64,
}

impl Tally {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.committed_gas += other.committed_gas;
        self.aborted_gas += other.aborted_gas;
    }
}

/// The result of a transaction that was executed speculatively, with its read set.
#[derive(Debug)]
pub struct Speculation {
    pub(in crate::execute::evm) outcome: Outcome,
    pub(in crate::execute::evm) changed: EvmState,
    /// Wei for the beneficiary.
    pub(in crate::execute::evm) fee: U256,
    pub(super) read_set: ReadSet,
}

impl Speculation {
    /// Gas that the transaction used.
    pub fn gas_used(&self) -> u64 {
        self.outcome.gas_used
    }

    /// Caches the slots of the read set in a state on disk. They are current even if the
    /// speculation aborts.
    pub(in crate::execute::evm) fn cache_slots(&self, state: &mut State) -> Result<(), StateError> {
        self.read_set.cache_slots(state)
    }

    /// Returns whether the transaction would have the same effect on this state.
    pub(in crate::execute::evm) fn validate(
        &self,
        view: &mut View<'_>,
    ) -> Result<bool, StateError> {
        for (address, before) in &self.read_set.accounts {
            let now = view.basic(*address)?;
            if now.map(|now| AccountInfo { account_id: None, ..now }) != *before {
                return Ok(false);
            }
        }
        for (address, slot, before) in &self.read_set.slots {
            let now = view.storage(*address, *slot)?;
            if now != *before && !self.overwrites(*address, *slot, [*before, now]) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a slot was only written, once, with the same gas over each of `values`.
    fn overwrites(&self, address: primitives::Address, slot: U256, values: [U256; 2]) -> bool {
        let uses = self.read_set.uses.get(&(address, slot)).copied().unwrap_or_default();
        if (uses.loads, uses.stores) != (0, 1) {
            return false;
        }
        let account = self.changed.get(&address);
        let Some(slot) = account.and_then(|account| account.storage.get(&slot)) else {
            return false;
        };
        let written = slot.present_value;
        !written.is_zero() && values.iter().all(|value| !value.is_zero() && *value != written)
    }

    /// Rebases the sender's balance after the transaction on its actual balance before it.
    pub(in crate::execute::evm) fn pay(&mut self, sender: &Address, balance: U256) {
        if let Some(account) = self.changed.get_mut(&primitives::Address::from(*sender)) {
            let after = account.info.balance;
            account.info.balance = balance.wrapping_add(after).wrapping_sub(SPECULATIVE_BALANCE);
            account.original_info_mut().balance = balance;
        }
    }
}
