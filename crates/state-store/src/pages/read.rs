//! Reading values: from the top of a trie down the branches in memory, then one page.

use super::{
    Pages,
    branches::{Below, Child},
    cell::{self, ACCOUNTS, Entry, Place, Record},
    files::CellBytes,
    key::StateKey,
};
use blockmill_store::{Result, part::mismatch};
use blockmill_trie::codec::{Codec, Ethereum};

/// The cell that may have a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub place: Place,
    pub child: Child,
}

impl Pages {
    /// Appends the value of a key to `out`. Returns whether there is one.
    ///
    /// # Errors
    /// [`blockmill_store::Error::Corrupt`] names the corrupt page; [`blockmill_store::Error::Io`]
    /// if it cannot be read.
    pub fn get(&self, key: &StateKey, out: &mut Vec<u8>) -> Result<bool> {
        self.check_whole()?;
        let Some((found, part)) = self.find(key)? else { return Ok(false) };
        self.append_value(&found, key, part, out)
    }

    /// Appends the value of a key whose cell was found.
    pub(super) fn append_value(
        &self,
        found: &Found,
        key: &StateKey,
        part: CellPart,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        match found.child.below() {
            Below::Buffer(at) => Ok(value_in(self.buffer.get(at)?, key, part, out)),
            Below::Page(page) => {
                let record = self.files.record(&found.place, page, &found.child)?;
                Ok(value_in(&record, key, part, out))
            }
            Below::Branch(_) | Below::Evicted(_) => Err(mismatch("cell", "a cell", "a branch")),
        }
    }

    /// Calls `each` with the slots of an account and their values, in the order of their keys.
    ///
    /// # Errors
    /// As [`Pages::get`].
    pub fn storage(
        &self,
        account: &[u8; 32],
        each: &mut dyn FnMut(&[u8; 32], &[u8]),
    ) -> Result<()> {
        self.check_whole()?;
        if let Some(trie) = self.storage.get(account) {
            let Some(child) = self.tries[*trie as usize].top else { return Ok(()) };
            let place = Place { trie: *trie, key: [0; 32], depth: 0 };
            return self.leaves_below(&Found { place, child }, &mut |entry| {
                each(&entry.key, &entry.value);
            });
        }
        let Some(found) = self.cell_of(ACCOUNTS, account)? else { return Ok(()) };
        let record = self.peek(&found)?;
        if let Some((_, entry)) = Record::new(&record).and_then(|record| record.find(account)) {
            cell::nested(&entry.nested).for_each(|(slot, value)| each(&slot, value));
        }
        Ok(())
    }

    /// Calls `each` with accounts and their values, in the order of their keys, until it returns
    /// false.
    ///
    /// # Errors
    /// As [`Pages::get`].
    pub fn accounts(&self, each: &mut dyn FnMut(&[u8; 32], &[u8]) -> bool) -> Result<()> {
        self.check_whole()?;
        let Some(child) = self.tries[ACCOUNTS as usize].top else { return Ok(()) };
        let place = Place { trie: ACCOUNTS, key: [0; 32], depth: 0 };
        self.accounts_below(&Found { place, child }, each).map(drop)
    }

    /// Returns false if `each` did.
    fn accounts_below(
        &self,
        found: &Found,
        each: &mut dyn FnMut(&[u8; 32], &[u8]) -> bool,
    ) -> Result<bool> {
        let Some(children) = self.children(found)? else {
            let (record, mut value) = (self.peek(found)?, vec![]);
            let mut entries = Record::new(&record).into_iter().flat_map(Record::entries);
            return Ok(entries.all(|entry| {
                value.clear();
                append(&entry, &mut value);
                each(&entry.key, &value)
            }));
        };
        for child in &children {
            if !self.accounts_below(child, each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Calls `each` with the leaves at and below a place, in the order of their keys.
    pub(super) fn leaves_below(
        &self,
        found: &Found,
        each: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<()> {
        let Some(children) = self.children(found)? else {
            let record = self.peek(found)?;
            Record::new(&record).into_iter().flat_map(Record::entries).for_each(|e| each(&e));
            return Ok(());
        };
        children.iter().try_for_each(|child| self.leaves_below(child, each))
    }

    /// The record of a cell, which stays where it is.
    pub(super) fn peek(&self, found: &Found) -> Result<CellBytes> {
        match found.child.below() {
            Below::Buffer(at) => Ok(CellBytes::Own(self.buffer.get(at)?.into())),
            Below::Page(page) => self.files.record(&found.place, page, &found.child),
            Below::Branch(_) | Below::Evicted(_) => Err(mismatch("cell", "a cell", "a branch")),
        }
    }
}

/// What to search for in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellPart {
    Account,
    /// A slot in the entry of its account.
    Nested,
    /// A slot in a cell of a storage trie.
    Slot,
}

/// Appends the value of `key` in a record to `out`; whether there is one.
pub(super) fn value_in(record: &[u8], key: &StateKey, part: CellPart, out: &mut Vec<u8>) -> bool {
    let Some(record) = Record::new(record) else { return false };
    let slot = key.slot.unwrap_or_default();
    let wanted = if part == CellPart::Slot { &slot } else { &key.account };
    let Some((_, entry)) = record.find(wanted) else { return false };
    if part == CellPart::Nested {
        let Some((_, value)) = cell::nested(&entry.nested).find(|(key, _)| *key == slot) else {
            return false;
        };
        out.extend_from_slice(value);
        return true;
    }
    append(&entry, out);
    true
}

/// Appends the whole value of an entry.
pub(super) fn append(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&entry.value);
    if entry.cut {
        out.extend_from_slice(Ethereum::COMMON_TAIL);
    }
}
