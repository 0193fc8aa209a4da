//! What a run is asked to do.

use crate::Level;
use crate::link::Verified;
use crate::params::Protocol;
use crate::settings::Settings;
use crate::types::UInt256;
use blockmill_archive::ChunkLimit;
use blockmill_pipeline::{Cancel, NotMade};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of memory for what is not committed yet, unless less is asked for: more gains nothing.
pub const MEMORY: usize = 32 << 20;

/// Takes verified blocks, beside the store.
pub type Take = Arc<dyn Fn(&Verified<'_>) -> Result<(), NotMade> + Send + Sync>;

/// What to verify, and how.
#[derive(Clone)]
pub struct Options {
    /// The network that the dumps must be of.
    pub protocol: Arc<Protocol>,
    /// How deep.
    pub level: Level,
    /// Values of the options.
    pub settings: Settings,
    /// Threads that decode and verify.
    pub threads: usize,
    /// Bounds of a batch.
    pub batch: ChunkLimit,
    /// Bytes of memory for blocks and changes of the state before they are committed.
    pub memory: usize,
    /// The most time between two commits of executed blocks.
    pub commit_every: Duration,
    /// Last block; none for the dumps' last.
    pub until: Option<u32>,
    /// Witnesses and rules of transactions of this block and of those before it are not checked.
    pub assume_valid: Option<UInt256>,
    /// Is it right that something is missing?
    pub partial: bool,
    /// Who else takes verified blocks, in their order.
    pub take: Option<Take>,
    /// Set by whoever wants the run to stop.
    pub cancel: Cancel,
}

impl Options {
    /// Everything at its default for this network.
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
            partial: false,
            take: None,
            cancel: Cancel::new(),
        }
    }
}
