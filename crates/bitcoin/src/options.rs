//! The options of a run.

use crate::params::Params;
use crate::run::Tip;
use crate::settings::Settings;
use crate::verified::Consumer;
use crate::{BlockHash, Level};
use blockmill_pipeline::Cancel;
use blockmill_store::disk::{Disk, RealDisk};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Time between commits, unless memory requires an earlier one.
pub const COMMIT_EVERY: Duration = Duration::from_secs(5 * 60);

/// The options of a run.
#[derive(Clone)]
pub struct Options {
    /// The network.
    pub params: Params,
    /// The level.
    pub level: Level,
    /// Values of the options.
    pub settings: Settings,
    /// Number of threads.
    pub threads: usize,
    /// The disk of coins and undo data.
    pub disk: Arc<dyn Disk>,
    /// Memory for coins that are not on disk yet, and for filters and indexes of coins on disk, in
    /// bytes.
    pub memory: u64,
    /// The scripts of this block and its ancestors are assumed valid.
    pub assume_valid: Option<BlockHash>,
    /// Whether the files may begin in the middle of a chain, at levels below execution.
    pub by_itself: bool,
    /// Height of the first block, if the files begin in the middle of a chain.
    pub from: Option<u32>,
    /// Last height to connect. `None` for the tip of the best chain.
    pub until: Option<u32>,
    /// Blocks that the best chain must have: the tips of stores that were created from the files.
    pub contains: Vec<Tip>,
    /// Whether blocks may be missing. They are reported in any case.
    pub partial: bool,
    /// Whether to read bodies again if the store has all blocks already.
    pub recheck: bool,
    /// Maximum time between commits.
    pub commit_every: Duration,
    /// The clock, in seconds since 1970: blocks from the future are refused.
    pub now: Option<u64>,
    /// A Bitcoin Core datadir, or a store, with undo data and unspent coins of the chain. With
    /// `coins=multiset` they replace a set of coins.
    pub unspent: Option<PathBuf>,
    /// Receives rows derived from verified blocks.
    pub consumer: Option<Consumer>,
    /// Stops the run when it is set.
    pub cancel: Cancel,
}

impl Options {
    /// Number of requested blocks of a chain that begins at height `base`.
    pub(crate) fn asked(&self, base: u32) -> usize {
        let end = |until: u32| (u64::from(until) + 1).saturating_sub(base.into());
        self.until.map_or(usize::MAX, |until| end(until) as usize)
    }

    /// All blocks at level execution, on one thread, with 450 MiB for coins.
    #[must_use]
    pub fn new(params: Params) -> Self {
        Self {
            params,
            level: Level::Execution,
            settings: Settings::default(),
            threads: 1,
            disk: Arc::new(RealDisk),
            memory: 450 << 20,
            assume_valid: None,
            by_itself: false,
            from: None,
            until: None,
            contains: vec![],
            partial: false,
            recheck: true,
            commit_every: COMMIT_EVERY,
            now: None,
            unspent: None,
            consumer: None,
            cancel: Cancel::default(),
        }
    }
}
