//! What a state that is not all in memory lets go of: from turn to turn, what nobody asked for in
//! the turn before.
//!
//! What a block changed must stay until it is on disk. A turn is made only when everything is there
//! that was changed before the last one, and what was known then is all that it lets go of. So
//! nobody waits, and memory has what two turns asked for.

use super::entry::{Entry, Source};
use super::{AccountId, Found, State, StateError};
use crate::execute::Code;
use crate::{Address, Hash, U256};
use hashbrown::HashMap;

/// About what a slot takes, with its share of free places.
const UNIT: usize = 128;
/// What an account takes besides its slots.
const ACCOUNT: usize = 3;
/// Slots that are looked up together.
const TOGETHER: usize = 16;

/// What was known before the last turn, and how much has come to be known since.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Turns that were made.
    made: u64,
    /// Lists of changes that were made before the last one.
    closed: u64,
    /// Units that were added since.
    units: usize,
    /// Units in a turn.
    most: usize,
    accounts: HashMap<Address, Entry>,
    codes: HashMap<Hash, Code>,
}

impl Turns {
    /// Of a state that keeps about so many bytes in memory.
    pub fn within(bytes: usize) -> Self {
        Self { most: bytes / 2 / UNIT, ..Self::default() }
    }

    /// Which turn it is.
    pub fn number(&self) -> u64 {
        self.made
    }

    pub fn add(&mut self, units: usize) {
        self.units += units;
    }
}

impl State {
    /// Between two blocks: lets go of what was not asked for since the last turn, where much was
    /// and what was changed is on disk.
    pub fn turn(&mut self) {
        let Source::Disk(disk) = &self.source else { return };
        let turns = &mut self.turns;
        if turns.units < turns.most || disk.applied() < turns.closed {
            return;
        }
        turns.made += 1;
        disk.begin_turn(turns.made);
        (turns.closed, turns.units) = (self.epoch - 1, 0);
        self.index.clear();
        turns.accounts.clear();
        turns.accounts.extend(self.entries.drain(..).map(|entry| (entry.address, entry)));
        turns.codes = std::mem::take(&mut self.codes);
    }

    /// Which turn of a state on disk it is.
    #[must_use]
    pub fn turn_number(&self) -> u64 {
        self.turns.made
    }

    /// Takes in slots of a state on disk that somebody else read, at this turn or a later one
    /// ([`State::peek_slot`]), unless something newer is known of them: they are not read again. At
    /// the second turn after it, what was newer may have been let go of, and nothing is taken in.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn learn<'a>(
        &mut self,
        slots: impl IntoIterator<Item = (&'a Address, U256, U256)>,
        turn: u64,
    ) -> Result<(), StateError> {
        if !self.is_on_disk() || self.turns.made > turn + 1 {
            return Ok(());
        }
        let (mut slots, mut some) = (slots.into_iter(), Vec::with_capacity(TOGETHER));
        loop {
            // the CPU fetches the places of some while others are looked up
            for (address, slot, value) in slots.by_ref().take(TOGETHER) {
                let id = self.id(address)?;
                self.entries[id as usize].touch(&slot);
                some.push((id, slot, value));
            }
            if some.is_empty() {
                return Ok(());
            }
            for (id, slot, value) in some.drain(..) {
                let is_new = self.entries[id as usize].learn(slot, value);
                self.turns.add(usize::from(is_new));
            }
        }
    }

    /// An account that is not in memory, or was before the last turn.
    pub(super) fn entry_of(&mut self, address: &Address) -> Result<Entry, StateError> {
        let turn = self.turns.made;
        let entry = match (self.turns.accounts.remove(address), &self.source) {
            (Some(entry), Source::Disk(disk)) => entry.renewed(disk, turn)?,
            (_, source) => source.entry(address, turn)?,
        };
        self.turns.units += ACCOUNT + entry.slots.len();
        Ok(entry)
    }

    /// A code that is not in memory, or was before the last turn.
    pub(super) fn code_elsewhere(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        match self.turns.codes.get(hash) {
            Some(code) => Ok(Some(code.clone())),
            None => self.source.code(hash),
        }
    }

    /// The code with this hash, which stays in memory from now on.
    ///
    /// # Errors
    /// A code that is not known.
    pub fn ask_code(&mut self, hash: &Hash) -> Result<Code, StateError> {
        let code = self.code(hash)?;
        if self.is_on_disk() && !self.codes.contains_key(hash) {
            self.turns.units += ACCOUNT + code.bytes().len() / UNIT;
            self.codes.insert(*hash, code.clone());
        }
        Ok(code)
    }

    /// An account and its code, of which nothing is kept: for who looks on while others change the
    /// state. Its index does not last where the state is on disk, and is not told then.
    ///
    /// # Errors
    /// Corruption; those of the system.
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
        let entry = match self.turns.accounts.get(address) {
            Some(entry) => entry,
            None => {
                read = self.source.entry(address, self.turns.made)?;
                &read
            }
        };
        let has_slots = entry.has_slots();
        let found = |account| (AccountId::MAX, account, entry.code.as_ref());
        Ok(entry.account.map(|account| see(found(account), has_slots)))
    }

    /// The value of a slot, in the same way. Where it is not in memory, `read` may know what the
    /// state on disk has said at this turn, whose number it gets; otherwise it is asked.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn peek_slot(
        &self,
        address: &Address,
        slot: &U256,
        read: impl FnOnce(u64) -> Option<U256>,
    ) -> Result<U256, StateError> {
        let read = || read(self.turns.made);
        if let Some(id) = self.index.get(address) {
            return self.entries[*id as usize].peek(slot, &self.source, read);
        }
        match (self.turns.accounts.get(address), &self.source) {
            (Some(entry), source) => entry.peek(slot, source, read),
            (None, Source::Disk(_)) => match read() {
                Some(value) => Ok(value),
                None => {
                    let entry = self.source.entry(address, self.turns.made)?;
                    entry.peek(slot, &self.source, || None)
                }
            },
            (None, _) => Ok(U256::ZERO),
        }
    }
}

#[cfg(test)]
mod tests;
