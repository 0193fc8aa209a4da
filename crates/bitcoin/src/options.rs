//! What a run is asked to do.

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

/// Time after which what is verified is committed, unless memory asked for it before.
pub const COMMIT_EVERY: Duration = Duration::from_secs(5 * 60);

/// What to verify, and how.
#[derive(Clone)]
pub struct Options {
    /// The network.
    pub params: Params,
    /// How deep.
    pub level: Level,
    /// Values of the options.
    pub settings: Settings,
    /// Threads that scan, verify and run scripts.
    pub threads: usize,
    /// Where coins and undo data are.
    pub disk: Arc<dyn Disk>,
    /// Bytes of memory for coins that are not on disk yet, and for finding those that are.
    pub memory: u64,
    /// The scripts of this block and of those before it are taken as valid.
    pub assume_valid: Option<BlockHash>,
    /// May the files begin in the middle of a chain, at levels below execution?
    pub by_itself: bool,
    /// Height of the first block, of files that begin in the middle of a chain.
    pub from: Option<u32>,
    /// Last height to connect; none for the best chain's last.
    pub until: Option<u32>,
    /// Blocks that the best chain must have: the last ones of stores created from the files.
    pub contains: Vec<Tip>,
    /// May blocks be missing? They are told in any case.
    pub partial: bool,
    /// Are bodies read again where the store has all blocks of the files already?
    pub recheck: bool,
    /// What is verified is committed after this time at the latest.
    pub commit_every: Duration,
    /// The present, in seconds since 1970: blocks from the future are refused.
    pub now: Option<u64>,
    /// A datadir of Bitcoin Core or a store of ours that has undo data and unspent coins of the
    /// chain: with `coins=multiset` they take the place of a set of coins.
    pub unspent: Option<PathBuf>,
    /// Receives rows derived from verified blocks.
    pub consumer: Option<Consumer>,
    /// Set by whoever wants the run to stop.
    pub cancel: Cancel,
}

impl Options {
    /// How many blocks of a chain are asked for whose first has the height `base`.
    pub(crate) fn asked(&self, base: u32) -> usize {
        let end = |until: u32| (u64::from(until) + 1).saturating_sub(base.into());
        self.until.map_or(usize::MAX, |until| end(until) as usize)
    }

    /// Everything, on one thread, with 450 MiB for coins.
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
