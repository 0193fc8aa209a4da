//! An account of the flat state, and what is known of its storage.

use super::slots::Slots;
use super::{Account, NodeSet, SharedState, StateError};
use crate::execute::Code;
use crate::{Address, Hash, U256};
use hashbrown::HashSet;

/// An account and its storage.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub address: Address,
    pub account: Option<Account>,
    /// Its code, where it is known and not empty.
    pub code: Option<Code>,
    /// Slots that are not 0.
    pub slots: Slots,
    /// The storage that is not in `slots`, where not the whole state is in memory.
    pub unread: Option<Box<Unread>>,
    /// The list of changes that it is in, and where.
    pub listed: (u64, u32),
}

/// Storage of which not all is in memory.
#[derive(Debug)]
pub(super) struct Unread {
    /// Its root, as it was when the account was read.
    pub root: Hash,
    /// Keccak-256 of the address, of a state on disk.
    pub key: Hash,
    /// Slots that are known to be 0.
    zeros: HashSet<U256>,
    /// What was known before the last turn and was not asked for since.
    older: Option<(Slots, HashSet<U256>)>,
    /// Nothing else is there: what was is known to be gone since this turn.
    whole_since: Option<u64>,
}

/// Where the rest of a state is.
#[derive(Debug, Default)]
pub(super) enum Source {
    /// There is no rest.
    #[default]
    Memory,
    /// Behind the nodes of its tries, below this root.
    Nodes(NodeSet, Hash),
    /// On disk.
    Disk(SharedState),
}

/// What is known of a slot.
enum Known {
    Value(U256),
    /// It was known before the last turn.
    Older(U256),
    Unknown,
}

impl Unread {
    /// Below the nodes of a trie.
    pub fn of_root(root: Hash) -> Self {
        Self { root, key: [0; 32], zeros: HashSet::new(), older: None, whole_since: None }
    }

    /// Of an account on disk with this hashed address; none where it is not there, at this turn.
    pub fn on_disk(key: Hash, root: Option<Hash>, turn: u64) -> Self {
        let whole_since = if root.is_none() { Some(turn) } else { None };
        Self { key, whole_since, ..Self::of_root(root.unwrap_or(blockmill_trie::EMPTY_ROOT)) }
    }

    /// Whether there may be slots besides those that are known.
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
    /// Has the CPU fetch what [`Self::learn`] will need.
    pub fn touch(&self, slot: &U256) {
        self.slots.touch(slot);
        if let Some((older, _)) = self.unread.as_ref().and_then(|unread| unread.older.as_ref()) {
            older.touch(slot);
        }
    }

    /// The value of a slot that is not among those that are not 0; whether it is kept from now on.
    pub fn ask(&mut self, slot: &U256, source: &Source) -> Result<(U256, bool), StateError> {
        let Some(unread) = &self.unread else { return Ok((U256::ZERO, false)) };
        let value = match unread.slot(slot) {
            Known::Value(value) => return Ok((value, false)),
            Known::Older(value) => value,
            Known::Unknown => source.slot(unread, slot)?,
        };
        self.put(*slot, value);
        Ok((value, true))
    }

    /// The value of a slot, of which nothing is kept. Where it is not known, `read` may know it.
    pub fn peek(
        &self,
        slot: &U256,
        source: &Source,
        read: impl FnOnce() -> Option<U256>,
    ) -> Result<U256, StateError> {
        let value = self.slots.get(slot);
        match &self.unread {
            Some(unread) if value.is_zero() => match unread.slot(slot) {
                Known::Value(value) | Known::Older(value) => Ok(value),
                Known::Unknown => read().map_or_else(|| source.slot(unread, slot), Ok),
            },
            _ => Ok(value),
        }
    }

    /// Takes in the value of a slot of which nothing is known; whether it is one.
    pub fn learn(&mut self, slot: U256, value: U256) -> bool {
        let unread = self.unread.as_ref().filter(|_| self.slots.get(&slot).is_zero());
        let is_new = unread.is_some_and(|unread| matches!(unread.slot(&slot), Known::Unknown));
        if is_new {
            self.put(slot, value);
        }
        is_new
    }

    /// Sets a slot, which is known from now on; its value before.
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

    /// Sets all slots to 0 at this turn; those that were known and had values. None where there
    /// were none.
    pub fn clear(&mut self, source: &Source, turn: u64) -> Option<Vec<(U256, U256)>> {
        if !self.has_slots() {
            return None;
        }
        let slots = std::mem::take(&mut self.slots);
        let mut ended: Vec<_> = slots.iter().map(|(slot, value)| (*slot, *value)).collect();
        match (&mut self.unread, source) {
            (Some(unread), Source::Disk(_)) => {
                let zeros = std::mem::take(&mut unread.zeros);
                if let Some((older, gone)) = unread.older.take() {
                    let is_newer = |slot: &U256| zeros.contains(slot) || !slots.get(slot).is_zero();
                    let older = older.iter().filter(|(slot, _)| !is_newer(slot));
                    ended.extend(older.map(|(slot, value)| (*slot, *value)));
                    drop(gone);
                }
                unread.whole_since = Some(turn);
            }
            _ => self.unread = None,
        }
        Some(ended)
    }

    /// The entry at a new turn, in which nobody has asked for its storage yet. What has become of
    /// the state two turns ago is on disk.
    pub fn renewed(mut self, disk: &SharedState, turn: u64) -> Result<Self, StateError> {
        let Some(unread) = &mut self.unread else { return Ok(self) };
        let dropped = unread.older.take().is_some_and(|(slots, _)| !slots.is_empty());
        let is_stale = match unread.whole_since {
            Some(since) if since + 1 >= turn => return Ok(self),
            Some(_) => true,
            // it has got its first slots since it was read
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

impl Source {
    fn slot(&self, unread: &Unread, slot: &U256) -> Result<U256, StateError> {
        match self {
            Self::Memory => Ok(U256::ZERO),
            Self::Nodes(nodes, _) => nodes.slot(&unread.root, slot),
            Self::Disk(disk) => {
                disk.slot(&unread.key, &blockmill_hashes::keccak256(&slot.to_be_bytes::<32>()))
            }
        }
    }

    /// An account that is not in memory, at this turn.
    pub fn entry(&self, address: &Address, turn: u64) -> Result<Entry, StateError> {
        let mut entry = Entry { address: *address, ..Entry::default() };
        match self {
            Self::Memory => {}
            Self::Nodes(nodes, root) => {
                if let Some((account, storage)) = nodes.account(root, address)? {
                    entry.account = Some(account);
                    entry.unread = Some(Box::new(Unread::of_root(storage)));
                }
            }
            Self::Disk(disk) => {
                let key = blockmill_hashes::keccak256(address);
                let found = disk.account(&key)?;
                entry.account = found.map(|found| found.0);
                let root = found.map(|found| found.1);
                entry.unread = Some(Box::new(Unread::on_disk(key, root, turn)));
            }
        }
        Ok(entry)
    }

    /// A code that is not in memory.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        match self {
            Self::Memory => Ok(None),
            Self::Nodes(nodes, _) => nodes.code(hash),
            Self::Disk(disk) => disk.code(hash),
        }
    }
}
