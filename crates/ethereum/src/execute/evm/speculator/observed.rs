//! The state as a speculation reads it.

use super::SPECULATIVE_BALANCE;
use super::read_set::ReadSet;
use crate::U256;
use crate::execute::evm::steps::Hashing;
use crate::execute::evm::{info_of, owns_nothing};
use crate::execute::history::PrefetchedIndex;
use crate::state::{AccountId, EMPTY_CODE, State, StateError};
use revm::database_interface::Database;
use revm::primitives::{self, B256};
use revm::state::{self, AccountInfo};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A state that other threads change during the speculation. Each read is consistent in itself;
/// two reads may be of different blocks. Validation compares the whole read set.
pub(in crate::execute::evm) struct ObservedState<'s> {
    pub(super) state: &'s RwLock<State>,
    /// Prefetched slots, which are not read from disk again.
    pub(super) prefetched: &'s PrefetchedIndex<'s>,
    pub(super) sender: primitives::Address,
    pub(super) nonce: u64,
    pub(super) read_set: ReadSet,
    pub(in crate::execute::evm) hashing: Hashing,
}

impl ObservedState<'_> {
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        // a panic ends the run elsewhere
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for ObservedState<'_> {
    type Error = StateError;

    fn basic(&mut self, address: primitives::Address) -> Result<Option<AccountInfo>, StateError> {
        let info = {
            let state = self.state();
            // the machine gets only indexes that stay valid
            let lasts = !state.is_on_disk();
            state.peek_account(&address.0.0, |found, has_slots| {
                let mut info = info_of(found);
                if has_slots && owns_nothing(&info) {
                    info.nonce = 1;
                }
                info.account_id = info.account_id.filter(|_| lasts);
                info
            })?
        };
        if address == self.sender {
            let id = info.as_ref().and_then(|info| info.account_id);
            let has_code = info.is_some_and(|info| info.code_hash.0 != EMPTY_CODE);
            self.read_set.depends_on_order |= has_code;
            let (balance, nonce) = (SPECULATIVE_BALANCE, self.nonce);
            return Ok(Some(AccountInfo { balance, nonce, account_id: id, ..Default::default() }));
        }
        let read = info.clone().map(|info| AccountInfo { code: None, account_id: None, ..info });
        self.read_set.accounts.push((address, read));
        Ok(info)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<revm::bytecode::Bytecode, StateError> {
        self.state().code(&hash.0).map(|code| code.0)
    }

    fn storage(&mut self, address: primitives::Address, slot: U256) -> Result<U256, StateError> {
        let read = |generation| self.prefetched.get(&(address.0.0, slot), generation);
        let value = self.state().peek_slot(&address.0.0, &slot, read)?;
        self.read_set.slots.push((address, slot, value));
        Ok(value)
    }

    fn storage_by_account_id(
        &mut self,
        address: primitives::Address,
        id: state::AccountId,
        slot: U256,
    ) -> Result<U256, StateError> {
        // `basic` gave out the index, so it stays valid
        let value = self.state().slot_of(id.get() as AccountId, &slot);
        self.read_set.slots.push((address, slot, value));
        Ok(value)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        // the hash of a known block never changes; an unknown one ends the speculation
        let hash = self.state().ancestors.hash_of(number);
        hash.map(B256::from).ok_or(StateError::MissingBlockHash { number })
    }
}
