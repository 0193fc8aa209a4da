//! An account of the flat state, with the part of its storage that is in memory.

use super::slots::Slots;
use super::{Account, NodeSet, PlantedTries, SharedState, StateError};
use crate::execute::{Code, CodeCache};
use crate::{Address, Hash, U256};
use hashbrown::HashSet;
use std::sync::Arc;

/// An account and its storage.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub address: Address,
    pub account: Option<Account>,
    /// Its code, if it is known and not empty.
    pub code: Option<Code>,
    /// Slots that are not 0.
    pub slots: Slots,
    /// The storage outside of `slots`; `None` if the whole state is in memory.
    pub unread: Option<Box<Unread>>,
    /// The number of the list of changes that has the account, and the position in it.
    pub listed: (u64, u32),
}

/// Storage that is partly in memory.
#[derive(Debug)]
pub(super) struct Unread {
    /// Its root when the account was read.
    pub root: Hash,
    /// Keccak-256 of the address, for a state on disk or in planted tries.
    pub key: Hash,
    /// Slots that are known to be 0.
    zeros: HashSet<U256>,
    /// Slots of the previous generation that were not used in the current one, and zero slots.
    older: Option<(Slots, HashSet<U256>)>,
    /// The generation since which all other slots are known to be 0.
    whole_since: Option<u64>,
}

/// Where the part of a state is that is not in memory.
#[derive(Debug, Default)]
pub(super) enum Backing {
    /// The whole state is in memory.
    #[default]
    Memory,
    /// In the nodes of its tries, below this root. Codes are analysed once for all states that
    /// share a cache.
    Nodes(NodeSet, Hash, Arc<CodeCache>),
    /// In tries that were built from the nodes; the set has the codes.
    Planted(PlantedTries, NodeSet, Arc<CodeCache>),
    /// On disk.
    Disk(SharedState),
    /// Nowhere: the state is the part that a block may access.
    Listed,
}

/// The value of a slot, as far as it is in memory.
enum Known {
    Value(U256),
    /// The value is in the previous generation.
    Older(U256),
    Unknown,
}

impl Unread {
    /// Storage in the nodes of a trie.
    pub fn in_trie(root: Hash) -> Self {
        Self { root, key: [0; 32], zeros: HashSet::new(), older: None, whole_since: None }
    }

    /// Storage of the account on disk with this hashed address. `root` is `None` if there is no
    /// such account.
    pub fn on_disk(key: Hash, root: Option<Hash>, generation: u64) -> Self {
        let whole_since = if root.is_none() { Some(generation) } else { None };
        Self { key, whole_since, ..Self::in_trie(root.unwrap_or(blockmill_trie::EMPTY_ROOT)) }
    }

    /// Storage of which a block access list names slots; all others are out of reach.
    pub fn listed(has_slots: bool) -> Self {
        // any root but that of no storage says that there may be slots
        Self::in_trie(if has_slots { [0; 32] } else { blockmill_trie::EMPTY_ROOT })
    }

    /// Whether there may be slots outside of the current generation.
    pub fn may_have_slots(&self) -> bool {
        let older = self.older.as_ref().is_some_and(|(slots, _)| !slots.is_empty());
        older || self.whole_since.is_none() && self.root != blockmill_trie::EMPTY_ROOT
    }

    fn slot(&self, slot: &U256) -> Known {
        if self.zeros.contains(slot) {
            return Known::Value(U256::ZERO);
        }
        if let Some((slots, zeros)) = &self.older {
            let value = slots.get(slot);
            if !value.is_zero() || zeros.contains(slot) {
                return Known::Older(value);
            }
        }
        if self.whole_since.is_some() { Known::Value(U256::ZERO) } else { Known::Unknown }
    }
}

impl Entry {
    /// Prefetches the cache lines that [`Self::put_unknown`] needs.
    pub fn touch(&self, slot: &U256) {
        self.slots.touch(slot);
        if let Some((older, _)) = self.unread.as_ref().and_then(|unread| unread.older.as_ref()) {
            older.touch(slot);
        }
    }

    /// Loads a slot that is not in `slots`. Returns its value, and whether it was added.
    pub fn load(&mut self, slot: &U256, backing: &Backing) -> Result<(U256, bool), StateError> {
        let Some(unread) = &self.unread else { return Ok((U256::ZERO, false)) };
        let value = match unread.slot(slot) {
            Known::Value(value) => return Ok((value, false)),
            Known::Older(value) => value,
            Known::Unknown => backing.slot(&self.address, unread, slot)?,
        };
        self.put(*slot, value);
        Ok((value, true))
    }

    /// Reads a slot without adding it. If it is not in memory, `read` may return its value.
    pub fn peek(
        &self,
        slot: &U256,
        backing: &Backing,
        read: impl FnOnce() -> Option<U256>,
    ) -> Result<U256, StateError> {
        let value = self.slots.get(slot);
        match &self.unread {
            Some(unread) if value.is_zero() => match unread.slot(slot) {
                Known::Value(value) | Known::Older(value) => Ok(value),
                Known::Unknown => {
                    read().map_or_else(|| backing.slot(&self.address, unread, slot), Ok)
                }
            },
            _ => Ok(value),
        }
    }

    /// Adds a slot unless its value is known already. Returns whether it was added.
    pub fn put_unknown(&mut self, slot: U256, value: U256) -> bool {
        let unread = self.unread.as_ref().filter(|_| self.slots.get(&slot).is_zero());
        let is_new = unread.is_some_and(|unread| matches!(unread.slot(&slot), Known::Unknown));
        if is_new {
            self.put(slot, value);
        }
        is_new
    }

    /// Sets a slot, and returns its value before.
    pub fn put(&mut self, slot: U256, value: U256) -> U256 {
        if let Some(unread) = &mut self.unread {
            if value.is_zero() {
                unread.zeros.insert(slot);
            } else if !unread.zeros.is_empty() {
                unread.zeros.remove(&slot);
            }
        }
        self.slots.set(slot, value)
    }

    /// Whether there may be a slot that is not 0.
    pub fn has_slots(&self) -> bool {
        let elsewhere = self.unread.as_ref().is_some_and(|unread| unread.may_have_slots());
        elsewhere || !self.slots.is_empty()
    }

    /// Sets all slots to 0 in this generation. Returns those in memory that were not 0; `None` if
    /// the account has no slots at all.
    pub fn clear(&mut self, backing: &Backing, generation: u64) -> Option<Vec<(U256, U256)>> {
        if !self.has_slots() {
            return None;
        }
        let slots = std::mem::take(&mut self.slots);
        let mut ended: Vec<_> = slots.iter().map(|(slot, value)| (*slot, *value)).collect();
        match (&mut self.unread, backing) {
            (Some(unread), Backing::Disk(_)) => {
                let zeros = std::mem::take(&mut unread.zeros);
                if let Some((older, gone)) = unread.older.take() {
                    let is_newer = |slot: &U256| zeros.contains(slot) || !slots.get(slot).is_zero();
                    let older = older.iter().filter(|(slot, _)| !is_newer(slot));
                    ended.extend(older.map(|(slot, value)| (*slot, *value)));
                    drop(gone);
                }
                unread.whole_since = Some(generation);
            }
            _ => self.unread = None,
        }
        Some(ended)
    }

    /// Moves the entry from the previous generation to the current one, with its slots as older
    /// ones. Changes from before the previous generation are on disk.
    pub fn renewed(mut self, disk: &SharedState, generation: u64) -> Result<Self, StateError> {
        let Some(unread) = &mut self.unread else { return Ok(self) };
        let dropped = unread.older.take().is_some_and(|(slots, _)| !slots.is_empty());
        let is_stale = match unread.whole_since {
            Some(since) if since + 1 >= generation => return Ok(self),
            Some(_) => true,
            // it got its first slots after it was read
            None => dropped && unread.root == blockmill_trie::EMPTY_ROOT,
        };
        if is_stale {
            unread.root =
                disk.account(&unread.key)?.map_or(blockmill_trie::EMPTY_ROOT, |found| found.1);
            unread.whole_since = None;
        }
        let known = (std::mem::take(&mut self.slots), std::mem::take(&mut unread.zeros));
        unread.older = Some(known);
        Ok(self)
    }
}

impl Backing {
    fn slot(&self, address: &Address, unread: &Unread, slot: &U256) -> Result<U256, StateError> {
        match self {
            Self::Memory => Ok(U256::ZERO),
            Self::Nodes(nodes, ..) => nodes.slot(&unread.root, slot),
            Self::Planted(tries, ..) => tries.slot(&unread.key, &unread.root, slot),
            Self::Disk(disk) => {
                disk.slot(&unread.key, &blockmill_hashes::keccak256(&slot.to_be_bytes::<32>()))
            }
            Self::Listed => Err(StateError::NotListed { address: *address, slot: Some(*slot) }),
        }
    }

    /// Reads an account that is not in memory.
    pub fn entry(&self, address: &Address, generation: u64) -> Result<Entry, StateError> {
        let mut entry = Entry { address: *address, ..Entry::default() };
        match self {
            Self::Memory => {}
            Self::Nodes(nodes, root, _) => {
                if let Some((account, storage)) = nodes.account(root, address)? {
                    entry.account = Some(account);
                    entry.unread = Some(Box::new(Unread::in_trie(storage)));
                }
            }
            Self::Planted(tries, ..) => {
                if let Some(found) = tries.account(address)? {
                    entry.account = Some(found.account);
                    let unread = Unread::in_trie(found.storage_root);
                    entry.unread = Some(Box::new(Unread { key: found.key, ..unread }));
                }
            }
            Self::Disk(disk) => {
                let key = blockmill_hashes::keccak256(address);
                let found = disk.account(&key)?;
                entry.account = found.map(|found| found.0);
                let root = found.map(|found| found.1);
                entry.unread = Some(Box::new(Unread::on_disk(key, root, generation)));
            }
            Self::Listed => return Err(StateError::NotListed { address: *address, slot: None }),
        }
        Ok(entry)
    }

    /// Reads a code that is not in memory.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        match self {
            Self::Memory | Self::Listed => Ok(None),
            Self::Nodes(nodes, _, known) | Self::Planted(_, nodes, known) => {
                nodes.code(hash, known)
            }
            Self::Disk(disk) => disk.code(hash),
        }
    }
}
