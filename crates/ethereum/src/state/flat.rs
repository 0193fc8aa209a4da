//! The flat state.

use super::entry::{Entry, Source};
use super::turns::Turns;
use super::{
    Account, AccountChange, AccountId, Changes, EMPTY_CODE, NodeSet, SharedState, SlotChange,
    StateError,
};
use crate::execute::{Ancestors, Code};
use crate::params::genesis::GenesisAccount;
use crate::{Address, Hash, U256};
use hashbrown::HashMap;

/// Slots that are fetched while another is set.
const AHEAD: usize = 12;

/// An account that exists: its index, what it owns, and its code where that is at hand.
pub type Found<'s> = (AccountId, Account, Option<&'s Code>);

/// Accounts and slots after some block, the hashes of the last blocks, and the changes since
/// [`State::take_changes`].
///
/// Either all of the state is in memory, or a part of it. Then the rest is read as it is asked for:
/// from the nodes of its tries, and what these lack is an error ([`State::of_nodes`]); or from a
/// state on disk ([`State::on_disk`]), and what was not asked for lately is let go of
/// ([`State::turn`]).
#[derive(Debug)]
pub struct State {
    pub(super) index: HashMap<Address, AccountId>,
    pub(super) entries: Vec<Entry>,
    pub(super) codes: HashMap<Hash, Code>,
    changes: Changes,
    /// Counts the lists of changes, from 1.
    pub(super) epoch: u64,
    pub(super) source: Source,
    pub(super) turns: Turns,
    /// The blocks that BLOCKHASH can name.
    pub ancestors: Ancestors,
}

impl Default for State {
    fn default() -> Self {
        Self {
            index: HashMap::default(),
            entries: vec![],
            codes: HashMap::default(),
            changes: Changes::default(),
            epoch: 1,
            source: Source::Memory,
            turns: Turns::default(),
            ancestors: Ancestors::default(),
        }
    }
}

impl State {
    /// The state that a chain begins with; its accounts are the first changes.
    ///
    /// # Errors
    /// More accounts than an index can name.
    pub fn of_accounts(accounts: &[GenesisAccount]) -> Result<Self, StateError> {
        let mut state = Self::default();
        for given in accounts {
            let code = (!given.code.is_empty()).then(|| Code::new(given.code.clone()));
            let code_hash = code.as_ref().map_or(EMPTY_CODE, Code::hash);
            let account = Account { nonce: given.nonce, balance: given.balance, code_hash };
            let id = state.set_account(&given.address, Some(account), code)?;
            for (slot, value) in &given.storage {
                state.set_slot(id, U256::from_be_bytes(*slot), U256::from_be_bytes(*value));
            }
        }
        Ok(state)
    }

    /// The state with this root, of which only some trie nodes and codes are known.
    pub fn of_nodes(root: Hash, nodes: NodeSet, codes: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let codes = codes.into_iter().map(|code| {
            let code = Code::new(code);
            (code.hash(), code)
        });
        let source = Source::Nodes(nodes, root);
        Self { codes: codes.collect(), source, ..Self::default() }
    }

    /// A state on disk, of which a part is kept in memory.
    #[must_use]
    pub fn on_disk(disk: SharedState) -> Self {
        let turns = Turns::within(disk.read().execution_bytes());
        Self { source: Source::Disk(disk), turns, ..Self::default() }
    }

    /// Whether accounts come and go in memory, so that an index does not last.
    #[must_use]
    pub fn is_on_disk(&self) -> bool {
        matches!(self.source, Source::Disk(_))
    }

    /// The index of an account, which is known from now on.
    pub(super) fn id(&mut self, address: &Address) -> Result<AccountId, StateError> {
        if let Some(id) = self.index.get(address) {
            return Ok(*id);
        }
        let id = AccountId::try_from(self.entries.len())
            .ok()
            .filter(|id| *id < AccountId::MAX)
            .ok_or(StateError::TooManyAccounts)?;
        let entry = self.entry_of(address)?;
        self.entries.push(entry);
        self.index.insert(*address, id);
        Ok(id)
    }

    /// An account, its index, and its code where that is known without looking for it.
    ///
    /// # Errors
    /// A trie node that is not known.
    pub fn account(&mut self, address: &Address) -> Result<Option<Found<'_>>, StateError> {
        if !matches!(self.source, Source::Memory) {
            self.id(address)?;
        }
        Ok(self.found(address))
    }

    /// The same of an account that is in memory.
    #[must_use]
    pub fn found(&self, address: &Address) -> Option<Found<'_>> {
        let id = *self.index.get(address)?;
        let entry = &self.entries[id as usize];
        entry.account.map(|account| (id, account, entry.code.as_ref()))
    }

    /// The value of an account's slot, 0 where it has none.
    ///
    /// # Errors
    /// A trie node that is not known.
    #[inline]
    pub fn slot(&mut self, id: AccountId, slot: &U256) -> Result<U256, StateError> {
        let entry = &mut self.entries[id as usize];
        let value = entry.slots.get(slot);
        if !value.is_zero() || entry.unread.is_none() {
            return Ok(value);
        }
        let (value, is_new) = entry.ask(slot, &self.source)?;
        self.turns.add(usize::from(is_new));
        Ok(value)
    }

    /// Whether an account has a slot that is not 0, as far as the slots that were not read can
    /// tell.
    pub fn has_slots(&self, id: AccountId) -> bool {
        self.entries[id as usize].has_slots()
    }

    /// The code with this hash.
    ///
    /// # Errors
    /// A code that is not known.
    pub fn code(&self, hash: &Hash) -> Result<Code, StateError> {
        if *hash == EMPTY_CODE {
            return Ok(Code::default());
        }
        let found = match self.codes.get(hash) {
            Some(code) => Some(code.clone()),
            None => self.code_elsewhere(hash)?,
        };
        found.ok_or(StateError::MissingCode { hash: *hash })
    }

    /// The codes that are known, under their hashes, in no order.
    pub fn codes(&self) -> impl Iterator<Item = (&Hash, &Code)> {
        self.codes.iter()
    }

    /// The accounts that exist, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = (AccountId, &Address, &Account)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(id, entry)| {
            Some((id as AccountId, &entry.address, entry.account.as_ref()?))
        })
    }

    /// The slots of an account that are known and not 0, in no order.
    pub fn slots(&self, id: AccountId) -> impl Iterator<Item = (&U256, &U256)> {
        self.entries[id as usize].slots.iter()
    }

    /// Puts an account on the list of changes, as it is now.
    fn list(&mut self, id: AccountId) {
        let entry = &mut self.entries[id as usize];
        if entry.listed.0 != self.epoch {
            entry.listed = (self.epoch, self.changes.accounts.len() as u32);
            let (address, before) = (entry.address, entry.account);
            self.changes.accounts.push(AccountChange { id, address, before, after: before });
        }
    }

    /// Sets an account, and its code where that is new. An account that ends keeps its slots: they
    /// are for [`State::clear_slots`].
    ///
    /// # Errors
    /// A trie node that is not known; more accounts than an index can name.
    pub fn set_account(
        &mut self,
        address: &Address,
        account: Option<Account>,
        code: Option<Code>,
    ) -> Result<AccountId, StateError> {
        let id = self.id(address)?;
        if self.entries[id as usize].account == account {
            return Ok(id);
        }
        self.list(id);
        let entry = &mut self.entries[id as usize];
        let hash = |account: &Option<Account>| account.map_or(EMPTY_CODE, |a| a.code_hash);
        let (old, new) = (hash(&entry.account), hash(&account));
        entry.account = account;
        if old == new {
            return Ok(id);
        }
        entry.code = None;
        if new != EMPTY_CODE {
            let known = self.codes.get(&new).cloned();
            if let (None, Some(code)) = (&known, &code) {
                // one that was let go of, or that is on disk
                let is_new = !self.is_on_disk() || self.code_elsewhere(&new)?.is_none();
                self.codes.insert(new, code.clone());
                if is_new {
                    self.changes.codes.push((new, code.clone()));
                }
            }
            self.entries[id as usize].code = code.or(known);
        }
        Ok(id)
    }

    /// Sets a slot of an account. The old value must be known: it was asked for before.
    pub fn set_slot(&mut self, id: AccountId, slot: U256, value: U256) {
        let before = self.entries[id as usize].put(slot, value);
        if before != value {
            // more than it takes where a slot is set again and again
            self.turns.add(1);
            self.list(id);
            self.changes.slots.push(SlotChange { id, slot, before, after: value });
        }
    }

    /// Sets some slots of an account in the same way. Their places are fetched ahead: those of a
    /// large account lie far apart.
    pub fn set_slots(&mut self, id: AccountId, slots: &[(U256, U256)]) {
        for (at, (slot, value)) in slots.iter().enumerate() {
            if let Some((ahead, _)) = slots.get(at + AHEAD) {
                self.entries[id as usize].slots.touch(ahead);
            }
            self.set_slot(id, *slot, *value);
        }
    }

    /// Sets all slots of an account to 0.
    pub fn clear_slots(&mut self, id: AccountId) {
        let entry = &mut self.entries[id as usize];
        let Some(slots) = entry.clear(&self.source, self.turns.number()) else { return };
        self.list(id);
        self.changes.cleared.push(id);
        let ended = slots.into_iter().map(|(slot, before)| {
            let after = U256::ZERO;
            SlotChange { id, slot, before, after }
        });
        self.changes.slots.extend(ended);
    }

    /// Adds wei to an account, which exists from then on; where `clear_empty` says so, an account
    /// that is empty all the same ceases to exist (EIP-161).
    ///
    /// # Errors
    /// A trie node that is not known; a balance beyond 256 bits.
    pub fn credit(
        &mut self,
        address: &Address,
        amount: U256,
        clear_empty: bool,
    ) -> Result<(), StateError> {
        let mut account = self.account(address)?.map(|found| found.1).unwrap_or_default();
        let overflow = StateError::BalanceOverflow { address: *address };
        account.balance = account.balance.checked_add(amount).ok_or(overflow)?;
        let ended = clear_empty && account.is_empty();
        let id = self.set_account(address, (!ended).then_some(account), None)?;
        if ended {
            self.clear_slots(id);
        }
        Ok(())
    }

    /// What was changed since the last call.
    pub fn take_changes(&mut self) -> Changes {
        self.epoch += 1;
        let mut changes = std::mem::take(&mut self.changes);
        for change in &mut changes.accounts {
            change.after = self.entries[change.id as usize].account;
        }
        changes
    }

    /// Takes back what a block changed; the blocks after it were taken back before.
    pub fn undo(&mut self, changes: &Changes) {
        for change in changes.slots.iter().rev() {
            self.put_slot(change.id, change.slot, change.before);
        }
        for change in &changes.accounts {
            self.put_account(change.id, change.before);
        }
    }

    /// Does again what [`State::undo`] took back.
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

    /// Sets an account of a state that is read back, of which no change is noted.
    ///
    /// # Errors
    /// More accounts than an index can name.
    pub fn restore_account(
        &mut self,
        address: &Address,
        account: Option<Account>,
    ) -> Result<AccountId, StateError> {
        let id = self.id(address)?;
        self.put_account(id, account);
        Ok(id)
    }

    /// Sets a slot in the same way.
    pub fn restore_slot(&mut self, id: AccountId, slot: U256, value: U256) {
        self.put_slot(id, slot, value);
    }

    /// Makes a code known in the same way.
    pub fn restore_code(&mut self, code: Code) {
        self.codes.insert(code.hash(), code);
    }

    /// An account as it is in a state of which all is known.
    #[must_use]
    pub fn account_at(&self, address: &Address) -> Option<&Account> {
        let id = self.index.get(address)?;
        self.entries[*id as usize].account.as_ref()
    }

    /// The value of a slot in a state of which all is known; 0 where it has none.
    #[must_use]
    pub fn slot_at(&self, address: &Address, slot: &U256) -> U256 {
        let id = self.index.get(address);
        id.map_or(U256::ZERO, |id| self.entries[*id as usize].slots.get(slot))
    }

    /// The same of an account with this index.
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
