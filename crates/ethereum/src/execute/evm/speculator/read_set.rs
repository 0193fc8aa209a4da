//! The read set of a speculation.

use crate::U256;
use crate::state::{State, StateError};
use hashbrown::HashMap;
use revm::primitives;
use revm::state::AccountInfo;

/// How many times a transaction loaded and stored a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotUses {
    pub loads: u32,
    pub stores: u32,
}

/// Everything that a speculation read of the state, with the values that it found.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    /// Generation of the state when the speculation began.
    generation: u64,
    pub accounts: Vec<(primitives::Address, Option<AccountInfo>)>,
    pub slots: Vec<(primitives::Address, U256, U256)>,
    pub uses: HashMap<(primitives::Address, U256), SlotUses>,
    /// The transaction read something that only in-order execution can answer.
    pub depends_on_order: bool,
}

impl ReadSet {
    /// An empty read set that begins in this generation of the state.
    pub fn since(generation: u64) -> Self {
        Self { generation, ..Self::default() }
    }

    /// Caches the slots in a state on disk, so that they are not read from disk again.
    pub fn cache_slots(&self, state: &mut State) -> Result<(), StateError> {
        let slots = self.slots.iter();
        let slots = slots.map(|(address, slot, value)| (&address.0.0, *slot, *value));
        state.cache_slots(slots, self.generation)
    }
}
