//! What a run is asked to do.

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
    /// The chain that the archive must be of.
    pub spec: Arc<ChainSpec>,
    /// How deep.
    pub level: Level,
    /// Which seals.
    pub seal: SealPolicy,
    /// Values of the options.
    pub settings: Settings,
    /// Threads that decode and verify.
    pub threads: usize,
    /// Bounds of a chunk.
    pub chunk: ChunkLimit,
    /// First block; none for the archive's first.
    pub from: Option<u64>,
    /// Last block; none for the archive's last.
    pub until: Option<u64>,
    /// Is it right that something is missing?
    pub partial: bool,
    /// Hashes that must be met.
    pub trust: Vec<Hash>,
    /// Ethash caches.
    pub caches: Arc<Caches>,
    /// The present, in seconds since 1970: proof-of-work blocks from the future are refused.
    pub now: Option<u64>,
    /// Receives rows derived from verified blocks.
    pub consumer: Option<Consumer>,
    /// Set by whoever wants the run to stop.
    pub cancel: Cancel,
}
