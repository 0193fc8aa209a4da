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

/// Slots that were read ahead because calls were expected to come to them.
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
    /// Slots that were read ahead, without those that have been read since.
    foreseen: HashSet<Slot>,
    used: u64,
}

impl Notes {
    /// For this history, while these slots are expected.
    pub fn of(history: Option<Arc<History>>, foreseen: HashSet<Slot>) -> Self {
        Self { history, foreseen, ..Self::default() }
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
    pub fn reads(&mut self, slot: impl FnOnce() -> Slot) {
        if !self.foreseen.is_empty() {
            self.used += u64::from(self.foreseen.remove(&slot()));
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
        Foresight { used: self.used, vain: self.foreseen.len() as u64 }
    }
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
