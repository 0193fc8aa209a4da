//! The commit protocol, in the order in which bytes reach the files.
//!
//! 1. `append`: data, ends, hashes, index runs. Nothing points at them yet.
//! 2. `commit`: one checkpoint slot, the older of the two. The operating system keeps written bytes
//!    when a process dies, so from here on a kill loses nothing.
//! 3. `sync`: all files, then a slot whose durable part is all of it, then the checkpoint file.
//!    From here on a power loss loses nothing either.
//!
//! Between two syncs the disk may have received a slot but not the bytes it speaks of. Each slot
//! therefore carries the state of the last sync and a checksum of the sums written since: recovery
//! believes a commit only if these sums and the bytes that they cover hold, and else goes back.
//!
//! Making the store shorter is the one change that is not an append. Both slots then say the
//! shorter length, durably, before the first byte is cut off.

use std::fs::File;

use crate::{
    chain_store::{ChainStore, file_lengths},
    checkpoint::{SLOT_BYTES, Slot, State, Tip, hex},
    error::{Error, Result, io_error, mismatch},
    segmented_file::SegmentedFile,
    summed::SummedFile,
};

/// Places in the protocol where a process can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// Half of a column's bytes are written.
    HalfData,
    /// The bytes of a column are written, their ends are not.
    AfterData,
    /// A column is written, ends included.
    AfterColumn,
    /// The hashes of a chunk are written.
    AfterHashes,
    /// The chunk is written, index runs included.
    AfterIndex,
    /// A commit begins.
    BeforeCheckpoint,
    /// Half of a checkpoint slot is written.
    HalfCheckpoint,
    /// A checkpoint slot is written.
    AfterCheckpoint,
    /// Data is synced, the checkpoint does not say so yet.
    AfterDataSync,
    /// The first slot says the shorter length.
    AfterFirstShorterSlot,
    /// Both slots say the shorter length, nothing is cut off yet.
    BeforeCut,
    /// The data is cut off, the index is not.
    HalfCut,
}

impl CrashPoint {
    /// All of them, for tests that go through every one.
    pub const ALL: [CrashPoint; 12] = [
        CrashPoint::HalfData,
        CrashPoint::AfterData,
        CrashPoint::AfterColumn,
        CrashPoint::AfterHashes,
        CrashPoint::AfterIndex,
        CrashPoint::BeforeCheckpoint,
        CrashPoint::HalfCheckpoint,
        CrashPoint::AfterCheckpoint,
        CrashPoint::AfterDataSync,
        CrashPoint::AfterFirstShorterSlot,
        CrashPoint::BeforeCut,
        CrashPoint::HalfCut,
    ];
}

/// Which crash point ends the run, and how often it is passed before.
#[derive(Debug)]
pub(crate) struct CrashPlan(pub Option<(CrashPoint, u32)>);

impl CrashPlan {
    /// Whether the run ends here.
    pub fn is_due(&mut self, point: CrashPoint) -> bool {
        match &mut self.0 {
            Some((planned, 0)) => *planned == point,
            Some((planned, left)) if *planned == point => {
                *left -= 1;
                false
            }
            _ => false,
        }
    }

    /// Ends the run here if that is the plan: files stay exactly as they are.
    pub fn reach(&mut self, point: CrashPoint) -> Result<()> {
        if self.is_due(point) { Err(Error::Crash(point)) } else { Ok(()) }
    }
}

impl ChainStore {
    /// Commits everything appended so far. After it returns, the death of the process loses
    /// nothing; [`ChainStore::sync`] protects against power loss.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when `tip` is not the last appended block; nothing is written then.
    pub fn commit(&mut self, tip: &Tip) -> Result<()> {
        self.check_writable()?;
        self.check_tip(tip, self.appended)?;
        self.failed = true;
        self.crash.reach(CrashPoint::BeforeCheckpoint)?;
        self.appended.tip = *tip;
        self.write_slot(self.appended)?;
        self.committed = self.appended;
        self.failed = false;
        Ok(())
    }

    /// Makes everything committed so far survive a power loss.
    pub fn sync(&mut self) -> Result<()> {
        self.check_writable()?;
        if self.appended.count != self.committed.count {
            return Err(mismatch("blocks to sync", self.committed.count, self.appended.count));
        }
        self.failed = true;
        self.sync_data()?;
        self.write_slot(self.committed)?;
        self.checkpoint.sync()?;
        self.failed = false;
        Ok(())
    }

    /// Removes all blocks after `tip`, those not yet committed included, and makes `tip` the last
    /// committed block. Durable when it returns.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when the store does not hold that block; nothing changes then.
    pub fn truncate_after(&mut self, tip: &Tip) -> Result<()> {
        self.check_writable()?;
        let state = self.state_up_to(tip)?;
        self.settle(state)
    }

    /// The state in which `tip` is the last block.
    pub(crate) fn state_up_to(&self, tip: &Tip) -> Result<State> {
        let mut state = self.appended;
        state.count = match tip.number.checked_sub(state.first) {
            Some(position) if position < state.count => position + 1,
            _ => {
                let last = state.next().wrapping_sub(1);
                let expected = match state.first == last {
                    true => format!("block {last}"),
                    false => format!("one of the blocks {} to {last}", state.first),
                };
                return Err(mismatch("block to go back to", expected, tip.number));
            }
        };
        self.check_tip(tip, state)?;
        for (column, bytes) in self.columns.iter().zip(&mut state.bytes) {
            if column.ends.len() > 0 {
                *bytes = column.end_of(state.count - 1)?;
            }
        }
        state.tip = *tip;
        let lengths = file_lengths(&state);
        for ((file, len), tail) in self.files().into_iter().zip(lengths).zip(&mut state.tails) {
            *tail = file.tail_at(len)?;
        }
        Ok(state)
    }

    fn check_tip(&self, tip: &Tip, state: State) -> Result<()> {
        if state.count == 0 || tip.number != state.next() - 1 {
            let last = state.next().checked_sub(1).map_or("none".into(), |n| n.to_string());
            return Err(mismatch("number of the last block", last, tip.number));
        }
        let hash = self.hash_of(tip.number)?;
        if hash != Some(tip.hash) {
            let expected = hash.map_or("none".into(), |hash| hex(&hash));
            let found = hex(&tip.hash);
            return Err(mismatch("hash of the last block", expected, found));
        }
        Ok(())
    }

    /// Makes `state`, a prefix of what is on disk, all that there is: durable in both slots, then
    /// cut to it.
    pub(crate) fn settle(&mut self, state: State) -> Result<()> {
        self.failed = true;
        self.sync_data()?;
        self.durable = state;
        self.write_slot(state)?;
        self.checkpoint.sync()?;
        self.crash.reach(CrashPoint::AfterFirstShorterSlot)?;
        self.write_slot(state)?;
        self.checkpoint.sync()?;
        self.crash.reach(CrashPoint::BeforeCut)?;
        self.cut(state)?;
        self.mark_durable();
        (self.appended, self.committed) = (state, state);
        self.failed = false;
        Ok(())
    }

    /// Removes from the files what is beyond `state`.
    pub(crate) fn cut(&mut self, state: State) -> Result<()> {
        let lengths = file_lengths(&state);
        for ((file, len), tail) in self.files_mut().into_iter().zip(lengths).zip(state.tails) {
            file.cut(len, tail)?;
        }
        self.crash.reach(CrashPoint::HalfCut)?;
        self.index.restore(state.count, state.count, &self.hashes, true)?;
        Ok(())
    }

    /// Syncs all files and the folder; what was appended is durable then.
    fn sync_data(&mut self) -> Result<()> {
        for file in self.files_mut() {
            file.sync()?;
        }
        for file in self.index.files_mut() {
            file.sync()?;
        }
        let folder = File::open(&self.dir).map_err(io_error("open", &self.dir))?;
        folder.sync_all().map_err(io_error("sync", &self.dir))?;
        self.crash.reach(CrashPoint::AfterDataSync)?;
        self.mark_durable();
        self.durable = self.committed;
        Ok(())
    }

    fn mark_durable(&mut self) {
        self.files_mut().into_iter().for_each(SummedFile::mark_durable);
        self.index.files_mut().for_each(SegmentedFile::mark_durable);
    }

    /// Writes the older slot.
    fn write_slot(&mut self, committed: State) -> Result<()> {
        let since = self.files().map(SummedFile::since);
        let slot = Slot {
            sequence: self.sequence + 1,
            layout: self.layout,
            committed,
            durable: self.durable,
            since,
        };
        if self.crash.is_due(CrashPoint::HalfCheckpoint) {
            self.checkpoint.write(&slot, SLOT_BYTES / 2)?;
            return Err(Error::Crash(CrashPoint::HalfCheckpoint));
        }
        self.checkpoint.write(&slot, SLOT_BYTES)?;
        self.sequence += 1;
        self.crash.reach(CrashPoint::AfterCheckpoint)
    }
}
