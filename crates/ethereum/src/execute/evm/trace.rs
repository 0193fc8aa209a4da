//! The slots that a transaction accesses and the messages that it hashes, recorded for the history
//! of calls; and how many prefetched slots are read.

use super::{keccak, reads};
use crate::U256;
use crate::execute::history::{Call, History, Slot};
use hashbrown::HashSet;
use revm::interpreter::InstructionExecResult;
use std::sync::Arc;

/// Limit of the recorded slots, and of the recorded hashes, of a transaction.
const MOST: usize = 32;
/// Above this number of prefetched slots only a sample is counted, so that counting takes no time.
const COUNTED: usize = 1024;

/// How many prefetched slots were read by execution; extrapolated from a sample if there are many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefetchStats {
    /// Prefetched slots that were read.
    pub used: u64,
    /// Prefetched slots that were not read.
    pub unused: u64,
}

impl PrefetchStats {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.used += other.used;
        self.unused += other.unused;
    }
}

/// The trace of the current transaction, and the prefetched slots of a chunk.
#[derive(Debug, Default)]
pub(super) struct AccessTrace {
    history: Option<Arc<History>>,
    slots: Vec<Slot>,
    hashed: Vec<([u8; 64], U256)>,
    /// The sample of prefetched slots that were not read yet.
    prefetched: HashSet<Slot>,
    /// The bits that are 0 in each slot of the sample.
    mask: u64,
    used: u64,
}

impl AccessTrace {
    /// An empty trace for `history`, with these prefetched slots.
    pub fn new(history: Option<Arc<History>>, prefetched: &[Slot]) -> Self {
        let share = prefetched.len().div_ceil(COUNTED).next_power_of_two();
        let mask = share as u64 - 1;
        let counted = prefetched.iter().copied().filter(|slot| is_counted(&slot.1, mask));
        Self { history, prefetched: counted.collect(), mask, ..Self::default() }
    }

    /// Whether accesses are recorded.
    pub fn is_on(&self) -> bool {
        self.history.is_some()
    }

    /// Begins a transaction.
    pub fn begin(&mut self) {
        self.slots.clear();
        self.hashed.clear();
    }

    /// Records an instruction that needs the value of a slot.
    pub fn record_slot(&mut self, slot: Slot) {
        if self.slots.len() < MOST && !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }

    /// Counts a look-up of a slot in the state.
    #[inline]
    pub fn count_read(&mut self, slot: &U256, whole: impl FnOnce() -> Slot) {
        if is_counted(slot, self.mask) && !self.prefetched.is_empty() {
            self.used += u64::from(self.prefetched.remove(&whole()));
        }
    }

    /// Ends a transaction; records it in the history if it is a call.
    pub fn end(&self, call: Option<Call<'_>>) {
        if let (Some(history), Some(call)) = (&self.history, call) {
            history.record(&call, &self.slots, &self.hashed);
        }
    }

    /// How many prefetched slots were read so far, and how many were not.
    pub fn prefetch_stats(&self) -> PrefetchStats {
        let share = self.mask + 1;
        PrefetchStats { used: self.used * share, unused: self.prefetched.len() as u64 * share }
    }
}

/// Returns whether a slot is in the sample.
#[inline]
fn is_counted(slot: &U256, mask: u64) -> bool {
    slot.as_limbs()[0] & mask == 0
}

/// KECCAK256 that records messages of two words.
pub(super) fn keccak256(mut call: reads::Call<'_, '_>) -> InstructionExecResult {
    let message = keccak::message(&mut call)?;
    keccak::digest(&mut call, message)?;
    let trace = &mut call.host.journaled_state.database.trace;
    if let Some((from, 64)) = message
        && trace.hashed.len() < MOST
        && let Some(hash) = call.interpreter.stack.top()
        && let Some(words) = call.interpreter.memory.slice_len(from, 64).first_chunk()
    {
        trace.hashed.push((*words, *hash));
    }
    Ok(())
}
