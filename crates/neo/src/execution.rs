//! Level execution: the stage that executes blocks in order, and the tasks that follow it while it
//! goes on with the next batch.

use crate::batch::Batch;
use crate::commit::Sink;
use crate::error::{Rule, Violation};
use crate::execute::admit::Judge;
use crate::execute::block::{BlockError, Executed, Executor, machine};
use crate::execute::engine::Chain;
use crate::execute::native::Natives;
use crate::execute::vm::Vm;
use crate::fault::{Cause, Error};
use crate::ledger::{ChangeLog, Ledger};
use crate::options::Options;
use crate::recent::Recent;
use crate::state::State;
use crate::tasks::{self, Follow, Following};
use crate::types::{Block, Header, UInt256};
use crate::witness::Checked;
use blockmill_pipeline::{Flow, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that a changed key takes in memory, at most, until it is committed: its entry with a short
/// value, the changes of the block on their way to the store, and the store's own.
const KEY_BYTES: usize = 512;

blockmill_pipeline::named_option! {
    /// Whether blocks are executed while earlier blocks are written to disk.
    pub enum Flush: "flush", level Execution {
        /// No block is executed while earlier blocks are written.
        Barrier = "barrier",
        /// The next blocks are executed while earlier ones are written.
        Overlapped = "behind",
    }
}

/// Executes blocks over the state after the block before.
pub(crate) struct Execution {
    executor: Executor,
    chain: Chain,
    state: State,
    recent: Recent,
    /// The last block's header and hash; none before the first.
    before: Option<Block>,
    /// Where a flush is on its way, how many blocks of the chain are committed when it has ended.
    flushing: Option<u64>,
    /// How many blocks of the chain are committed.
    committed: Arc<AtomicU64>,
    flush: Flush,
    /// All that was executed will be committed before the next batch comes.
    waits: bool,
    /// Bytes of memory for what is not committed, and the most time between two commits.
    memory: usize,
    commit_every: Duration,
    /// When the last commit was asked for.
    asked: Instant,
    /// Transactions of the blocks up to this height are taken for valid.
    assumed: Option<u32>,
    /// What else is done with a batch before the next one is executed.
    with: Vec<Follow>,
}

/// Why a block was not executed.
enum Refused {
    Broken(Violation),
    Failed(Error),
}

impl Execution {
    /// Goes on from the last block of the store.
    fn new(
        options: &Options,
        ledger: &Ledger,
        (last, with): (Option<(Header, UInt256)>, Vec<Follow>),
        assumed: Option<u32>,
    ) -> Self {
        let protocol = (*options.protocol).clone();
        let recent = Recent::new(ledger, protocol.state_root_in_header);
        let past = recent.past();
        Self {
            executor: Executor::default(),
            chain: Chain { protocol, natives: Natives::default(), past },
            state: State::new(ledger.base().telling(options.settings.log == ChangeLog::Undo)),
            recent,
            before: last.map(|(header, hash)| Block { header, hash, ..Block::default() }),
            flushing: None,
            committed: ledger.committed(),
            flush: options.settings.flush,
            waits: false,
            memory: options.memory,
            commit_every: options.commit_every,
            asked: Instant::now(),
            assumed,
            with,
        }
    }

    /// Executes the good blocks of a batch. The first that is refused ends it.
    ///
    /// # Errors
    /// What has nothing to do with the blocks: a store that cannot be read.
    pub fn run(&mut self, batch: &mut Batch) -> Result<Flow, Error> {
        self.end_flush();
        let mut vm = machine();
        let mut done = std::mem::take(&mut batch.executed);
        let mut tolerated = std::mem::take(&mut batch.tolerated);
        done.clear();
        batch.witnesses = [batch.witnesses.iter().sum(), 0];
        let mut refused = None;
        let mut from = 0;
        for index in 0..batch.blocks().len() {
            let block = &batch.blocks()[index];
            let count: usize = match block.header.index {
                0 => 0,
                _ => block.transactions().map(|each| each.witnesses().len()).sum(),
            };
            let own = batch.checked.get(from..from + count).unwrap_or_default();
            from += count;
            match self.block(&mut vm, block, own, &mut tolerated) {
                Ok(executed) => done.push(executed),
                Err(Refused::Failed(error)) => return Err(error),
                Err(Refused::Broken(violation)) => {
                    refused = Some((index, block.hash, violation));
                    break;
                }
            }
        }
        (batch.executed, batch.tolerated) = (done, tolerated);
        if let Some((index, hash, violation)) = refused {
            batch.fault = Some(batch.fault_of(index, Some(hash), Cause::Rule(violation)));
            batch.cut(index);
        }
        batch.left.clear();
        batch.flushes = false;
        self.with.iter_mut().try_for_each(|follow| follow(batch))?;
        let last = batch.blocks().last().map(|block| block.header.index);
        Ok(last.map_or(Flow::Continue, |last| self.flush_after(last, batch)))
    }

    /// Begins a flush after a batch whose last block this is, if it is time.
    fn flush_after(&mut self, last: u32, batch: &mut Batch) -> Flow {
        // while blocks are flushed, others are executed: each may have half of the memory
        let share = match self.flush {
            Flush::Barrier => self.memory,
            Flush::Overlapped => self.memory / 2,
        };
        let bytes = self.state.base().changed_keys() * KEY_BYTES + 2 * self.recent.bytes();
        batch.flushes = bytes >= share || self.asked.elapsed() >= self.commit_every;
        if !batch.flushes {
            return Flow::Continue;
        }
        self.asked = Instant::now();
        self.waits = self.flush == Flush::Barrier || self.flushing.is_some();
        if !self.waits {
            self.state.base_mut().begin_flush();
            self.recent.begin_flush();
        }
        self.flushing = Some(u64::from(last) + 1);
        if self.waits { Flow::Barrier } else { Flow::Continue }
    }

    /// Ends the flush that is on its way, if the store has what it is for.
    fn end_flush(&mut self) {
        let committed = self.committed.load(Ordering::Acquire);
        if self.flushing.is_some_and(|last| committed >= last) {
            self.flushing = None;
            self.state.base_mut().end_flush();
            self.recent.end_flush();
            if std::mem::take(&mut self.waits) {
                self.state.base_mut().begin_flush();
                self.state.base_mut().end_flush();
                self.recent.begin_flush();
                self.recent.end_flush();
            }
        }
    }

    fn block(
        &mut self,
        vm: &mut Vm,
        block: &Block,
        checked: &[Checked],
        tolerated: &mut Vec<(u32, Violation)>,
    ) -> Result<Executed, Refused> {
        let height = block.header.index;
        let is_assumed = self.assumed.is_some_and(|last| height <= last);
        if let Some(before) = self.before.as_ref().filter(|_| !is_assumed) {
            let mut judge = Judge {
                chain: &self.chain,
                before,
                state: &mut self.state,
                executor: &mut self.executor,
                vm: &mut *vm,
            };
            // a network that stores such blocks was told of this one if it was found out ahead
            let is_told = tolerated.iter().any(|(at, _)| *at == height);
            if !is_told && let Err(violation) = judge.admit(block, checked) {
                match self.chain.protocol.verify_transactions {
                    true => return Err(Refused::Broken(violation)),
                    false => tolerated.push((height, violation)),
                }
            }
        }
        let executed = self.executor.execute(vm, &self.chain, &mut self.state, block);
        let executed = executed.map_err(|error| match error {
            BlockError::State { source, .. } => Refused::Failed(source.into()),
            BlockError::System { trigger, fault, .. } => {
                let expected = format!("{} without a failure", trigger.name());
                Refused::Broken(Violation::new(Rule::System, expected, fault))
            }
        })?;
        self.recent.add(block, &executed.executions);
        let (header, hash) = (block.header.clone(), block.hash);
        self.before = Some(Block { header, hash, ..Block::default() });
        Ok(executed)
    }
}

/// The executor, and the tasks that follow it.
type Added<'a> = (Option<Execution>, Vec<Task<'a, Batch, Error>>);

/// What level execution adds to the stages: the executor, and the tasks that follow it; nothing at
/// the other levels.
pub(crate) fn begin<'a>(
    options: &Options,
    sink: &Sink,
    assumed: Option<u32>,
) -> Result<Added<'a>, Error> {
    let Sink::Ledger(ledger) = sink else { return Ok((None, vec![])) };
    let last = sink.read_back(options.protocol.state_root_in_header)?;
    let Following { with, after } = tasks::lay_out(&options.settings, ledger)?;
    Ok((Some(Execution::new(options, ledger, (last, with), assumed)), after))
}
