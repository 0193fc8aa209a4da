//! What the stages of execution add to a batch.

use super::ExecutedBlock;
use crate::execute::evm::{Ahead, Foresight};
use crate::execute::history::Foreseen;

/// What was read and executed of the new blocks before their turn.
#[derive(Default)]
pub(crate) struct Speculated {
    /// Of each block, its transactions that were executed.
    pub ahead: Vec<Vec<Option<Box<Ahead>>>>,
    /// How many of these hash much.
    pub hashing: usize,
    /// Slots that were read because calls are expected to read them.
    pub foreseen: Foreseen,
    /// What became of these slots.
    pub foresight: Foresight,
}

/// What the new blocks did.
#[derive(Default)]
pub(crate) struct ExecutedChunk {
    /// Each of them.
    pub blocks: Vec<ExecutedBlock>,
    /// A state on disk is that after the last new block, and waits to be written.
    pub settles: bool,
}
