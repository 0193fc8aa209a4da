//! Imports: indexes the files (pass 1), then reads, prepares, connects, checks and finishes each
//! block of the best chain (pass 2).

mod assumed;
mod by_multiset;
mod commit;

use crate::body::reader::BlockReader;
use crate::chainstate::{Chainstate, CommitClock, lock};
use crate::coins::SpentCoins;
pub use crate::error::Error;
use crate::execute::{Batch, Context, Terms};
use crate::fault::fault_of_block;
pub use crate::fault::{Cause, Fault};
use crate::index::pass1::Index;
use crate::index::path::Path;
use crate::index::scan::{FindBlocks, HeaderScan};
use crate::index::{GENESIS, Tree, pass1, shortfalls};
use crate::multiset::MultisetHash;
pub use crate::options::Options;
use crate::run::TrailingBytes;
pub use crate::run::{Run, Tip};
use crate::undo::disconnect;
use crate::{BlockHash, Level, data_folder};
pub(crate) use assumed::{assumed_height, assumed_valid};
use blockmill_archive::blkdat::BlockFiles;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::{Flow, RunClock, Stages};
use blockmill_verdict::Progress;
use commit::Store;
use std::path;
use std::time::Instant;

/// Maximum number of files that the reading thread keeps open: blocks of neighbouring heights are
/// rarely in more files.
const OPEN_FILES: usize = 64;

/// Imports the blocks of `files` into the store in `data`. The blocks before a fault are committed.
/// Returns the result of the run even if it fails.
pub fn import(
    files: &BlockFiles,
    options: &Options,
    data: &path::Path,
    progress: impl FnMut(&Progress) + Send,
) -> (Run, Result<(), Error>) {
    let mut finder = HeaderScan { threads: options.threads };
    import_found_by(&mut finder, files, options, data, progress)
}

/// [`import`] with another way of finding blocks in files.
pub fn import_found_by(
    finder: &mut impl FindBlocks,
    files: &BlockFiles,
    options: &Options,
    data: &path::Path,
    mut progress: impl FnMut(&Progress) + Send,
) -> (Run, Result<(), Error>) {
    let clock = RunClock::start();
    let mut run = Run { started_unix: blockmill_pipeline::record::unix_time(), ..Run::default() };
    let mut outcome = passes(finder, files, options, data, &mut progress, &mut run, clock.began());
    if matches!(outcome, Err(Error::Stopped)) {
        (run.stopped, outcome) = (true, Ok(()));
    }
    (run.wall_s, run.cpu) = (clock.wall_s(), clock.cpu());
    (run, outcome)
}

fn passes(
    finder: &mut impl FindBlocks,
    files: &BlockFiles,
    options: &Options,
    data: &path::Path,
    progress: &mut (impl FnMut(&Progress) + Send),
    run: &mut Run,
    start: Instant,
) -> Result<(), Error> {
    data_folder::expect_own(data, &options.params)?;
    // files from the middle of a chain continue no store
    let kept = Some(data).filter(|_| options.from.is_none());
    let mut index = pass1::index(files, finder, options, kept, run)?;
    let job = Job { files, options, data, start };
    let is_empty = run.anchor.is_none() && run.best.is_none_or(|best| best.height == 0);
    let outcome = match options.level {
        _ if is_empty => Err(Error::Empty),
        Level::Headers => {
            job.headers(&index, run);
            Ok(())
        }
        Level::Bodies => job.bodies(&mut index, progress, run),
        Level::Execution => job.execution(&mut index, progress, run),
    };
    run.describe_tip(&index.tree);
    shortfalls::judge(files, options, &index, run);
    match (outcome, pass1::refused_above(&index.tree, files)) {
        (Ok(()), Some(refused)) => Err(refused.into()),
        (outcome, _) => outcome,
    }
}

struct Job<'a> {
    files: &'a BlockFiles,
    options: &'a Options,
    data: &'a path::Path,
    start: Instant,
}

impl Job<'_> {
    /// Level `headers`: the best chain is the result of pass 1.
    fn headers(&self, index: &Index, run: &mut Run) {
        run.tip = pass1::last_asked(&index.tree, self.options);
        let end = run.tip.map_or(0, |tip| tip.height + 1);
        let first = if run.anchor.is_some() { index.tree.base() } else { 1 };
        run.blocks = u64::from(end.saturating_sub(first));
        run.range = (run.blocks > 0).then(|| (first, end - 1));
    }

    /// Runs pass 2, again if a block is bad or was hidden.
    fn bodies(
        &self,
        index: &mut Index,
        progress: &mut (impl FnMut(&Progress) + Send),
        run: &mut Run,
    ) -> Result<(), Error> {
        let Job { files, options, data, start } = *self;
        let mut chainstate = match options.level {
            Level::Execution => Some(Chainstate::open(data, options)?),
            Level::Headers | Level::Bodies => None,
        };
        run.tip = chainstate.as_ref().map(Chainstate::tip);
        run.resumed = run.tip.filter(|tip| tip.height > 0);
        run.committed = run.resumed;
        let clock = CommitClock::new(options.commit_every);
        let (mut first_fault, mut invalid) = (None, vec![]);
        // the first block is the network's own, unless the files begin in the middle
        let begin = usize::from(index.tree.anchor().is_none());
        // hashes of the blocks that were verified without a store, and which is the next
        let (mut chain, mut next): (Vec<BlockHash>, usize) = (vec![], begin);
        loop {
            let tree = &index.tree;
            let assumed = assumed_valid(tree, options)?;
            let path = Path::best(tree);
            if let Some(chainstate) = &mut chainstate {
                disconnect::to_fork((files, options), tree, &path, chainstate, run)?;
                next = chainstate.tip().height as usize + 1;
            } else {
                next = path.shared(&chain, tree).min(next).max(begin);
            }
            let (path, clock, first) = (&path, &clock, next as u32);
            let pass =
                Pass { files, tree, options, path, clock, assumed, first, start, multiset: None };
            match pass.run(chainstate.as_mut(), progress, run) {
                Ok(()) if run.is_nothing_new() && options.recheck => {
                    self.recheck(pass, progress, run)
                        .or_else(|error| other_copy(error, index, path, run))?;
                }
                Ok(()) => {
                    if run.stopped || run.trailing.is_empty() {
                        return first_fault.map_or(Ok(()), Err);
                    }
                    next = path.nodes.len();
                    chain = path.hashes(tree);
                    if !self.link_hidden_blocks(index, run)? {
                        return first_fault.map_or(Ok(()), Err);
                    }
                    mark_invalid(&mut index.tree, &invalid);
                }
                Err(Error::Fault(fault)) => {
                    next = (fault.block - u64::from(tree.base())) as usize;
                    chain = path.hashes(tree);
                    let block = path.nodes[next];
                    let has_copy = fault.cause.is_corrupt() && index.tree.use_copy(block);
                    if !has_copy && block == GENESIS {
                        return Err(Error::Fault(fault));
                    }
                    if !has_copy {
                        index.tree.mark_invalid(block);
                        invalid.extend(fault.hash);
                    }
                    match &first_fault {
                        None if !has_copy => first_fault = Some(Error::Fault(fault)),
                        _ => run.notes.push(fault.to_string()),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// If there are no new blocks: checks the bodies of the blocks of the store again.
    fn recheck(
        &self,
        pass: Pass<'_>,
        progress: &mut (impl FnMut(&Progress) + Send),
        run: &mut Run,
    ) -> Result<(), Error> {
        let options = Options { level: Level::Bodies, consumer: None, ..self.options.clone() };
        let mut again = Run::default();
        let outcome = Pass { options: &options, first: 1, ..pass }.run(None, progress, &mut again);
        run.trailing.append(&mut again.trailing);
        run.stopped |= again.stopped;
        run.rechecked = outcome.is_ok().then_some(again.blocks);
        outcome
    }

    fn link_hidden_blocks(&self, index: &mut Index, run: &mut Run) -> Result<bool, Error> {
        let kept = Some(self.data).filter(|_| self.options.from.is_none());
        pass1::link_hidden_blocks(self.files, self.options, kept, index, run)
    }
}

/// Uses another copy of a block of the store that is corrupt in the files. Returns the error if
/// there is none. The store stays unchanged, because the files are at fault.
fn other_copy(error: Error, index: &mut Index, path: &Path, run: &mut Run) -> Result<(), Error> {
    let Error::Fault(fault) = &error else { return Err(error) };
    if fault.cause.is_corrupt() && index.tree.use_copy(path.nodes[fault.block as usize]) {
        run.notes.push(fault.to_string());
        return Ok(());
    }
    Err(error)
}

/// Marks blocks as invalid in a new tree.
pub(crate) fn mark_invalid(tree: &mut Tree, blocks: &[BlockHash]) {
    for block in blocks.iter().filter_map(|hash| tree.find(hash)).collect::<Vec<_>>() {
        tree.mark_invalid(block);
    }
}

#[derive(Clone, Copy)]
struct Pass<'a> {
    files: &'a BlockFiles,
    tree: &'a Tree,
    options: &'a Options,
    path: &'a Path,
    clock: &'a CommitClock,
    /// The block up to which scripts are assumed valid.
    assumed: Option<u32>,
    /// Height of the first block to connect.
    first: u32,
    start: Instant,
    /// Undo data and coins that prove the chain instead of a set of coins.
    multiset: Option<&'a MultisetHash<'a>>,
}

impl Pass<'_> {
    /// Connects the remaining blocks, and commits.
    fn run(
        &self,
        chainstate: Option<&mut Chainstate>,
        progress: &mut (impl FnMut(&Progress) + Send),
        run: &mut Run,
    ) -> Result<(), Error> {
        let context = self.context(chainstate.as_deref());
        match chainstate {
            Some(chainstate) => {
                let (coins, undo, commit) = chainstate.parts();
                let store = Store { coins, undo, commit, clock: self.clock };
                self.stages(&context, Some(store), progress, run)
            }
            None => self.stages(&context, None, progress, run),
        }
    }

    fn context(&self, chainstate: Option<&Chainstate>) -> Context<'_> {
        let settings = self.options.settings;
        let assumed_valid = assumed_height(self.tree, self.path, self.assumed);
        let terms = Terms {
            params: &self.options.params,
            connects: self.options.level >= Level::Execution,
            median_times: &self.path.median_times,
            assumed_valid,
            hasher: ManySha256::detect(),
            signatures: settings.signatures.verifier(),
            scripts: settings.scripts,
            multiset: self.multiset,
        };
        Context {
            tree: self.tree,
            options: self.options,
            path: self.path,
            terms,
            fetches: settings.coins != SpentCoins::WhenSpent && chainstate.is_some(),
            clock: self.clock,
            coins: chainstate.map(Chainstate::reader),
        }
    }

    fn stages(
        &self,
        context: &Context,
        mut store: Option<Store<'_>>,
        progress: &mut (impl FnMut(&Progress) + Send),
        run: &mut Run,
    ) -> Result<(), Error> {
        let threads = self.options.settings.stages.threads(self.options.threads);
        let batches = (0..blockmill_pipeline::buffers(threads))
            .map(|_| Batch::new(context.terms.hasher))
            .collect();
        let mut reader = BlockReader::new(self.files, OPEN_FILES);
        let (mut next, mut broken) = (self.first, false);
        let coins = store.as_ref().map(|store| store.coins);
        let (before, total) = self.bytes();
        // blocks that an earlier pass of this run connected are part of `before`
        let done = run.bytes;
        self.options.cancel.live().verify(self.options.level, total);
        let read = |batch: &mut Batch| {
            if broken || self.options.cancel.is_cancelled() {
                return Ok(false);
            }
            let more = batch.read(next, context, &mut reader);
            next += batch.len() as u32;
            broken = batch.ends();
            Ok::<_, Error>(more)
        };
        let connect = |batch: &mut Batch| match coins {
            Some(coins) => Ok(batch.connect(context, &mut lock(coins))),
            None => Ok(batch.pass()),
        };
        let finish = |batch: &mut Batch| {
            self.finish(batch, store.as_mut(), run)?;
            let (blocks, bytes) = (run.blocks, before + (run.bytes - done));
            let number = run.tip.map_or(0, |tip| tip.height.into());
            let committed = run.committed.map(|tip| tip.height.into());
            let total_bytes = Some(total);
            progress(&Progress { number, blocks, bytes, total_bytes, committed, execution: None });
            Ok(Flow::Continue)
        };
        let checked = Stages::read("read", read)
            .watched(self.options.cancel.live())
            .parallel("prepare", |batch| batch.prepare(context))
            .serial("connect", connect)
            .parallel("check", |batch| batch.check(context));
        let ended = checked
            .consume(self.options.consumer.as_ref(), |batch, derive| batch.derive(context, derive))
            // shorter than waking another thread, and a commit has a barrier
            .serial("finish", finish)
            .run(batches, threads);
        run.times.add(&ended.times);
        run.stopped |= self.options.cancel.is_cancelled();
        if let Some(store) = &mut store {
            let mut coins = lock(store.coins);
            // does nothing for batches that were not connected
            for mut batch in ended.unfinished.into_iter().rev() {
                batch.disconnect(&mut coins)?;
            }
            drop(coins);
            if !matches!(ended.outcome, Err(Error::Store(_) | Error::Corrupt(_))) {
                store.commit(run)?;
            }
        }
        ended.outcome
    }

    /// Returns the sizes of the blocks before the first one to connect, and of all.
    fn bytes(&self) -> (u64, u64) {
        let end = self.options.asked(self.tree.base());
        let (mut before, mut all) = (0, 0);
        for (height, node) in self.path.nodes.iter().take(end).enumerate().skip(1) {
            let size = self.tree.record(*node).map_or(0, |found| u64::from(found.size));
            before += if height < self.first as usize { size } else { 0 };
            all += size;
        }
        (before, all)
    }

    /// Finishes the good blocks of a batch. After a request to stop, the batch may not have been
    /// checked, so it is disconnected like the blocks after a fault.
    fn finish(
        &self,
        batch: &mut Batch,
        mut store: Option<&mut Store<'_>>,
        run: &mut Run,
    ) -> Result<(), Error> {
        if self.options.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let clock = Instant::now();
        run.trailing.extend(batch.trailing().map(|(i, bytes)| {
            let node = self.path.nodes[batch.height(i) as usize];
            TrailingBytes { record: self.tree.record_number(node), bytes }
        }));
        if let [.., last] = batch.good() {
            let height = self.tree.base() + batch.height(batch.good().len() - 1);
            let tip = Tip { height, hash: last.hash };
            if let Some(store) = &mut store {
                store.undo.append(batch.undo_of_blocks(), tip)?;
            }
            run.tip = Some(tip);
            batch.finish();
        }
        if let (true, Some(store)) = (batch.flushes(), &mut store) {
            store.commit(run)?;
        }
        run.add(batch, self.tree.base(), clock.elapsed(), self.start);
        let node = |height: u32| self.path.nodes[height as usize];
        batch.take_end(|height, cause| fault_of_block(self.files, self.tree, node(height), cause))
    }
}
