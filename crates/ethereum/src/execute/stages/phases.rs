//! What the stages of execution add to a batch.

use super::ExecutedBlock;
use crate::execute::evm::{PrefetchStats, Speculation};
use crate::execute::history::PrefetchedSlots;
use std::time::Duration;

/// Speculative work for the new blocks.
#[derive(Default)]
pub(crate) struct Speculated {
    /// For each block the speculations of its transactions.
    pub speculations: Vec<Vec<Option<Box<Speculation>>>>,
    /// For each block the CPU time of its speculations.
    pub busy: Vec<Duration>,
    /// Number of speculations that hash a lot.
    pub hashing: usize,
    /// Prefetched slots, of which some may not be read.
    pub prefetched: PrefetchedSlots,
    /// Prefetched slots of blocks that are executed by their access lists, which read them all.
    pub listed: PrefetchedSlots,
    /// How many prefetched slots were read.
    pub prefetch_stats: PrefetchStats,
}

/// The execution of the new blocks.
#[derive(Default)]
pub(crate) struct ExecutedChunk {
    /// The executed blocks.
    pub blocks: Vec<ExecutedBlock>,
    /// The commit of the chunk writes the state on disk, which is the one after the last new block.
    pub writes_state: bool,
}
