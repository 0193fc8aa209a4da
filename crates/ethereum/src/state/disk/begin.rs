//! Loads the accounts of a genesis block, of a snapshot or of a dump into an empty state on disk,
//! within the memory for changes: fastest in the order of their keys.

use super::{DiskState, HashedChanges};
use crate::execute::Code;
use crate::params::genesis::GenesisAccount;
use crate::snapshot::Entry;
use crate::state::{Account, EMPTY_CODE, StateError};
use crate::state_dump::DumpEntry;
use crate::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;

/// Accounts and slots that are hashed and written together.
const TOGETHER: usize = 1 << 16;
/// Bytes of codes that are written together.
const CODES_TOGETHER: usize = 8 << 20;

impl DiskState {
    /// Writes the accounts of a genesis block to an empty state, and returns the state root.
    ///
    /// They are written in the order of their keys, so that each part of a trie is built once.
    ///
    /// # Errors
    /// Those of the system.
    pub fn begin(&mut self, accounts: &[GenesisAccount]) -> Result<Hash, StateError> {
        let hasher = ManyKeccak::detect();
        let mut changes = HashedChanges::default();
        for (key, at) in in_order(hasher, accounts, |given| &given.address) {
            let given = &accounts[at];
            let code = (!given.code.is_empty()).then(|| Code::new(given.code.clone()));
            let code_hash = code.as_ref().map_or(EMPTY_CODE, Code::hash);
            if let Some(code) = &code {
                self.put_code(&code_hash, code.bytes())?;
            }
            let account = Account { nonce: given.nonce, balance: given.balance, code_hash };
            changes.account(key, Some(&account));
            self.put_enough(&mut changes)?;
            for (slot, at) in in_order(hasher, &given.storage, |(slot, _)| slot) {
                changes.slot(key, slot, U256::from_be_bytes(given.storage[at].1));
                self.put_enough(&mut changes)?;
            }
        }
        self.update(&changes.in_order())
    }

    /// Writes changes when there are enough of them.
    fn put_enough(&mut self, changes: &mut HashedChanges) -> Result<(), StateError> {
        if changes.count() >= TOGETHER {
            self.put(std::mem::take(changes))?;
        }
        Ok(())
    }

    fn put(&mut self, changes: HashedChanges) -> Result<(), StateError> {
        self.update(&changes.in_order())?;
        if self.wants_commit() {
            self.spill()?;
        }
        Ok(())
    }
}

/// Entries of a dump that are loaded together.
#[derive(Default)]
pub struct DumpBatch {
    codes: Vec<(Hash, Vec<u8>)>,
    code_bytes: usize,
    changes: HashedChanges,
}

impl DumpBatch {
    /// Adds the next entry of a dump.
    pub fn take(&mut self, entry: &DumpEntry<'_>) {
        match *entry {
            DumpEntry::Code(hash, code) => {
                self.code_bytes += code.len();
                self.codes.push((*hash, code.to_vec()));
            }
            DumpEntry::Account { key, account, .. } => self.changes.account(*key, Some(account)),
            DumpEntry::Slot { account, key, value, .. } => self.changes.slot(*account, *key, value),
        }
    }

    /// Whether it should be loaded.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.changes.count() >= TOGETHER || self.code_bytes >= CODES_TOGETHER
    }
}

impl DiskState {
    /// Loads entries of a dump.
    ///
    /// # Errors
    /// Those of the system.
    pub fn load(&mut self, batch: DumpBatch) -> Result<(), StateError> {
        for (hash, code) in &batch.codes {
            self.put_code(hash, code)?;
        }
        self.put(batch.changes)
    }
}

/// Loads the entries of a snapshot into an empty state.
pub struct StateLoader {
    hasher: ManyKeccak,
    slots: Vec<(Address, U256, U256)>,
    accounts: Vec<(Address, Account)>,
}

impl StateLoader {
    /// A loader that hashes keys with `hasher`.
    #[must_use]
    pub fn new(hasher: ManyKeccak) -> Self {
        Self { hasher, slots: vec![], accounts: vec![] }
    }

    /// Adds the next entry of a snapshot.
    ///
    /// # Errors
    /// Those of the system.
    pub fn take(&mut self, entry: Entry<'_>, state: &mut DiskState) -> Result<(), StateError> {
        match entry {
            Entry::Code(hash, code) => state.put_code(hash, code)?,
            Entry::Account(address, account) => self.accounts.push((*address, *account)),
            Entry::Slot(address, slot, value) => self.slots.push((*address, slot, value)),
        }
        match self.slots.len() + self.accounts.len() >= TOGETHER {
            true => self.put(state),
            false => Ok(()),
        }
    }

    /// Writes the last entries, and returns the state root.
    ///
    /// # Errors
    /// Those of the system.
    pub fn finish(mut self, state: &mut DiskState) -> Result<Hash, StateError> {
        self.put(state)?;
        Ok(state.root())
    }

    fn put(&mut self, state: &mut DiskState) -> Result<(), StateError> {
        let owners: Vec<_> = self.slots.chunk_by(|a, b| a.0 == b.0).map(|own| own[0].0).collect();
        let slots: Vec<Hash> = self.slots.iter().map(|(_, slot, _)| slot.to_be_bytes()).collect();
        let accounts = self.accounts.iter().map(|(address, _)| &address[..]);
        let messages = accounts.chain(owners.iter().map(|owner| &owner[..]));
        let messages: Vec<_> = messages.chain(slots.iter().map(|slot| &slot[..])).collect();
        let mut keys = vec![[0; 32]; messages.len()];
        self.hasher.keccak256(&messages, &mut keys);
        let (accounts, keys) = keys.split_at(self.accounts.len());
        let (owners, slots) = keys.split_at(owners.len());
        let mut changes = HashedChanges::default();
        // the account of the last slots may come later, and storage needs an account
        let mut each = slots.iter();
        for (own, owner) in self.slots.chunk_by(|a, b| a.0 == b.0).zip(owners) {
            changes.account(*owner, Some(&Account::default()));
            for ((_, _, value), slot) in own.iter().zip(each.by_ref()) {
                changes.slot(*owner, *slot, *value);
            }
        }
        for ((_, account), key) in self.accounts.iter().zip(accounts) {
            changes.account(*key, Some(account));
        }
        self.slots.clear();
        self.accounts.clear();
        state.put(changes)
    }
}

/// The hashes of the keys of items, sorted, each with the index of its item.
fn in_order<T>(hasher: ManyKeccak, items: &[T], name: impl Fn(&T) -> &[u8]) -> Vec<(Hash, usize)> {
    let mut order = Vec::with_capacity(items.len());
    let mut hashes = vec![[0; 32]; TOGETHER.min(items.len())];
    for items in items.chunks(TOGETHER) {
        let messages: Vec<&[u8]> = items.iter().map(&name).collect();
        let hashes = &mut hashes[..items.len()];
        hasher.keccak256(&messages, hashes);
        order.extend(hashes.iter().copied().zip(order.len()..));
    }
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_ascend_and_lead_to_their_items() {
        let items: Vec<[u8; 4]> = (0..TOGETHER as u32 + 9).map(|i| (i / 2).to_be_bytes()).collect();
        for hasher in ManyKeccak::all_available() {
            let order = in_order(hasher, &items, |item| item);
            assert_eq!(order.len(), items.len());
            assert!(order.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(
                order.iter().all(|(hash, at)| *hash == blockmill_hashes::keccak256(&items[*at]))
            );
        }
    }
}
