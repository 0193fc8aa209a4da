//! The tries over the state in two arenas: storage, and accounts. The keys of a block are hashed
//! together in lanes and descend together; changed nodes are hashed level by level
//! ([`blockmill_trie::update`]).

mod planted;

pub use planted::PlantedTries;

use super::{AccountId, Changes, StateError, TrieHashers};
use crate::Hash;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::EMPTY_ROOT;
use blockmill_trie::codec::Ethereum;
use blockmill_trie::update::{self, Forest, TrieId, Update};
use hashbrown::HashMap;
use planted::{Source, storage_root};

/// Key and storage trie of an account.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Keccak-256 of its address.
    key: Option<Hash>,
    /// The root of its storage in a witness; `None` without storage there.
    before: Option<Hash>,
    /// Its storage trie, once there is a change of it.
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
    /// Of keys.
    hasher: ManyKeccak,
    /// The nodes that are known of the tries before the changes; `None` if all are in memory.
    source: Option<Source>,
}

impl ArenaTries {
    /// Empty tries.
    pub fn new(hashers: TrieHashers) -> Result<Self, StateError> {
        let forest = || Forest::new(Ethereum::with_hasher(hashers.nodes));
        let mut accounts = forest();
        let state = accounts.create()?;
        let (storage, hasher) = (forest(), hashers.keys);
        Ok(Self { accounts, state, storage, known: vec![], hasher, source: None })
    }

    /// The state root.
    pub fn root(&self) -> Result<Hash, StateError> {
        Ok(self.accounts.root(self.state)?)
    }

    /// The state root after `changes`.
    pub fn apply(&mut self, changes: &Changes) -> Result<Hash, StateError> {
        if let Some(source) = &mut self.source {
            source.is_changed = true;
        }
        self.hash_addresses(changes)?;
        let slots = self.slots(changes)?;
        if !slots.wiped.is_empty() || !slots.tries.is_empty() {
            let updates = slots.updates();
            self.storage.update(&update::Changes { wiped: &slots.wiped, updates: &updates })?;
        }
        let leaves = self.leaves(changes, Forest::root)?;
        let updates = updates_of(self.state, &leaves);
        self.accounts.update(&update::Changes { wiped: &[], updates: &updates })?;
        self.root()
    }

    /// The state roots after each of several small changes, whose nodes are hashed together.
    pub fn apply_group(&mut self, group: &[&Changes]) -> Result<Vec<Hash>, StateError> {
        let mut slots = Vec::with_capacity(group.len());
        for changes in group {
            self.hash_addresses(changes)?;
            slots.push(self.slots(changes)?);
        }
        let before = self.roots_before(&slots)?;
        let updates: Vec<_> = slots.iter().map(SlotUpdates::updates).collect();
        let versions = slots.iter().zip(&updates);
        let versions: Vec<_> = versions
            .map(|(slots, updates)| update::Changes { wiped: &slots.wiped, updates })
            .collect();
        let roots = self.storage.update_group(&versions)?;

        let mut current = before;
        let mut leaves = Vec::with_capacity(group.len());
        for (changes, roots) in group.iter().zip(roots) {
            current.extend(roots);
            leaves.push(self.leaves(changes, |storage, trie| match current.get(&trie) {
                Some(root) => Ok(*root),
                None => storage.root(trie),
            })?);
        }
        let updates: Vec<_> = leaves.iter().map(|leaves| updates_of(self.state, leaves)).collect();
        let versions = updates.iter().map(|updates| update::Changes { wiped: &[], updates });
        let mut last = self.root()?;
        let roots = self.accounts.update_group(&versions.collect::<Vec<_>>())?;
        Ok(roots
            .into_iter()
            .map(|changed| {
                last = changed.last().map_or(last, |(_, root)| *root);
                last
            })
            .collect())
    }

    /// The roots of the storage tries that a group changes, before the group.
    fn roots_before(&self, group: &[SlotUpdates]) -> Result<HashMap<TrieId, Hash>, StateError> {
        let mut roots = HashMap::new();
        for slots in group {
            for trie in slots.wiped.iter().chain(&slots.tries) {
                roots.insert(*trie, self.storage.root(*trie)?);
            }
        }
        Ok(roots)
    }

    /// Hashes the addresses that are new, and finds the storage that they have in a witness.
    fn hash_addresses(&mut self, changes: &Changes) -> Result<(), StateError> {
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
            let known = &mut self.known[change.id as usize];
            known.key = Some(key);
            if self.source.is_some() {
                known.before = storage_root(&self.accounts, self.state, &key)?;
            }
        }
        Ok(())
    }

    fn storage_of(&mut self, id: AccountId) -> Result<TrieId, StateError> {
        let known = &mut self.known[id as usize];
        if let Some(trie) = known.storage {
            return Ok(trie);
        }
        let trie = match (&mut self.source, &known.key, &known.before) {
            (Some(source), Some(key), Some(root)) => {
                source.storage_trie(&mut self.storage, key, root)?
            }
            _ => self.storage.create()?,
        };
        known.storage = Some(trie);
        Ok(trie)
    }

    /// The changes of storage tries.
    fn slots(&mut self, changes: &Changes) -> Result<SlotUpdates, StateError> {
        if changes.slots.is_empty() && changes.cleared.is_empty() {
            return Ok(SlotUpdates::default());
        }
        let slots: Vec<Hash> = changes.slots.iter().map(|s| s.slot.to_be_bytes()).collect();
        let messages: Vec<&[u8]> = slots.iter().map(|slot| &slot[..]).collect();
        let mut keys = vec![[0; 32]; slots.len()];
        self.hasher.keccak256(&messages, &mut keys);
        let values = changes.slots.iter();
        let values = values.map(|s| (!s.after.is_zero()).then(|| s.after.encode())).collect();
        let mut wiped = vec![];
        for id in &changes.cleared {
            wiped.push(self.storage_of(*id)?);
        }
        let mut tries = Vec::with_capacity(keys.len());
        for change in &changes.slots {
            tries.push(self.storage_of(change.id)?);
        }
        Ok(SlotUpdates { wiped, tries, keys, values })
    }

    /// The leaves of changed accounts, by key.
    fn leaves(
        &self,
        changes: &Changes,
        storage_root: impl Fn(&Forest<Ethereum>, TrieId) -> Result<Hash, update::Error>,
    ) -> Result<Vec<EncodedAccount>, StateError> {
        let mut leaves = Vec::with_capacity(changes.accounts.len());
        for change in &changes.accounts {
            let Known { key, before, storage } = self.known[change.id as usize];
            let storage_root = match storage {
                Some(trie) => storage_root(&self.storage, trie)?,
                None => before.unwrap_or(EMPTY_ROOT),
            };
            let leaf = change.after.map(|account| {
                let (nonce, balance) = (account.nonce, account.balance);
                let (storage_root, code_hash) = (&storage_root, &account.code_hash);
                Leaf { nonce, balance, storage_root, code_hash }.encode()
            });
            leaves.push((key.unwrap_or_default(), leaf));
        }
        Ok(leaves)
    }
}

/// An account's key and its leaf; `None` if it does not exist.
type EncodedAccount = (Hash, Option<Vec<u8>>);

/// Changes of storage tries, encoded.
#[derive(Default)]
struct SlotUpdates {
    wiped: Vec<TrieId>,
    tries: Vec<TrieId>,
    keys: Vec<Hash>,
    values: Vec<Option<Vec<u8>>>,
}

impl SlotUpdates {
    fn updates(&self) -> Vec<Update<'_>> {
        let all = self.tries.iter().zip(&self.keys).zip(&self.values);
        all.map(|((trie, key), value)| Update { trie: *trie, key, value: value.as_deref() })
            .collect()
    }
}

fn updates_of(trie: TrieId, leaves: &[EncodedAccount]) -> Vec<Update<'_>> {
    let updates = leaves.iter();
    updates.map(|(key, leaf)| Update { trie, key, value: leaf.as_deref() }).collect()
}
