//! What a run is asked to do, and what it tells while it does it.

use crate::header::ethash::Caches;
use crate::header::seal::SealPolicy;
use crate::params::ChainSpec;
use crate::variants::Variants;
use crate::{Hash, Level};
use archive::ChunkLimit;
use pipeline::Cancel;
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
    /// Settings of the switches.
    pub variants: Variants,
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
    /// Set by whoever wants the run to stop.
    pub cancel: Cancel,
}

/// How far a run has come; reported after each chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The last block that was verified.
    pub number: u64,
    /// The last block that the store has committed; none where there is no store.
    pub committed: Option<u64>,
    /// Blocks so far.
    pub blocks: u64,
    /// Bytes of the archive read so far.
    pub bytes: u64,
}
