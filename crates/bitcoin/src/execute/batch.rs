//! What a batch holds, and what all batches of a run share.

use crate::Level;
use crate::bodies::Bodies;
use crate::coins::Key;
use crate::commit::CommitClock;
use crate::decode::Block;
use crate::fault::{Cause, Error, Fault};
use crate::index::Tree;
use crate::options::Options;
use crate::params::Rules;
use crate::path::Path;
use crate::script::{ScriptBatch, Scripts, SpentCoin};
use crate::verify::MEDIAN_BLOCKS;
use archive::blkdat::{BlockFiles, Location};
use crypto::{ManySha256, Signatures};
use std::ops::Range;
use std::time::Duration;
use store::{Fetched, TableReader};

/// What all batches of a run share.
pub(crate) struct Context<'a> {
    pub files: &'a BlockFiles,
    pub tree: &'a Tree,
    pub options: &'a Options,
    pub path: &'a Path,
    /// Scripts run above this height only.
    pub assumed_valid: u32,
    pub hasher: ManySha256,
    pub signatures: Signatures,
    pub scripts: Scripts,
    /// Are coins looked up before their turn?
    pub fetches: bool,
    /// When to commit.
    pub clock: &'a CommitClock,
    /// The coins on disk; none at the levels that need no coins.
    pub coins: Option<TableReader>,
}

impl Context<'_> {
    /// Are coins wanted, or only what blocks say by themselves?
    pub fn connects(&self) -> bool {
        self.options.level >= Level::Execution
    }

    /// The rules for the block at `height`.
    pub fn rules(&self, height: u32) -> Rules {
        let params = &self.options.params;
        match self.tree.anchor().map(|anchor| anchor.height) {
            None => self.path.rules(height, self.tree, params),
            Some(None) => Rules::of_no_place(),
            Some(Some(base)) => {
                let hash = self.tree.hash(self.path.nodes[height as usize]);
                params.rules(base + height, hash, None)
            }
        }
    }

    /// The median time past of the block at `height`; so late that every lock time has passed,
    /// where too few blocks before it are there.
    pub fn median_time_past(&self, height: u32) -> u32 {
        let needed = if self.tree.anchor().is_some() { MEDIAN_BLOCKS } else { 1 };
        let before = (height as usize).checked_sub(1).filter(|_| height as usize >= needed);
        before.map_or(u32::MAX, |before| self.path.median_times[before])
    }

    /// `cause` as the fault of the block at `height`.
    pub fn fault(&self, height: u32, cause: Cause) -> Fault {
        Fault::at(self.files, self.tree, self.path.nodes[height as usize], cause)
    }
}

/// Consecutive blocks of the chain on their way.
pub(crate) struct Batch {
    /// Height of the first block.
    pub first: u32,
    /// How many blocks this batch has.
    pub len: usize,
    /// Bytes as read, and where each block stands in them.
    pub bytes: Vec<u8>,
    pub spans: Vec<Range<usize>>,
    pub locations: Vec<Location>,
    /// The blocks; those from `len` on are room of earlier batches.
    pub blocks: Vec<Block>,
    pub bodies: Bodies,
    /// Cost of the signature checks in each block's own scripts.
    pub sigop_costs: Vec<u32>,
    /// The coins that all outputs make, encoded, one after the other; unspendable outputs make
    /// none.
    pub made: Vec<u8>,
    /// Where the coin of each output ends in `made`.
    pub made_ends: Vec<u32>,
    /// What all inputs spend.
    pub keys: Vec<Key>,
    /// Coins on disk under these keys.
    pub fetched: Fetched,
    /// The coins that all inputs spend, encoded, one after the other.
    pub taken: Vec<u8>,
    /// Where the coin of each input ends in `taken`.
    pub taken_ends: Vec<u32>,
    /// The same coins, decoded.
    pub spent: Vec<SpentCoin>,
    /// The scripts of `spent`.
    pub scripts: Vec<u8>,
    /// Script checks of all blocks.
    pub checks: ScriptBatch,
    /// Undo data of all blocks, one after the other.
    pub undo: Vec<u8>,
    /// Where the undo data of each block ends.
    pub undo_ends: Vec<usize>,
    /// Blocks whose records have bytes to spare, and how many.
    pub spare: Vec<(usize, u32)>,
    /// Blocks that are connected to the coins.
    pub connected: usize,
    /// Blocks that are good as far as is known.
    pub good: usize,
    /// Blocks that have been finished.
    pub finished: usize,
    /// Why block `good` is not.
    pub fault: Option<Fault>,
    /// The store failed, or holds what it cannot hold.
    pub error: Option<Error>,
    /// The coins are to be written to disk when this batch is finished.
    pub settle: bool,
    /// Inputs whose scripts ran.
    pub scripts_run: u64,
    /// Of which the library decided.
    pub by_library: u64,
    pub times: BatchTimes,
}

/// Busy times of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BatchTimes {
    pub read: Duration,
    pub prepare: Duration,
    pub connect: Duration,
    pub check: Duration,
}

impl Batch {
    /// An empty batch.
    pub fn new(hasher: ManySha256) -> Self {
        Self {
            first: 0,
            len: 0,
            bytes: vec![],
            spans: vec![],
            locations: vec![],
            blocks: vec![],
            bodies: Bodies::new(hasher),
            sigop_costs: vec![],
            made: vec![],
            made_ends: vec![],
            keys: vec![],
            fetched: Fetched::default(),
            taken: vec![],
            taken_ends: vec![],
            spent: vec![],
            scripts: vec![],
            checks: ScriptBatch::default(),
            undo: vec![],
            undo_ends: vec![],
            spare: vec![],
            connected: 0,
            good: 0,
            finished: 0,
            fault: None,
            error: None,
            settle: false,
            scripts_run: 0,
            by_library: 0,
            times: BatchTimes::default(),
        }
    }

    /// Empties the batch for blocks from `first` on.
    pub fn begin(&mut self, first: u32) {
        self.first = first;
        self.len = 0;
        self.locations.clear();
        self.sigop_costs.clear();
        self.made.clear();
        self.made_ends.clear();
        self.keys.clear();
        self.taken.clear();
        self.taken_ends.clear();
        self.spent.clear();
        self.scripts.clear();
        self.undo.clear();
        self.undo_ends.clear();
        self.spare.clear();
        self.connected = 0;
        self.good = 0;
        self.finished = 0;
        self.fault = None;
        self.error = None;
        self.settle = false;
        self.scripts_run = 0;
        self.by_library = 0;
        self.times = BatchTimes::default();
    }

    /// The height of block `i`.
    pub fn height(&self, i: usize) -> u32 {
        self.first + i as u32
    }

    /// The undo data of each good block.
    pub fn undo_of_blocks(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.good).map(|i| {
            let start = i.checked_sub(1).map_or(0, |before| self.undo_ends[before]);
            &self.undo[start..self.undo_ends[i]]
        })
    }

    /// Block `i` is not good; those after it do not count.
    pub fn cut(&mut self, i: usize, fault: Fault) {
        self.good = i;
        self.fault = Some(fault);
    }
}
