//! Two-generation cache for a state that does not fit in memory.
//!
//! An entry that was not used during the last generation is dropped. Changes must stay in memory
//! until they are on disk: a generation ends only when everything is on disk that changed before it
//! began, and only entries from before it are dropped. So nobody waits for the disk, and memory has
//! the entries that two generations used.

use super::entry::{Backing, Entry};
use super::{AccountId, Found, State, StateError};
use crate::execute::Code;
use crate::{Address, Hash, U256};
use hashbrown::HashMap;

/// Estimated bytes per cached slot, hash table slack included.
const SLOT_BYTES: usize = 128;
/// Size of an account without its slots, in slots.
const ACCOUNT: usize = 3;
/// Number of look-ups interleaved to hide memory latency.
const LOOKUP_BATCH: usize = 16;

/// The previous generation, and the size of the current one.
#[derive(Debug, Default)]
pub(super) struct Generations {
    /// Number of the current generation.
    number: u64,
    /// Lists of changes from before the current generation.
    closed: u64,
    /// Size of the current generation, in slots.
    units: usize,
    /// Limit of a generation, in slots.
    most: usize,
    accounts: HashMap<Address, Entry>,
    codes: HashMap<Hash, Code>,
}

impl Generations {
    /// Generations that keep about this many bytes in memory.
    pub fn within(bytes: usize) -> Self {
        Self { most: bytes / 2 / SLOT_BYTES, ..Self::default() }
    }

    /// Number of the current generation.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn add(&mut self, units: usize) {
        self.units += units;
    }
}

impl State {
    /// Begins a generation if the current one is full and earlier changes are on disk: drops the
    /// entries that were not used during the current one. Called between two blocks.
    pub fn advance_generation(&mut self) {
        let Backing::Disk(disk) = &self.backing else { return };
        let generations = &mut self.generations;
        if generations.units < generations.most || disk.applied() < generations.closed {
            return;
        }
        generations.number += 1;
        disk.begin_generation(generations.number);
        (generations.closed, generations.units) = (self.epoch - 1, 0);
        self.index.clear();
        generations.accounts.clear();
        generations.accounts.extend(self.entries.drain(..).map(|entry| (entry.address, entry)));
        generations.codes = std::mem::take(&mut self.codes);
    }

    /// Number of the current generation; 0 for a state in memory.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generations.number
    }

    /// Caches slots of a state on disk that another thread read since `generation`
    /// ([`State::peek_slot`]), so that they are not read again. Newer values in memory take
    /// precedence. They may have been dropped after two generations: then nothing is cached.
    ///
    /// # Errors
    /// [`StateError::Disk`] if an account is corrupt or cannot be read;
    /// [`StateError::TooManyAccounts`].
    pub fn cache_slots<'a>(
        &mut self,
        slots: impl IntoIterator<Item = (&'a Address, U256, U256)>,
        generation: u64,
    ) -> Result<(), StateError> {
        if !self.is_on_disk() || self.generations.number > generation + 1 {
            return Ok(());
        }
        let (mut slots, mut some) = (slots.into_iter(), Vec::with_capacity(LOOKUP_BATCH));
        loop {
            // the CPU fetches the places of a batch while it looks them up
            for (address, slot, value) in slots.by_ref().take(LOOKUP_BATCH) {
                let id = self.id(address)?;
                self.entries[id as usize].touch(&slot);
                some.push((id, slot, value));
            }
            if some.is_empty() {
                return Ok(());
            }
            for (id, slot, value) in some.drain(..) {
                let is_new = self.entries[id as usize].put_unknown(slot, value);
                self.generations.add(usize::from(is_new));
            }
        }
    }

    /// Loads an account that is not in the current generation.
    pub(super) fn entry_of(&mut self, address: &Address) -> Result<Entry, StateError> {
        let generation = self.generations.number;
        let entry = match (self.generations.accounts.remove(address), &self.backing) {
            (Some(entry), Backing::Disk(disk)) => entry.renewed(disk, generation)?,
            (_, backing) => backing.entry(address, generation)?,
        };
        self.generations.units += ACCOUNT + entry.slots.len();
        Ok(entry)
    }

    /// A code that is not in the current generation.
    pub(super) fn code_elsewhere(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        match self.generations.codes.get(hash) {
            Some(code) => Ok(Some(code.clone())),
            None => self.backing.code(hash),
        }
    }

    /// The code with this hash, which is cached from now on.
    ///
    /// # Errors
    /// [`StateError::MissingCode`] if it is not known; [`StateError::Disk`] if it cannot be read.
    pub fn load_code(&mut self, hash: &Hash) -> Result<Code, StateError> {
        let code = self.code(hash)?;
        if self.is_on_disk() && !self.codes.contains_key(hash) {
            self.generations.units += ACCOUNT + code.bytes().len() / SLOT_BYTES;
            self.codes.insert(*hash, code.clone());
        }
        Ok(code)
    }

    /// Reads an account and its code without caching them, for threads that read the state while
    /// another one changes it. The index is not valid if the state is on disk.
    ///
    /// # Errors
    /// [`StateError::Disk`] if it is corrupt or cannot be read.
    pub fn peek_account<T>(
        &self,
        address: &Address,
        see: impl FnOnce(Found<'_>, bool) -> T,
    ) -> Result<Option<T>, StateError> {
        if self.index.contains_key(address) || !self.is_on_disk() {
            let found = self.found(address);
            return Ok(found.map(|found| see(found, self.has_slots(found.0))));
        }
        let read;
        let entry = match self.generations.accounts.get(address) {
            Some(entry) => entry,
            None => {
                read = self.backing.entry(address, self.generations.number)?;
                &read
            }
        };
        let has_slots = entry.has_slots();
        let found = |account| (AccountId::MAX, account, entry.code.as_ref());
        Ok(entry.account.map(|account| see(found(account), has_slots)))
    }

    /// Reads a slot without caching it. If it is not in memory, `read` may return a value that was
    /// read from disk in this generation, of which it gets the number; otherwise the disk is read.
    ///
    /// # Errors
    /// [`StateError::Disk`] if it is corrupt or cannot be read.
    pub fn peek_slot(
        &self,
        address: &Address,
        slot: &U256,
        read: impl FnOnce(u64) -> Option<U256>,
    ) -> Result<U256, StateError> {
        let read = || read(self.generations.number);
        if let Some(id) = self.index.get(address) {
            return self.entries[*id as usize].peek(slot, &self.backing, read);
        }
        match (self.generations.accounts.get(address), &self.backing) {
            (Some(entry), backing) => entry.peek(slot, backing, read),
            (None, Backing::Disk(_)) => match read() {
                Some(value) => Ok(value),
                None => {
                    let entry = self.backing.entry(address, self.generations.number)?;
                    entry.peek(slot, &self.backing, || None)
                }
            },
            (None, _) => Ok(U256::ZERO),
        }
    }
}

#[cfg(test)]
mod tests;
