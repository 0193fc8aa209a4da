//! A state on disk: redo to the last block of the log, and rollback along it.

use super::recover::unusable;
use super::{BlockChanges, ExecutedStore, Facts, Unwound, log};
use crate::Hash;
use crate::check::tip_at;
use crate::error::Error;
use crate::header::HeaderView;
use crate::state::{DiskState, HashedChanges, NodeSet, SharedState, StateError};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::Cancel;

/// Limit of changes that are applied together, so that shared trie nodes are hashed once.
const TOGETHER: usize = 1 << 14;

impl ExecutedStore {
    /// Applies the log to the state on disk, and verifies the root in the last block's header, if
    /// the store has it. Returns false when cancelled.
    pub(super) fn redo_on_disk(&self, disk: &SharedState, cancel: &Cancel) -> Result<bool, Error> {
        let Some(facts) = self.facts else { return Ok(true) };
        let (mut at, mut next) = (facts.start, facts.checkpoint.map_or(0, |number| number + 1));
        let mut together = HashedChanges::default();
        while at < self.parts.logs[facts.active].len() {
            if cancel.is_cancelled() {
                return Ok(false);
            }
            let log = &self.parts.logs[facts.active];
            let (block, end) = log::read_from(log, at)?;
            if block.number != next {
                let expected = format!("the record of block {next}");
                return Err(log::damaged(log, at, &expected, format!("{}", block.number)));
            }
            let mut state = disk.write();
            for code in &block.codes {
                state.put_code(&blockmill_hashes::keccak256(code), code).map_err(state_error)?;
            }
            let changes = forward(&block);
            // a later change may set slots of an account that this block cleared
            let removes = changes.removes();
            if removes || together.count() >= TOGETHER {
                apply(&mut state, std::mem::take(&mut together))?;
            }
            match removes {
                true => apply(&mut state, changes)?,
                false => together.append(&changes),
            }
            (at, next) = (end, next + 1);
        }
        apply(&mut disk.write(), together)?;
        if next != facts.block + 1 {
            let log = &self.parts.logs[facts.active];
            let expected = format!("records up to block {}", facts.block);
            return Err(log::damaged(log, at, &expected, format!("{next} as the next")));
        }
        // a repair may have removed the header of that block; a rollback verifies the root of an
        // earlier one
        if self.last_block_before_state().is_none() {
            self.verify_root(disk, facts.block)?;
        }
        Ok(true)
    }

    /// Compares the root of the state on disk with that in a block's header.
    fn verify_root(&self, disk: &SharedState, number: u64) -> Result<(), Error> {
        let expected = self.root_of(number)?;
        let found = disk.read().root();
        match found == expected {
            true => Ok(()),
            false => Err(Error::StoredState { number, expected, found }),
        }
    }

    /// The state root in a stored header.
    pub(super) fn root_of(&self, number: u64) -> Result<Hash, Error> {
        let Some(header) = self.blocks.header(number)? else {
            return Err(unusable(number, &"no header"));
        };
        let header = HeaderView::decode(&header).map_err(|error| unusable(number, &error))?;
        Ok(*header.state_root)
    }

    /// Undoes blocks until block `to` is the last one: in one commit or, if the changes exceed the
    /// memory for them, in several commits of blocks and state. `None` when cancelled before the
    /// first commit.
    pub(super) fn unwind_on_disk(
        &mut self,
        disk: &SharedState,
        to: u64,
        cancel: &Cancel,
    ) -> Result<Option<Unwound>, Error> {
        let Some(from) = self.facts.map(|facts| facts.block) else { return Ok(None) };
        if !self.redo_on_disk(disk, cancel)? {
            return Ok(None);
        }
        while let Some(facts) = self.facts.filter(|facts| facts.block > to) {
            let Some(now) = self.undo_on_disk(disk, (facts, to), false, cancel)? else {
                let went = facts.block < from;
                return Ok(went.then_some(Unwound { from, to: facts.block, with_state: true }));
            };
            if self.blocks.tip().is_some_and(|tip| now.block <= tip.number) {
                self.verify_root(disk, now.block)?;
            }
            self.commit_unwind_on_disk(now)?;
        }
        Ok(Some(Unwound { from, to, with_state: true }))
    }

    /// The trie nodes of the state after a block that the log reaches. `None` when cancelled. The
    /// changes since the last commit are in memory.
    pub(super) fn nodes_on_disk(
        &self,
        number: u64,
        cancel: &Cancel,
    ) -> Result<Option<NodeSet>, Error> {
        Ok(self.disk_after(number, cancel)?.map(NodeSet::from_disk))
    }

    /// The state on disk after a block that the log reaches; its root is verified. `None` when
    /// cancelled. The changes since the last commit are in memory.
    ///
    /// # Errors
    /// [`Error::Unwind`] if the log does not reach the block; [`Error::StoredState`] if the root
    /// differs; [`Error::Store`] or [`Error::State`] if data is corrupt.
    pub fn disk_after(&self, number: u64, cancel: &Cancel) -> Result<Option<SharedState>, Error> {
        self.reaches(number)?;
        // this one's state stays where it is
        let other = Self::open_read_only(self.blocks.dir())?;
        let (Some(disk), Some(facts)) = (other.disk(), other.facts) else {
            let (expected, found) = ("a store with a state".into(), "blocks only".into());
            return Err(Error::Unwind { expected, found });
        };
        if !other.redo_on_disk(disk, cancel)?
            || other.undo_on_disk(disk, (facts, number), true, cancel)?.is_none()
        {
            return Ok(None);
        }
        other.verify_root(disk, number)?;
        Ok(Some(disk.clone()))
    }

    /// Undoes blocks in the state on disk: all after `to`, or as many as fit in the memory for
    /// changes. Returns the facts afterwards; `None` when cancelled.
    fn undo_on_disk(
        &self,
        disk: &SharedState,
        (facts, to): (Facts, u64),
        all: bool,
        cancel: &Cancel,
    ) -> Result<Option<Facts>, Error> {
        let (logs, mut state) = (&self.parts.logs, disk.write());
        let mut now = facts;
        let mut end = logs[facts.active].len();
        while now.block > to && (all || now.block == facts.block || !state.wants_commit()) {
            if cancel.is_cancelled() {
                return Ok(None);
            }
            if end == 0 && now.active == facts.active {
                now.active = 1 - facts.active;
                end = logs[now.active].len();
            }
            let log = &logs[now.active];
            let (block, start) = log::read_to(log, end)?;
            if block.number != now.block {
                let expected = format!("the record of block {}", now.block);
                return Err(log::damaged(log, start, &expected, block.number));
            }
            if !block.has_old {
                let number = block.number;
                let expected = format!("a log with old values (log=redo+undo) of block {number}");
                return Err(Error::Unwind { expected, found: "new values only".into() });
            }
            state.update(&backward(&block)).map_err(state_error)?;
            (end, now.block) = (start, block.number - 1);
        }
        (now.start, now.checkpoint) = (end, Some(now.block));
        Ok(Some(now))
    }

    /// Commits a rollback to a block whose state is on disk. The hash of a block that a repair
    /// removed is not known: it is 0 until the state is that of a stored block.
    fn commit_unwind_on_disk(&mut self, mut now: Facts) -> Result<(), Error> {
        let number =
            self.last_block_before_state().map_or(now.block, |blocks| blocks.min(now.block));
        let Some(tip) = tip_at(&self.blocks, number)? else {
            return Err(Error::StoredBlock { number, expected: [0; 32], found: None });
        };
        now.hash = if number == now.block { tip.hash } else { [0; 32] };
        let before = self.facts.map_or(now.active, |facts| facts.active);
        if now.active != before {
            self.parts.logs[before].cut(0)?;
        }
        self.parts.logs[now.active].cut(now.start)?;
        if now.start == 0 {
            now.first[now.active] = now.block + 1;
        }
        let Self { parts, blocks, .. } = self;
        parts.truncate_after(blocks, &tip, &now.encode(), true)?;
        self.facts = Some(now);
        Ok(())
    }
}

/// Converts an error of the state.
pub(crate) fn state_error(error: StateError) -> Error {
    match error {
        StateError::Disk(error) => Error::State(error),
        other => Error::Execution { lacks: format!("a state that can be kept, found {other}") },
    }
}

/// Applies changes, if there are any.
fn apply(state: &mut DiskState, changes: HashedChanges) -> Result<(), Error> {
    if changes.count() > 0 || changes.removes() {
        state.update(&changes.in_order()).map_err(state_error)?;
    }
    Ok(())
}

/// The changes of a block.
fn forward(block: &BlockChanges) -> HashedChanges {
    let mut changes = HashedChanges::default();
    let (accounts, mut slots) = keys_of(block);
    for (account, key) in block.accounts.iter().zip(accounts) {
        if account.cleared.is_some() && account.after.is_some() {
            changes.clear(key);
        }
        changes.account(key, account.after.as_ref());
        for (slot, hash) in account.slots.iter().zip(slots.by_ref()) {
            if account.after.is_some() {
                changes.slot(key, hash, slot.after);
            }
        }
    }
    changes.in_order()
}

/// The changes that undo a block.
fn backward(block: &BlockChanges) -> HashedChanges {
    let mut changes = HashedChanges::default();
    let (accounts, mut slots) = keys_of(block);
    for (account, key) in block.accounts.iter().zip(accounts) {
        changes.account(key, account.before.as_ref());
        let is_there = account.before.is_some();
        if is_there {
            let cleared = account.cleared.iter().flatten();
            cleared.for_each(|(slot, value)| changes.slot(key, *slot, *value));
        }
        for (slot, hash) in account.slots.iter().zip(slots.by_ref()) {
            if is_there {
                changes.slot(key, hash, slot.before);
            }
        }
    }
    changes.in_order()
}

/// The hashes of a block's accounts, and those of the slots of all of them.
fn keys_of(block: &BlockChanges) -> (Vec<Hash>, impl Iterator<Item = Hash> + use<>) {
    let slots = block.accounts.iter().flat_map(|account| &account.slots);
    let slots: Vec<_> = slots.map(|slot| slot.slot.to_be_bytes::<32>()).collect();
    let accounts = block.accounts.iter().map(|account| &account.address[..]);
    let messages: Vec<&[u8]> = accounts.chain(slots.iter().map(|slot| &slot[..])).collect();
    let mut keys = vec![[0; 32]; messages.len()];
    ManyKeccak::detect().keccak256(&messages, &mut keys);
    let slots = keys.split_off(block.accounts.len());
    (keys, slots.into_iter())
}
