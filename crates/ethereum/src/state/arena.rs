//! The tries over the state in two arenas: the storage of all accounts, and the accounts. All keys
//! of a block are hashed together in lanes, walk down together, and the nodes that changed are
//! hashed level by level ([`trie::update`]).

use super::{AccountId, Changes, StateError};
use crate::Hash;
use crypto::ManyKeccak;
use rlp::Encode;
use rlp::ethereum::Account as Leaf;
use trie::EMPTY_ROOT;
use trie::codec::Ethereum;
use trie::update::{self, Forest, TrieId, Update};

/// What the tries know of an account.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Keccak-256 of its address.
    key: Option<Hash>,
    storage: Option<TrieId>,
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct ArenaTries {
    accounts: Forest<Ethereum>,
    state: TrieId,
    storage: Forest<Ethereum>,
    /// By account.
    known: Vec<Known>,
    hasher: ManyKeccak,
}

impl ArenaTries {
    /// No accounts.
    pub fn new() -> Result<Self, StateError> {
        let mut accounts = Forest::new(Ethereum::default());
        let state = accounts.create()?;
        let storage = Forest::new(Ethereum::default());
        Ok(Self { accounts, state, storage, known: vec![], hasher: ManyKeccak::detect() })
    }

    /// The state root.
    pub fn root(&self) -> Result<Hash, StateError> {
        Ok(self.accounts.root(self.state)?)
    }

    /// The state root after `changes`.
    pub fn apply(&mut self, changes: &Changes) -> Result<Hash, StateError> {
        self.learn(changes);
        self.apply_slots(changes)?;
        self.apply_accounts(changes)?;
        self.root()
    }

    /// Hashes the addresses that were not met before.
    fn learn(&mut self, changes: &Changes) {
        let ids = changes.accounts.iter().map(|change| change.id as usize + 1);
        let most = ids.max().unwrap_or(0).max(self.known.len());
        self.known.resize(most, Known::default());
        let new = changes.accounts.iter();
        let new: Vec<_> =
            new.filter(|change| self.known[change.id as usize].key.is_none()).collect();
        let messages: Vec<&[u8]> = new.iter().map(|change| &change.address[..]).collect();
        let mut keys = vec![[0; 32]; new.len()];
        self.hasher.keccak256(&messages, &mut keys);
        for (change, key) in new.iter().zip(keys) {
            self.known[change.id as usize].key = Some(key);
        }
    }

    fn storage_of(&mut self, id: AccountId) -> Result<TrieId, StateError> {
        let known = &mut self.known[id as usize];
        match known.storage {
            Some(trie) => Ok(trie),
            None => Ok(*known.storage.insert(self.storage.create()?)),
        }
    }

    fn apply_slots(&mut self, changes: &Changes) -> Result<(), StateError> {
        if changes.slots.is_empty() && changes.cleared.is_empty() {
            return Ok(());
        }
        let slots: Vec<Hash> = changes.slots.iter().map(|s| s.slot.to_be_bytes()).collect();
        let messages: Vec<&[u8]> = slots.iter().map(|slot| &slot[..]).collect();
        let mut keys = vec![[0; 32]; slots.len()];
        self.hasher.keccak256(&messages, &mut keys);
        let values = changes.slots.iter();
        let values: Vec<_> =
            values.map(|s| (!s.after.is_zero()).then(|| s.after.encode())).collect();
        let mut wiped = vec![];
        for id in &changes.cleared {
            wiped.push(self.storage_of(*id)?);
        }
        let mut updates = Vec::with_capacity(keys.len());
        for ((change, key), value) in changes.slots.iter().zip(&keys).zip(&values) {
            let trie = self.storage_of(change.id)?;
            updates.push(Update { trie, key, value: value.as_deref() });
        }
        self.storage.update(&update::Changes { wiped: &wiped, updates: &updates })?;
        Ok(())
    }

    fn apply_accounts(&mut self, changes: &Changes) -> Result<(), StateError> {
        let mut leaves = Vec::with_capacity(changes.accounts.len());
        for change in &changes.accounts {
            let Known { key, storage } = self.known[change.id as usize];
            let storage_root = match storage {
                Some(trie) => self.storage.root(trie)?,
                None => EMPTY_ROOT,
            };
            let leaf = change.after.map(|account| {
                let (nonce, balance) = (account.nonce, account.balance);
                let (storage_root, code_hash) = (&storage_root, &account.code_hash);
                Leaf { nonce, balance, storage_root, code_hash }.encode()
            });
            leaves.push((key.unwrap_or_default(), leaf));
        }
        let trie = self.state;
        let updates = leaves.iter();
        let updates: Vec<_> =
            updates.map(|(key, leaf)| Update { trie, key, value: leaf.as_deref() }).collect();
        self.accounts.update(&update::Changes { wiped: &[], updates: &updates })?;
        Ok(())
    }
}
