//! The flat state.

mod listed;
mod read_back;

use super::entry::{Backing, Entry};
use super::generations::Generations;
use super::{
    Account, AccountChange, AccountId, Changes, EMPTY_CODE, NodeSet, PlantedTries, SharedState,
    SlotChange, StateError,
};
use crate::execute::{Ancestors, Code, CodeCache};
use crate::params::genesis::{GenesisAccount, code_hashes};
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use hashbrown::HashMap;
use std::sync::Arc;

/// Distance of the prefetch, in slots, when many slots are read or set.
const PREFETCH: usize = 12;

/// An account that exists: its index, the account, and its code if that is at hand.
pub type Found<'s> = (AccountId, Account, Option<&'s Code>);

/// Accounts and slots after some block, the hashes of the last blocks, and the changes since the
/// last [`State::take_changes`].
///
/// The state is in memory as a whole or in part. The rest is read on demand: from trie nodes
/// ([`State::from_nodes`]), where a missing node is an error; or from a state on disk
/// ([`State::on_disk`]), where entries that were not used lately are dropped
/// ([`State::advance_generation`]).
#[derive(Debug)]
pub struct State {
    pub(super) index: HashMap<Address, AccountId>,
    pub(super) entries: Vec<Entry>,
    pub(super) codes: HashMap<Hash, Code>,
    changes: Changes,
    /// Number of the current list of changes, from 1.
    pub(super) epoch: u64,
    pub(super) backing: Backing,
    pub(super) generations: Generations,
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
            backing: Backing::Memory,
            generations: Generations::default(),
            ancestors: Ancestors::default(),
        }
    }
}

impl State {
    /// The state of a genesis block; its accounts are the first changes.
    ///
    /// # Errors
    /// [`StateError::TooManyAccounts`].
    pub fn from_accounts(accounts: &[GenesisAccount]) -> Result<Self, StateError> {
        let mut state = Self::default();
        for (given, code_hash) in accounts.iter().zip(code_hashes(accounts)) {
            let code = (!given.code.is_empty()).then(|| Code::new(given.code.clone()));
            let account = Account { nonce: given.nonce, balance: given.balance, code_hash };
            let id = state.set_account(&given.address, Some(account), code)?;
            for (slot, value) in &given.storage {
                state.set_slot(id, U256::from_be_bytes(*slot), U256::from_be_bytes(*value));
            }
        }
        Ok(state)
    }

    /// The state with this root, of which some trie nodes and codes are known.
    #[must_use]
    pub fn from_nodes(root: Hash, nodes: NodeSet, codes: Arc<CodeCache>) -> Self {
        Self { backing: Backing::Nodes(nodes, root, codes), ..Self::default() }
    }

    /// The state before a block in the tries of its witness, with the codes of a set.
    #[must_use]
    pub fn from_planted(tries: PlantedTries, set: NodeSet, codes: Arc<CodeCache>) -> Self {
        Self { backing: Backing::Planted(tries, set, codes), ..Self::default() }
    }

    /// A state on disk, with a cache in memory.
    #[must_use]
    pub fn on_disk(disk: SharedState) -> Self {
        let generations = Generations::within(disk.read().execution_bytes());
        Self { backing: Backing::Disk(disk), generations, ..Self::default() }
    }

    /// Whether the state is on disk. Then indexes of accounts are valid in one generation only.
    #[must_use]
    pub fn is_on_disk(&self) -> bool {
        matches!(self.backing, Backing::Disk(_))
    }

    /// The index of an account, which is loaded if need be.
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

    /// An account, its index, and its code if that is at hand.
    ///
    /// # Errors
    /// [`StateError::MissingNode`], [`StateError::BadNode`] or [`StateError::Disk`] if the account
    /// cannot be read; [`StateError::TooManyAccounts`].
    pub fn account(&mut self, address: &Address) -> Result<Option<Found<'_>>, StateError> {
        if !matches!(self.backing, Backing::Memory) {
            self.id(address)?;
        }
        Ok(self.found(address))
    }

    /// The same for an account that is in memory.
    #[must_use]
    pub fn found(&self, address: &Address) -> Option<Found<'_>> {
        let id = *self.index.get(address)?;
        let entry = &self.entries[id as usize];
        entry.account.map(|account| (id, account, entry.code.as_ref()))
    }

    /// The value of an account's slot; 0 if there is none.
    ///
    /// # Errors
    /// [`StateError::MissingNode`], [`StateError::BadNode`] or [`StateError::Disk`] if it cannot be
    /// read.
    #[inline]
    pub fn slot(&mut self, id: AccountId, slot: &U256) -> Result<U256, StateError> {
        let entry = &mut self.entries[id as usize];
        let value = entry.slots.get(slot);
        if !value.is_zero() || entry.unread.is_none() {
            return Ok(value);
        }
        let (value, is_new) = entry.load(slot, &self.backing)?;
        self.generations.add(usize::from(is_new));
        Ok(value)
    }

    /// Whether an account has, or may have on disk, a slot that is not 0.
    pub fn has_slots(&self, id: AccountId) -> bool {
        self.entries[id as usize].has_slots()
    }

    /// The code with this hash.
    ///
    /// # Errors
    /// [`StateError::MissingCode`] if it is not known; [`StateError::Disk`] if it cannot be read.
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

    /// The codes in memory with their hashes, in no order.
    pub fn codes(&self) -> impl Iterator<Item = (&Hash, &Code)> {
        self.codes.iter()
    }

    /// The accounts in memory that exist, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = (AccountId, &Address, &Account)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(id, entry)| {
            Some((id as AccountId, &entry.address, entry.account.as_ref()?))
        })
    }

    /// The accounts in memory that exist with the Keccak-256 of their addresses, by which they are
    /// sorted.
    #[must_use]
    pub fn accounts_by_key(
        &self,
        hasher: ManyKeccak,
    ) -> Vec<(Hash, AccountId, &Address, &Account)> {
        let all: Vec<_> = self.accounts().collect();
        let messages: Vec<&[u8]> = all.iter().map(|(_, address, _)| &address[..]).collect();
        let mut keys = vec![[0; 32]; all.len()];
        hasher.keccak256(&messages, &mut keys);
        let keyed = keys.into_iter().zip(all);
        let mut keyed: Vec<_> =
            keyed.map(|(key, (id, address, account))| (key, id, address, account)).collect();
        keyed.sort_unstable_by_key(|account| account.0);
        keyed
    }

    /// The slots of an account that are in memory and not 0, in no order.
    pub fn slots(&self, id: AccountId) -> impl Iterator<Item = (&U256, &U256)> {
        self.entries[id as usize].slots.iter()
    }

    /// Adds an account to the list of changes, with its present value.
    fn list(&mut self, id: AccountId) {
        let entry = &mut self.entries[id as usize];
        if entry.listed.0 != self.epoch {
            entry.listed = (self.epoch, self.changes.accounts.len() as u32);
            let (address, before) = (entry.address, entry.account);
            self.changes.accounts.push(AccountChange { id, address, before, after: before });
        }
    }

    /// Sets an account, and its code if that is new. An account that is removed keeps its slots
    /// until [`State::clear_slots`].
    ///
    /// # Errors
    /// [`StateError::MissingNode`], [`StateError::BadNode`] or [`StateError::Disk`] if its present
    /// value cannot be read; [`StateError::TooManyAccounts`].
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
                // it may be in the previous generation, or on disk
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

    /// Sets a slot of an account. The old value must be in memory: it was read before.
    pub fn set_slot(&mut self, id: AccountId, slot: U256, value: U256) {
        let before = self.entries[id as usize].put(slot, value);
        if before != value {
            // overestimates a slot that is set several times
            self.generations.add(1);
            self.list(id);
            self.changes.slots.push(SlotChange { id, slot, before, after: value });
        }
    }

    /// Sets slots of an account. Their cache lines are prefetched: a large account is larger than
    /// the CPU's caches.
    pub fn set_slots(&mut self, id: AccountId, slots: &[(U256, U256)]) {
        for (at, (slot, value)) in slots.iter().enumerate() {
            if let Some((next, _)) = slots.get(at + PREFETCH) {
                self.entries[id as usize].slots.touch(next);
            }
            self.set_slot(id, *slot, *value);
        }
    }

    /// Sets all slots of an account to 0.
    pub fn clear_slots(&mut self, id: AccountId) {
        let entry = &mut self.entries[id as usize];
        let Some(slots) = entry.clear(&self.backing, self.generations.number()) else { return };
        self.list(id);
        self.changes.cleared.push(id);
        let ended = slots.into_iter().map(|(slot, before)| {
            let after = U256::ZERO;
            SlotChange { id, slot, before, after }
        });
        self.changes.slots.extend(ended);
    }

    /// Adds wei to an account, which is created if need be. With `clear_empty`, an account that is
    /// empty afterwards is removed (EIP-161).
    ///
    /// # Errors
    /// [`StateError`] if the account cannot be read; [`StateError::BalanceOverflow`].
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

    /// Takes the changes since the last call.
    pub fn take_changes(&mut self) -> Changes {
        self.epoch += 1;
        let mut changes = std::mem::take(&mut self.changes);
        for change in &mut changes.accounts {
            change.after = self.entries[change.id as usize].account;
        }
        changes
    }
}
