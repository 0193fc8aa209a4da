//! The parameters of an import.

use crate::Level;
use crate::import::Verified;
use crate::params::Protocol;
use crate::settings::Settings;
use crate::types::UInt256;
use blockmill_archive::ChunkLimit;
use blockmill_pipeline::Cancel;
use blockmill_verdict::{ConsumerError, DerivedRows, VerifiedConsumer};
use std::sync::Arc;
use std::time::Duration;

/// Default memory for uncommitted blocks, in bytes. More gains nothing.
pub const MEMORY: usize = 32 << 20;

/// Derives rows from verified blocks.
pub type Derive = dyn Fn(&Verified<'_>) -> Result<DerivedRows, ConsumerError> + Send + Sync;

/// Receives rows derived from verified blocks.
pub type Consumer = VerifiedConsumer<Derive>;

/// What to verify, and how.
#[derive(Clone)]
pub struct Options {
    /// The network of the dumps.
    pub protocol: Arc<Protocol>,
    /// The level of verification.
    pub level: Level,
    /// Values of the options.
    pub settings: Settings,
    /// Threads that decode and verify.
    pub threads: usize,
    /// Bounds of a batch.
    pub batch: ChunkLimit,
    /// Memory limit of uncommitted blocks and changes of the state, in bytes.
    pub memory: usize,
    /// The longest time between two commits of executed blocks.
    pub commit_every: Duration,
    /// The last block to import; `None` for the last one of the dumps.
    pub until: Option<u32>,
    /// Up to this block, witnesses and transaction rules are not checked.
    pub assume_valid: Option<UInt256>,
    /// Whether to compare the blocks that the store has with those of the dumps.
    pub recheck: bool,
    /// Accepts an incomplete input.
    pub partial: bool,
    /// Receives rows derived from verified blocks.
    pub consumer: Option<Consumer>,
    /// Stops the run on request.
    pub cancel: Cancel,
}

impl Options {
    /// The defaults for this network.
    #[must_use]
    pub fn new(protocol: Protocol) -> Self {
        Self {
            protocol: Arc::new(protocol),
            level: Level::Bodies,
            settings: Settings::default(),
            threads: 1,
            batch: ChunkLimit { blocks: 512, bytes: 512 << 10 },
            memory: MEMORY,
            commit_every: Duration::from_secs(300),
            until: None,
            assume_valid: None,
            recheck: true,
            partial: false,
            consumer: None,
            cancel: Cancel::new(),
        }
    }
}
