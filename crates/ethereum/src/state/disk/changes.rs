//! Changes of blocks by hashed key, as a state on disk applies them.

use crate::state::{Account, AccountId, Changes};
use crate::{Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_state_store::{Change, StateKey};
use blockmill_trie::EMPTY_ROOT;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// Changes of accounts and slots by hashed key. The last change of a key counts.
#[derive(Debug, Default)]
pub struct HashedChanges {
    /// Accounts that still exist and whose storage is cleared before all other changes.
    cleared: Vec<Hash>,
    /// Keys, and the ranges of their values; `None` for removed ones.
    leaves: Vec<(StateKey, Option<Range<usize>>)>,
    values: Vec<u8>,
}

impl HashedChanges {
    /// Converts a list of changes; `hasher` hashes the keys.
    #[must_use]
    pub fn from_changes(changes: &Changes, hasher: ManyKeccak) -> Self {
        let addresses = changes.accounts.iter().map(|change| &change.address[..]);
        let slots: Vec<Hash> = changes.slots.iter().map(|s| s.slot.to_be_bytes()).collect();
        let messages: Vec<&[u8]> = addresses.chain(slots.iter().map(|slot| &slot[..])).collect();
        let mut keys = vec![[0; 32]; messages.len()];
        hasher.keccak256(&messages, &mut keys);
        let (accounts, slots) = keys.split_at(changes.accounts.len());
        let mut own: HashMap<AccountId, (Hash, bool)> = HashMap::default();
        let mut found = Self::default();
        for (change, key) in changes.accounts.iter().zip(accounts) {
            own.insert(change.id, (*key, change.after.is_some()));
            found.account(*key, change.after.as_ref());
        }
        // each account with a changed slot is among the accounts
        for (change, slot) in changes.slots.iter().zip(slots) {
            if let Some((account, true)) = own.get(&change.id) {
                found.slot(*account, *slot, change.after);
            }
        }
        for id in &changes.cleared {
            if let Some((account, true)) = own.get(id) {
                found.cleared.push(*account);
            }
        }
        found.in_order()
    }

    /// Sets an account, or removes it with its storage. The state sets its storage root.
    pub fn account(&mut self, key: Hash, account: Option<&Account>) {
        let value = account.map(|account| {
            let (nonce, balance) = (account.nonce, account.balance);
            let (storage_root, code_hash) = (&EMPTY_ROOT, &account.code_hash);
            self.value(&Leaf { nonce, balance, storage_root, code_hash }.encode())
        });
        self.leaves.push((StateKey::account(key), value));
    }

    /// Sets a slot, or removes it if `value` is 0.
    pub fn slot(&mut self, account: Hash, slot: Hash, value: U256) {
        let value = (!value.is_zero()).then(|| self.value(&value.encode()));
        self.leaves.push((StateKey::slot(account, slot), value));
    }

    /// Clears the storage of an account that still exists.
    pub fn clear(&mut self, account: Hash) {
        self.cleared.push(account);
    }

    fn value(&mut self, value: &[u8]) -> Range<usize> {
        let start = self.values.len();
        self.values.extend_from_slice(value);
        start..self.values.len()
    }

    /// Sorts the changes by key, each key once.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.leaves.sort_by_key(|(key, _)| *key);
        // of equal keys the last one stays
        self.leaves.reverse();
        self.leaves.dedup_by_key(|(key, _)| *key);
        self.leaves.reverse();
        self.cleared.sort_unstable();
        self.cleared.dedup();
        if let Some(ended) = self.ended() {
            self.leaves.retain(|(key, _)| key.slot.is_none() || !ended.contains(&key.account));
        }
        self
    }

    /// The accounts that are removed; `None` if no account is.
    fn ended(&self) -> Option<HashSet<Hash>> {
        let is_ended =
            |(key, value): &&(StateKey, Option<_>)| key.slot.is_none() && value.is_none();
        let ended: HashSet<Hash> =
            self.leaves.iter().filter(is_ended).map(|(key, _)| key.account).collect();
        (!ended.is_empty()).then_some(ended)
    }

    /// Appends the changes of a later block that clears no storage ([`Self::removes`]). The result
    /// is not sorted.
    pub fn append(&mut self, later: &Self) {
        debug_assert!(!later.removes());
        let start = self.values.len();
        self.values.extend_from_slice(&later.values);
        let moved = |at: &Range<usize>| start + at.start..start + at.end;
        let leaves = later.leaves.iter();
        self.leaves.extend(leaves.map(|(key, at)| (*key, at.as_ref().map(moved))));
    }

    /// Whether an account is removed or its storage cleared. Earlier changes must be applied first.
    #[must_use]
    pub fn removes(&self) -> bool {
        !self.cleared.is_empty() || self.ended().is_some()
    }

    /// Number of changed keys, possibly counted several times.
    #[must_use]
    pub fn count(&self) -> usize {
        self.leaves.len()
    }

    /// Removals that clear the storage of accounts that still exist, sorted.
    pub(super) fn cleared(&self) -> Vec<Change<'static>> {
        let removed = self.cleared.iter();
        removed.map(|key| Change { key: StateKey::account(*key), value: None }).collect()
    }

    /// All other changes, sorted.
    pub(super) fn leaves(&self) -> Vec<Change<'_>> {
        let value = |range: &Range<usize>| &self.values[range.clone()];
        let leaves = self.leaves.iter();
        leaves.map(|(key, at)| Change { key: *key, value: at.as_ref().map(value) }).collect()
    }
}
