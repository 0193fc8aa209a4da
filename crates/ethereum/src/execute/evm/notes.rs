//! What transactions come to in storage, and what they hash: noted for the history of calls, where
//! there is one.

use super::{keccak, reads};
use crate::U256;
use crate::execute::history::{Call, History, Slot};
use hashbrown::HashSet;
use revm::interpreter::InstructionExecResult;
use std::sync::Arc;

/// Most slots and most hashes of a transaction that are noted.
const MOST: usize = 32;
/// Slots from which on a share of them is counted for all, so that counting takes no time.
const COUNTED: usize = 1024;

/// Slots that were read ahead because calls were expected to come to them; where they are many, as
/// a share of them tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foresight {
    /// Those that were read then.
    pub used: u64,
    /// Those that were not.
    pub vain: u64,
}

impl Foresight {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.used += other.used;
        self.vain += other.vain;
    }
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Notes {
    history: Option<Arc<History>>,
    slots: Vec<Slot>,
    hashed: Vec<([u8; 64], U256)>,
    /// Slots that were read ahead and are counted, without those that have been read since.
    foreseen: HashSet<Slot>,
    /// The bits of a slot that are 0 where it is counted.
    mask: u64,
    used: u64,
}

impl Notes {
    /// For this history, while these slots are expected.
    pub fn of(history: Option<Arc<History>>, expected: &[Slot]) -> Self {
        let share = expected.len().div_ceil(COUNTED).next_power_of_two();
        let mask = share as u64 - 1;
        let counted = expected.iter().copied().filter(|slot| is_counted(&slot.1, mask));
        Self { history, foreseen: counted.collect(), mask, ..Self::default() }
    }

    /// Whether something is noted.
    pub fn are_taken(&self) -> bool {
        self.history.is_some()
    }

    /// Begins a transaction.
    pub fn begin(&mut self) {
        self.slots.clear();
        self.hashed.clear();
    }

    /// An instruction needs the value of a slot.
    pub fn slot(&mut self, slot: Slot) {
        if self.slots.len() < MOST && !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }

    /// A slot is looked up in the state.
    #[inline]
    pub fn reads(&mut self, slot: &U256, whole: impl FnOnce() -> Slot) {
        if is_counted(slot, self.mask) && !self.foreseen.is_empty() {
            self.used += u64::from(self.foreseen.remove(&whole()));
        }
    }

    /// Ends a transaction, where it is a call.
    pub fn learn(&self, call: Option<Call<'_>>) {
        if let (Some(history), Some(call)) = (&self.history, call) {
            history.learn(&call, &self.slots, &self.hashed);
        }
    }

    /// What has become of the slots that were read ahead.
    pub fn foresight(&self) -> Foresight {
        let share = self.mask + 1;
        Foresight { used: self.used * share, vain: self.foreseen.len() as u64 * share }
    }
}

/// Whether a slot is among those that are counted.
#[inline]
fn is_counted(slot: &U256, mask: u64) -> bool {
    slot.as_limbs()[0] & mask == 0
}

/// KECCAK256 that is noted where it hashes two words.
pub(super) fn keccak256(mut call: reads::Call<'_, '_>) -> InstructionExecResult {
    let message = keccak::message(&mut call)?;
    keccak::digest(&mut call, message)?;
    let notes = &mut call.host.journaled_state.database.notes;
    if let Some((from, 64)) = message
        && notes.hashed.len() < MOST
        && let Some(hash) = call.interpreter.stack.top()
        && let Some(words) = call.interpreter.memory.slice_len(from, 64).first_chunk()
    {
        notes.hashed.push((*words, *hash));
    }
    Ok(())
}
