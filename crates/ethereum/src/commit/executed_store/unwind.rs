//! Rollback along the log: blocks, state and log in one commit.

use super::parts::StatePart;
use super::{BlockChanges, ExecutedStore, Facts, flat, log};
use crate::check::tip_at;
use crate::error::Error;
use crate::state::{State, Tries};
use crate::{Address, U256};
use blockmill_pipeline::Cancel;
use std::collections::BTreeSet;

/// The result of a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// The last block before.
    pub from: u64,
    /// The last block now.
    pub to: u64,
    /// Whether a state was rolled back with the blocks.
    pub with_state: bool,
}

/// The end of the log after a rollback, and the changes to undo in the checkpoint.
#[derive(Default)]
pub(super) struct Back {
    active: usize,
    end: u64,
    /// Accounts and slots of undone blocks that are in the checkpoint.
    accounts: BTreeSet<Address>,
    slots: BTreeSet<(Address, U256)>,
}

impl ExecutedStore {
    /// The earliest block to which the store can be rolled back; `None` without blocks.
    #[must_use]
    pub fn earliest(&self) -> Option<u64> {
        let first = self.blocks.first()?;
        let Some(facts) = &self.facts else { return Some(first) };
        let other = 1 - facts.active;
        let log = if self.parts.logs[other].is_empty() { facts.active } else { other };
        Some(facts.first[log].saturating_sub(1).max(first).min(facts.block))
    }

    /// Makes block `to` the last one: undoes the later blocks, their changes and their log. The
    /// state root is verified with the header before anything is written. Durable when it returns.
    /// `None` when cancelled, and then nothing has changed.
    ///
    /// # Errors
    /// [`Error::Unwind`] where the store does not hold the block, or the log does not reach so far
    /// back or has no old values; corruption.
    pub fn unwind(&mut self, to: u64, cancel: &Cancel) -> Result<Option<Unwound>, Error> {
        let (Some(first), Some(tip)) = (self.blocks.first(), self.blocks.tip()) else {
            return Err(Error::Unwind { expected: "a block".into(), found: "none".into() });
        };
        let last = self.facts.map_or(tip.number, |facts| facts.block.max(tip.number));
        let found = || format!("--to {to}");
        if to < first || to > tip.number {
            let expected = format!("one of the blocks {first} to {}", tip.number);
            return Err(Error::Unwind { expected, found: found() });
        }
        let Some(new) = tip_at(&self.blocks, to)? else {
            return Err(Error::StoredBlock { number: to, expected: [0; 32], found: None });
        };
        let Some(facts) = self.named_facts().copied() else {
            // the next import executes the remaining blocks
            self.blocks.truncate_after(&new)?;
            self.facts = None;
            return Ok(Some(Unwound { from: last, to, with_state: false }));
        };
        if to >= facts.block {
            // the state is that of an earlier block, and stays
            let state = facts.encode();
            self.parts.truncate_after(&mut self.blocks, &new, &state, false)?;
            return Ok(Some(Unwound { from: last, to, with_state: true }));
        }
        let earliest = self.earliest().unwrap_or(first);
        if to < earliest {
            let expected = format!("block {earliest} or later, as the log begins there");
            return Err(Error::Unwind { expected, found: found() });
        }
        if let Some(disk) = self.disk().cloned() {
            return self.unwind_on_disk(&disk, to, cancel);
        }
        let Some(mut state) = self.flat_state(cancel)? else { return Ok(None) };
        let Some(back) = self.undo_in_memory(&facts, to, &mut state, cancel)? else {
            return Ok(None);
        };
        let tries = Tries::pointers();
        if self.tries_at(to, &state, tries, cancel)?.is_none() || cancel.is_cancelled() {
            return Ok(None);
        }
        self.commit_unwind(&facts, &new, &back, &state)?;
        Ok(Some(Unwound { from: last, to, with_state: true }))
    }

    /// Takes the blocks after `to` back in the flat state; none when asked to stop.
    pub(super) fn undo_in_memory(
        &self,
        facts: &Facts,
        to: u64,
        state: &mut State,
        cancel: &Cancel,
    ) -> Result<Option<Back>, Error> {
        let logs = &self.parts.logs;
        let end = logs[facts.active].len();
        let mut back = Back { active: facts.active, end, ..Back::default() };
        let mut number = facts.block;
        while number > to {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            if back.end == 0 && back.active == facts.active {
                back.active = 1 - facts.active;
                back.end = logs[back.active].len();
            }
            let log = &logs[back.active];
            let (block, start) = log::read_to(log, back.end)?;
            if block.number != number {
                let expected = format!("the record of block {number}");
                return Err(log::damaged(log, start, &expected, block.number));
            }
            if !block.has_old {
                let expected = format!("a log with old values (log=redo+undo) of block {number}");
                return Err(Error::Unwind { expected, found: "new values only".into() });
            }
            flat::undo(state, &block)
                .map_err(|error| log::damaged(log, start, "a state that can be kept", error))?;
            if facts.checkpoint.is_some_and(|checkpoint| number <= checkpoint) {
                back.touch(&block);
            }
            back.end = start;
            number -= 1;
        }
        Ok(Some(back))
    }

    /// Commits a rollback.
    fn commit_unwind(
        &mut self,
        facts: &Facts,
        new: &blockmill_store::Tip,
        back: &Back,
        state: &State,
    ) -> Result<(), Error> {
        if let StatePart::Table(table) = &mut self.parts.state {
            for address in &back.accounts {
                flat::put_in_table(table, address, state.account_at(address))?;
            }
            for (address, slot) in &back.slots {
                let value = state.slot_at(address, slot);
                flat::put_slot_in_table(table, address, slot, value)?;
            }
        }
        let Back { active, end, .. } = *back;
        if active != facts.active {
            self.parts.logs[facts.active].cut(0)?;
        }
        self.parts.logs[active].cut(end)?;
        let mut now = Facts { block: new.number, hash: new.hash, active, ..*facts };
        if end == 0 {
            now.first[active] = new.number + 1;
        }
        if facts.checkpoint.is_some_and(|checkpoint| new.number < checkpoint) {
            (now.checkpoint, now.start) = (Some(new.number), end);
        }
        let bytes = now.encode();
        self.parts.truncate_after(&mut self.blocks, new, &bytes, true)?;
        self.facts = Some(now);
        Ok(())
    }
}

impl Back {
    fn touch(&mut self, block: &BlockChanges) {
        for account in &block.accounts {
            self.accounts.insert(account.address);
            let slots = account.slots.iter();
            self.slots.extend(slots.map(|slot| (account.address, slot.slot)));
        }
    }
}
