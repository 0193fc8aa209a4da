//! A batch of blocks with the data of each phase, and the context of all batches.

use crate::body::reader::BlockReader;
use crate::chainstate::CommitClock;
use crate::error::Error;
use crate::execute::check::Checked;
use crate::execute::connect::Connected;
use crate::execute::place::{Chain, Place, Terms};
use crate::execute::prepare::Prepared;
use crate::execute::prove::prove;
use crate::execute::read::Blocks;
use crate::fault::{Cause, Fault};
use crate::index::Tree;
use crate::index::path::Path;
use crate::options::Options;
use crate::types::Block;
use crate::verified::Derive;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::{CarriesRows, Derived, Flow};
use blockmill_store::{Table, TableReader};
use std::time::{Duration, Instant};

/// The context of all batches of a pass.
pub(crate) struct Context<'a> {
    pub tree: &'a Tree,
    pub options: &'a Options,
    pub path: &'a Path,
    /// The requirements on all blocks.
    pub terms: Terms<'a>,
    /// Whether coins are prefetched from disk.
    pub fetches: bool,
    /// When to commit.
    pub clock: &'a CommitClock,
    /// The coins on disk. `None` at levels without coins.
    pub coins: Option<TableReader>,
}

impl Context<'_> {
    /// The requirements on the block at `height`.
    pub fn place(&self, height: u32) -> Place {
        Chain { tree: self.tree, path: self.path, params: &self.options.params }.place(height)
    }
}

/// Consecutive blocks of the chain. Each phase fills its own part and reads those of earlier
/// phases. All parts keep their memory for the next blocks.
pub(crate) struct Batch {
    blocks: Blocks,
    prepared: Prepared,
    connected: Connected,
    checked: Checked,
    verdict: Verdict,
    /// Rows that the consumer derived from the good blocks.
    rows: Derived,
    /// Number of finished blocks.
    finished: usize,
    times: BatchTimes,
}

/// The outcome of the blocks of a batch so far.
#[derive(Default)]
pub(super) struct Verdict {
    good: usize,
    /// The fault of block `good`.
    cause: Option<Cause>,
    /// The store failed, or is corrupt.
    error: Option<Error>,
}

impl Verdict {
    /// Starts with `len` blocks that are good so far.
    pub fn begin(&mut self, len: usize) {
        *self = Self { good: len, cause: None, error: None };
    }

    /// Number of blocks that are good so far.
    pub fn good(&self) -> usize {
        self.good
    }

    /// Records that block `i` is bad; later blocks are ignored.
    pub fn refuse(&mut self, i: usize, cause: Cause) {
        self.good = i;
        self.cause = Some(cause);
    }

    /// Records an error of the store at block `i`.
    pub fn fail(&mut self, i: usize, error: Error) {
        self.good = i;
        self.error = Some(error);
    }

    /// Removes and returns the reason that ends the batch, with its block.
    pub fn take_end(&mut self) -> Option<(usize, Result<Cause, Error>)> {
        match (self.error.take(), self.cause.take()) {
            (Some(error), _) => Some((self.good, Err(error))),
            (None, Some(cause)) => Some((self.good, Ok(cause))),
            (None, None) => None,
        }
    }

    fn ends(&self) -> bool {
        self.cause.is_some() || self.error.is_some()
    }
}

impl CarriesRows for Batch {
    fn rows(&self) -> &Derived {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Derived {
        &mut self.rows
    }

    fn is_last(&self) -> bool {
        self.verdict.ends()
    }
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
            blocks: Blocks::default(),
            prepared: Prepared::new(hasher),
            connected: Connected::default(),
            checked: Checked::default(),
            verdict: Verdict::default(),
            rows: None,
            finished: 0,
            times: BatchTimes::default(),
        }
    }

    /// Reads blocks from height `first` on. Returns false if there are none, and no fault.
    pub fn read(&mut self, first: u32, context: &Context, reader: &mut BlockReader) -> bool {
        let start = Instant::now();
        self.blocks.clear(first);
        self.prepared.clear();
        self.connected.clear();
        self.checked.clear();
        (self.finished, self.times) = (0, BatchTimes::default());
        self.blocks.read(context, reader, &mut self.verdict);
        self.times.read = start.elapsed();
        self.blocks.len() > 0 || self.verdict.ends()
    }

    /// Parses, hashes and checks the blocks, without coins.
    pub fn prepare(&mut self, context: &Context) {
        let start = Instant::now();
        self.prepared.prepare(&mut self.blocks, context, &mut self.verdict);
        self.times.prepare = start.elapsed();
    }

    /// Spends and creates coins, in chain order.
    pub fn connect(&mut self, context: &Context, coins: &mut Table) -> Flow {
        let start = Instant::now();
        let Self { blocks, prepared, connected, verdict, .. } = self;
        connected.connect(blocks, prepared, context, coins, verdict);
        self.times.connect = start.elapsed();
        match (self.verdict.ends(), self.connected.flushes()) {
            (true, _) => Flow::Stop,
            (false, true) => Flow::Barrier,
            (false, false) => Flow::Continue,
        }
    }

    /// Passes the blocks on, at levels without coins.
    pub fn pass(&mut self) -> Flow {
        self.connected.pass(self.verdict.good);
        if self.verdict.cause.is_some() { Flow::Stop } else { Flow::Continue }
    }

    /// Checks the connected blocks.
    pub fn check(&mut self, context: &Context) {
        // on a request to stop, the batch is disconnected
        if !context.terms.connects || context.options.cancel.is_cancelled() {
            return;
        }
        let start = Instant::now();
        let Self { blocks, prepared, connected, checked, verdict, .. } = self;
        let terms = &context.terms;
        if let Some(multiset) = terms.multiset {
            prove(blocks, prepared, connected, terms, multiset, verdict);
        }
        checked.check(blocks, prepared, connected, terms, verdict);
        self.times.check = start.elapsed();
    }

    /// Derives rows from the good blocks.
    pub fn derive(&self, context: &Context, derive: &Derive) -> Derived {
        if self.verdict.good == 0 || context.options.cancel.is_cancelled() {
            return None;
        }
        let base = context.tree.base();
        // the genesis block is given by the network and is not verified
        let follows_it = context.tree.anchor().is_none() && self.height(0) == 1;
        let height = |i| base + self.height(i);
        Some(self.checked.derive(self.good(), height, follows_it, &context.terms, derive))
    }

    /// Finishes the good blocks: no later fault can refuse them.
    pub fn finish(&mut self) {
        self.finished = self.verdict.good;
    }

    /// Disconnects the blocks that are connected but not finished, in reverse order.
    pub fn disconnect(&mut self, coins: &mut Table) -> Result<(), blockmill_store::Error> {
        self.connected.disconnect(&self.blocks, self.finished, coins)
    }

    /// Returns the error that ends the run, if any. `fault` adds the block at a height to a cause.
    pub fn take_end(&mut self, fault: impl Fn(u32, Cause) -> Fault) -> Result<(), Error> {
        match self.verdict.take_end() {
            Some((_, Err(error))) => Err(error),
            Some((i, Ok(cause))) => Err(fault(self.height(i), cause).into()),
            None => Ok(()),
        }
    }

    /// Number of blocks that were read.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns whether the run ends with this batch.
    pub fn ends(&self) -> bool {
        self.verdict.ends()
    }

    /// The height of block `i`.
    pub fn height(&self, i: usize) -> u32 {
        self.blocks.height(i)
    }

    /// The good blocks.
    pub fn good(&self) -> &[Block] {
        &self.blocks.all()[..self.verdict.good]
    }

    /// The undo data of each good block.
    pub fn undo_of_blocks(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.verdict.good).map(|i| self.checked.undo(i))
    }

    /// Good blocks with trailing bytes in their records, and their numbers of bytes.
    pub fn trailing(&self) -> impl Iterator<Item = (usize, u32)> {
        let trailing = self.prepared.trailing().iter().copied();
        trailing.filter(|(i, _)| *i < self.verdict.good)
    }

    /// Returns whether to write the coins to disk now. Not after a fault: later blocks are still in
    /// the coins.
    pub fn flushes(&self) -> bool {
        self.connected.flushes() && !self.verdict.ends()
    }

    /// Number of inputs with verified scripts, and how many of them the library verified.
    pub fn scripts_run(&self) -> (u64, u64) {
        self.checked.scripts_run()
    }

    /// Busy times of the phases.
    pub fn times(&self) -> &BatchTimes {
        &self.times
    }
}
