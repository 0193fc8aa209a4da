//! What a transaction reads before its turn.

use crate::U256;
use crate::state::{State, StateError};
use hashbrown::HashMap;
use revm::primitives;
use revm::state::AccountInfo;

/// How often a transaction loaded and stored a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses {
    pub loads: u32,
    pub stores: u32,
}

/// What a transaction read of the state.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The turn of a state on disk when it began.
    turn: u64,
    pub accounts: Vec<(primitives::Address, Option<AccountInfo>)>,
    pub slots: Vec<(primitives::Address, U256, U256)>,
    pub uses: HashMap<(primitives::Address, U256), Uses>,
    /// It asked for what only its turn can say.
    pub asked_too_much: bool,
}

impl Seen {
    /// Nothing yet, at this turn.
    pub fn since(turn: u64) -> Self {
        Self { turn, ..Self::default() }
    }

    /// Tells a state on disk the slots, which it need not read again.
    pub fn teach(&self, state: &mut State) -> Result<(), StateError> {
        let slots = self.slots.iter();
        let slots = slots.map(|(address, slot, value)| (&address.0.0, *slot, *value));
        state.learn(slots, self.turn)
    }
}
