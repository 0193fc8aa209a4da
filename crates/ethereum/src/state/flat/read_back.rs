//! A state that is read back from a store: values without a list of changes, undo and redo.

use super::State;
use crate::execute::Code;
use crate::state::{Account, AccountId, Changes, StateError};
use crate::{Address, U256};

impl State {
    /// Undoes the changes of the last block.
    pub fn undo(&mut self, changes: &Changes) {
        for change in changes.slots.iter().rev() {
            self.put_slot(change.id, change.slot, change.before);
        }
        for change in &changes.accounts {
            self.put_account(change.id, change.before);
        }
    }

    /// Redoes changes that [`State::undo`] undid.
    pub fn redo(&mut self, changes: &Changes) {
        for change in &changes.slots {
            self.put_slot(change.id, change.slot, change.after);
        }
        for (hash, code) in &changes.codes {
            self.codes.insert(*hash, code.clone());
        }
        for change in &changes.accounts {
            self.put_account(change.id, change.after);
        }
    }

    /// Sets an account without listing the change.
    ///
    /// # Errors
    /// [`StateError`] if the account cannot be read.
    pub fn restore_account(
        &mut self,
        address: &Address,
        account: Option<Account>,
    ) -> Result<AccountId, StateError> {
        let id = self.id(address)?;
        self.put_account(id, account);
        Ok(id)
    }

    /// Sets a slot without listing the change.
    pub fn restore_slot(&mut self, id: AccountId, slot: U256, value: U256) {
        self.put_slot(id, slot, value);
    }

    /// Adds a code without listing the change.
    pub fn restore_code(&mut self, code: Code) {
        self.codes.insert(code.hash(), code);
    }

    /// An account of a state that is in memory as a whole.
    #[must_use]
    pub fn account_at(&self, address: &Address) -> Option<&Account> {
        let id = self.index.get(address)?;
        self.entries[*id as usize].account.as_ref()
    }

    /// The value of a slot of a state that is in memory as a whole; 0 if there is none.
    #[must_use]
    pub fn slot_at(&self, address: &Address, slot: &U256) -> U256 {
        let id = self.index.get(address);
        id.map_or(U256::ZERO, |id| self.entries[*id as usize].slots.get(slot))
    }

    /// The value of a slot of the account with this index; 0 if it is not in memory.
    #[must_use]
    pub fn slot_of(&self, id: AccountId, slot: &U256) -> U256 {
        self.entries[id as usize].slots.get(slot)
    }

    fn put_slot(&mut self, id: AccountId, slot: U256, value: U256) {
        self.entries[id as usize].put(slot, value);
    }

    fn put_account(&mut self, id: AccountId, account: Option<Account>) {
        let entry = &mut self.entries[id as usize];
        entry.account = account;
        entry.code = account.and_then(|account| self.codes.get(&account.code_hash).cloned());
    }
}
