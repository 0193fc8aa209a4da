//! Unwinds blocks along the undo log: blocks, tables and log in one commit.

use super::Ledger;
use super::trie::trie_over;
use super::undo::{self, Replaced};
use crate::error::Error;
use crate::execute::engine::Execution;
use crate::ledger::has_state_roots;
use crate::ledger::history;
use crate::logs::{self, Event, Standard};
use crate::state::StorageKey;
use crate::types::{Block, UInt160, UInt256};
use blockmill_hashes::ManySha256;
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, Tip};
use std::collections::{BTreeMap, BTreeSet};

/// The result of an unwind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// The last block before.
    pub from: u64,
    /// The last block now.
    pub to: u64,
    /// Whether a state was unwound with the blocks.
    pub with_state: bool,
}

/// Unwinds a store without a state to block `to`. Durable when it returns.
///
/// # Errors
/// Returns [`Error::Unwind`] if the store does not have the block, [`Error::Store`] if the store
/// cannot be read or written.
pub fn unwind_blocks(store: &mut ChainStore, to: u64) -> Result<Unwound, Error> {
    let (from, new) = target(store, to)?;
    store.truncate_after(&new)?;
    Ok(Unwound { from, to, with_state: false })
}

/// Returns the number of the last block, and the new tip.
pub(super) fn target(store: &ChainStore, to: u64) -> Result<(u64, Tip), Error> {
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else {
        return Err(Error::Unwind { expected: "a block".into(), found: "none".into() });
    };
    if to < first || to > tip.number {
        let expected = format!("one of the blocks {first} to {}", tip.number);
        return Err(Error::Unwind { expected, found: format!("--to {to}") });
    }
    let hash = store.hash_of(to)?;
    let missing = Error::StoredBlock { number: to, expected: UInt256::ZERO, found: None };
    let hash = hash.ok_or(missing)?;
    Ok((tip.number, Tip { number: to, hash, ..tip }))
}

/// How an unwind finds the transactions and transfers of the removed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// Read the blocks and their application logs.
    Blocks,
    /// Scan the tables, if blocks cannot be read.
    Tables,
}

/// Accounts and standards of transfers.
pub(super) type Accounts = BTreeSet<(UInt160, u8)>;

/// Passes the accounts and standards of all transfer notifications to `each`.
pub(super) fn mentioned(executions: &[Execution], mut each: impl FnMut(UInt160, u8)) {
    for event in executions.iter().flat_map(|execution| &execution.notifications) {
        let (contract, name) = (event.contract, &*event.name);
        if let Some(movement) = logs::transfer_of(&Event { contract, name, state: &event.state }) {
            let standard = movement.standard.number();
            [movement.from, movement.to].into_iter().for_each(|account| each(account, standard));
        }
    }
}

impl Ledger {
    /// The earliest block that an unwind can return to; `None` if the store has no block.
    #[must_use]
    pub fn earliest(&self) -> Option<u64> {
        let tip = self.store.lock().tip()?.number;
        let first = self.undo.first(&self.facts);
        Some(first.map_or(tip, |first| u64::from(first.saturating_sub(1))))
    }

    /// Makes block `to` the last one: removes the blocks after it with all their results. The state
    /// root is computed and compared with the root of that block before anything is written.
    /// Durable when it returns. Returns `None` if it was cancelled; the store is unchanged then.
    ///
    /// # Errors
    /// Returns [`Error::Unwind`] if the store does not have the block or the undo log does not
    /// reach it, [`Error::StoredState`] if the root differs, and [`Error::Store`],
    /// [`Error::StoredBlock`], [`Error::StoredLog`] or [`Error::StoredUndo`] if something cannot be
    /// read.
    pub fn unwind(self, to: u64, cancel: &Cancel) -> Result<Option<Unwound>, Error> {
        self.unwind_by(Trace::Blocks, to, cancel)
    }

    /// [`Ledger::unwind`] with the given way to find the results of the removed blocks.
    pub(super) fn unwind_by(
        mut self,
        trace: Trace,
        to: u64,
        cancel: &Cancel,
    ) -> Result<Option<Unwound>, Error> {
        let (from, new) = target(&self.store.lock(), to)?;
        let earliest = self.earliest().unwrap_or(from);
        if to < earliest {
            let expected = format!("block {earliest} or later, as the undo log begins there");
            return Err(Error::Unwind { expected, found: format!("--to {to}") });
        }
        let state_root = trace == Trace::Blocks && has_state_roots(&self.store.lock())?;
        let mut accounts = Accounts::new();
        let mut end = self.undo.logs[self.facts.active].len();
        // heights have four bytes
        for height in (to as u32 + 1..=from as u32).rev() {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            if trace == Trace::Blocks {
                let block = self.block(height, state_root)?;
                self.mentioned(&block, height, &mut accounts)?;
                for transaction in block.transactions() {
                    self.transactions.delete(&transaction.hash().0)?;
                }
            }
            self.roots.delete(&height.to_be_bytes())?;
            end = self.take_back(height, end)?;
        }
        if trace == Trace::Tables {
            accounts = self.trace_tables(to as u32)?;
        }
        for (account, tokens) in self.remove_transfers(&accounts, to as u32)? {
            self.restore_updates(account, tokens, to as u32)?;
        }
        self.check_root(to as u32)?;
        self.check_kept(to as u32)?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        self.undo.logs[self.facts.active].cut(end)?;
        if end == 0 {
            self.facts.first[self.facts.active] = to as u32 + 1;
        }
        let (store, state) = (self.store.clone(), self.encoded_facts());
        store.lock().truncate_after_with(&new, &mut self.parts(), &state)?;
        Ok(Some(Unwound { from, to, with_state: true }))
    }

    /// Collects the accounts in the transfer notifications of a block.
    fn mentioned(&self, block: &Block, height: u32, accounts: &mut Accounts) -> Result<(), Error> {
        let executions = self.executions_of(block)?;
        let missing =
            Error::StoredBlock { number: height.into(), expected: block.hash, found: None };
        let executions = executions.ok_or(missing)?;
        mentioned(&executions, |account, standard| _ = accounts.insert((account, standard)));
        Ok(())
    }

    /// Restores the values in the record that ends at `end` of the active log. Returns the start of
    /// the record.
    fn take_back(&mut self, height: u32, mut end: u64) -> Result<u64, Error> {
        if end == 0 {
            // the records before are in the other log
            self.undo.logs[self.facts.active].cut(0)?;
            self.facts.active = 1 - self.facts.active;
            end = self.undo.logs[self.facts.active].len();
        }
        let mut record = vec![];
        let start = self.undo.logs[self.facts.active].read(end, &mut record)?;
        let damaged = |error| Error::StoredUndo { height, error };
        let (found, entries) = undo::decode(&record).map_err(damaged)?;
        if found != height {
            let expected = "the parent of the block after it";
            let error =
                crate::types::Error::Field { at: 0, what: "height", expected, found: found.into() };
            return Err(damaged(error));
        }
        // of a key that was replaced twice, the first value counts
        for (table, key, before) in entries.into_iter().rev() {
            let table = match table {
                Replaced::Storage => {
                    if let (Some(history), Some(key)) =
                        (&mut self.history, StorageKey::from_slice(key))
                    {
                        history::remove(history, &key, height)?;
                    }
                    &mut self.storage
                }
                Replaced::Transactions => &mut self.transactions,
                Replaced::Conflicts => &mut self.conflicts,
            };
            match before {
                Some(before) => table.put(key, before)?,
                None => table.delete(key)?,
            }
        }
        Ok(start)
    }

    /// Removes the transfers of these accounts after block `to`. Returns their tokens.
    fn remove_transfers(
        &mut self,
        accounts: &Accounts,
        to: u32,
    ) -> Result<BTreeMap<UInt160, BTreeSet<i32>>, Error> {
        let mut tokens: BTreeMap<UInt160, BTreeSet<i32>> = BTreeMap::new();
        let reader = self.transfers.reader();
        for (account, standard) in accounts {
            let own = tokens.entry(*account).or_default();
            let table = &mut self.transfers;
            logs::after(&reader, (*account, *standard), to, |key, transfer| {
                own.insert(transfer.asset);
                table.delete(key)
            })?;
        }
        Ok(tokens)
    }

    /// Restores the last changes of an account's balances up to block `to` from the remaining
    /// transfers.
    fn restore_updates(
        &mut self,
        account: UInt160,
        mut tokens: BTreeSet<i32>,
        to: u32,
    ) -> Result<(), Error> {
        let reader = self.transfers.reader();
        let mut last: BTreeMap<i32, u32> = BTreeMap::new();
        for standard in Standard::NUMBERS {
            let mut wanted = tokens.clone();
            logs::before(&reader, (account, standard), to, |transfer| {
                if wanted.remove(&transfer.asset) {
                    let height = last.entry(transfer.asset).or_default();
                    *height = transfer.place.height.max(*height);
                }
                !wanted.is_empty()
            })?;
        }
        while let Some(token) = tokens.pop_first() {
            let key = logs::update_key(account, token);
            match last.get(&token) {
                Some(height) => self.updates.put(&key, &height.to_le_bytes())?,
                None => self.updates.delete(&key)?,
            }
        }
        Ok(())
    }

    /// Compares the root of contract storage with the root of block `to`.
    fn check_root(&mut self, to: u32) -> Result<(), Error> {
        let mut root = vec![];
        let live = self.roots.get(&to.to_be_bytes(), &mut root)?;
        let expected = UInt256::from_slice(&root).filter(|_| live).unwrap_or_default();
        let found = trie_over(self.storage.iter()?, ManySha256::detect())?.root();
        if found != expected {
            return Err(Error::StoredState { expected, found });
        }
        self.facts.root = expected;
        Ok(())
    }
}
