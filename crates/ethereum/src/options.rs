//! The options of a run.

use crate::commit::Consumer;
use crate::header::ethash::Caches;
use crate::header::seal::SealPolicy;
use crate::params::ChainSpec;
use crate::settings::Settings;
use crate::{Hash, Level};
use blockmill_archive::ChunkLimit;
use blockmill_pipeline::Cancel;
use std::sync::Arc;

/// What to verify, and how.
#[derive(Clone)]
pub struct Options {
    /// The chain of the archive.
    pub spec: Arc<ChainSpec>,
    /// How deep blocks are verified.
    pub level: Level,
    /// Which seals are checked.
    pub seal: SealPolicy,
    /// Settings of named options.
    pub settings: Settings,
    /// Threads that decode and verify.
    pub threads: usize,
    /// Bounds of a chunk.
    pub chunk: ChunkLimit,
    /// First block; `None` for the archive's first.
    pub from: Option<u64>,
    /// Last block; `None` for the archive's last.
    pub until: Option<u64>,
    /// May the archive be partial?
    pub partial: bool,
    /// Whether to compare the blocks that the store has if the archive has no new ones.
    pub recheck: bool,
    /// Hashes that must be met.
    pub trust: Vec<Hash>,
    /// Ethash caches.
    pub caches: Arc<Caches>,
    /// The present, in seconds since 1970: proof-of-work blocks from the future are refused. `None`
    /// turns the check off.
    pub now: Option<u64>,
    /// Receives rows derived from verified blocks.
    pub consumer: Option<Consumer>,
    /// Asks the run to stop.
    pub cancel: Cancel,
}
