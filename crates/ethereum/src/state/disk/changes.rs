//! What blocks change, by hashed key, as a state on disk takes it.

use crate::state::{Account, AccountId, Changes};
use crate::{Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_state_store::{Change, StateKey};
use blockmill_trie::EMPTY_ROOT;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// Changes of accounts and slots by hashed key; of several of one key the last counts.
#[derive(Debug, Default)]
pub struct HashedChanges {
    /// Accounts whose storage is emptied as a whole before anything else, and that go on.
    cleared: Vec<Hash>,
    /// Keys, and where their values are; none for those that are removed.
    leaves: Vec<(StateKey, Option<Range<usize>>)>,
    values: Vec<u8>,
}

impl HashedChanges {
    /// Those of a list of changes; keys are hashed with `hasher`.
    #[must_use]
    pub fn of(changes: &Changes, hasher: ManyKeccak) -> Self {
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

    /// Sets an account, or removes it with its storage. Its storage root is for the state.
    pub fn account(&mut self, key: Hash, account: Option<&Account>) {
        let value = account.map(|account| {
            let (nonce, balance) = (account.nonce, account.balance);
            let (storage_root, code_hash) = (&EMPTY_ROOT, &account.code_hash);
            self.value(&Leaf { nonce, balance, storage_root, code_hash }.encode())
        });
        self.leaves.push((StateKey::account(key), value));
    }

    /// Sets a slot, or removes it where it is 0.
    pub fn slot(&mut self, account: Hash, slot: Hash, value: U256) {
        let value = (!value.is_zero()).then(|| self.value(&value.encode()));
        self.leaves.push((StateKey::slot(account, slot), value));
    }

    /// Empties the storage of an account that goes on.
    pub fn clear(&mut self, account: Hash) {
        self.cleared.push(account);
    }

    fn value(&mut self, value: &[u8]) -> Range<usize> {
        let start = self.values.len();
        self.values.extend_from_slice(value);
        start..self.values.len()
    }

    /// The same in the order of their keys, each once.
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

    /// The accounts that are removed; none where there are none.
    fn ended(&self) -> Option<HashSet<Hash>> {
        let is_ended =
            |(key, value): &&(StateKey, Option<_>)| key.slot.is_none() && value.is_none();
        let ended: HashSet<Hash> =
            self.leaves.iter().filter(is_ended).map(|(key, _)| key.account).collect();
        (!ended.is_empty()).then_some(ended)
    }

    /// Takes those of a later block, which removes nothing as a whole ([`Self::removes`]). The
    /// result is not in order.
    pub fn append(&mut self, later: &Self) {
        debug_assert!(!later.removes());
        let start = self.values.len();
        self.values.extend_from_slice(&later.values);
        let moved = |at: &Range<usize>| start + at.start..start + at.end;
        let leaves = later.leaves.iter();
        self.leaves.extend(leaves.map(|(key, at)| (*key, at.as_ref().map(moved))));
    }

    /// Is an account removed, or its storage emptied? What changed before must be there then.
    #[must_use]
    pub fn removes(&self) -> bool {
        !self.cleared.is_empty() || self.ended().is_some()
    }

    /// Keys that change.
    #[must_use]
    pub fn count(&self) -> usize {
        self.leaves.len()
    }

    /// The removals of accounts that go on without their storage, in order.
    pub(super) fn cleared(&self) -> Vec<Change<'static>> {
        let removed = self.cleared.iter();
        removed.map(|key| Change { key: StateKey::account(*key), value: None }).collect()
    }

    /// Everything else, in order.
    pub(super) fn leaves(&self) -> Vec<Change<'_>> {
        let value = |range: &Range<usize>| &self.values[range.clone()];
        let leaves = self.leaves.iter();
        leaves.map(|(key, at)| Change { key: *key, value: at.as_ref().map(value) }).collect()
    }
}
