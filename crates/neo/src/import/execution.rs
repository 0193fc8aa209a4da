//! The stage that executes blocks in order. Tasks process its results while it executes the next
//! batch.

use super::Batch;
use super::sink::Sink;
use super::tasks::{self, FollowUp, FollowUps};
use crate::error::Error;
use crate::execute::admit::TransactionVerifier;
use crate::execute::block::{BlockError, Executed, Executor, machine};
use crate::execute::engine::Chain;
use crate::execute::native::Natives;
use crate::execute::vm::Vm;
use crate::fault::Cause;
use crate::ledger::RecentBlocks;
use crate::ledger::{ChangeLog, Ledger};
use crate::options::Options;
use crate::rule::{Rule, Violation};
use crate::state::State;
use crate::types::{Block, Header, UInt256};
use crate::witness::Checked;
use blockmill_pipeline::{Flow, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Upper estimate of the memory for a changed key until it is committed: its entry with a short
/// value, the changes of its block, and the entry in the store's table.
const KEY_BYTES: usize = 512;

blockmill_pipeline::named_option! {
    /// Whether blocks are executed while earlier blocks are written to disk.
    pub enum Flush: "flush", level Execution {
        /// No block is executed while earlier blocks are written.
        Barrier = "barrier",
        /// The next blocks are executed while earlier ones are written.
        Overlapped = "overlapped",
    }
}

/// Executes blocks over the state after their parents.
pub(crate) struct ExecutionStage {
    executor: Executor,
    chain: Chain,
    state: State,
    recent: RecentBlocks,
    /// Header and hash of the last block; `None` before the genesis block.
    before: Option<Block>,
    /// During a flush: the number of committed blocks at its end.
    flushing: Option<u64>,
    /// The number of committed blocks of the chain.
    committed: Arc<AtomicU64>,
    flush: Flush,
    /// Everything executed so far is committed before the next batch.
    waits: bool,
    /// Memory limit of uncommitted blocks in bytes, and the longest time between two commits.
    memory: usize,
    commit_every: Duration,
    /// When the last commit was requested.
    asked: Instant,
    /// Transactions of blocks up to this height are assumed valid.
    assumed: Option<u32>,
    /// What this stage does with a batch before it executes the next one.
    inline: Vec<FollowUp>,
}

/// Why a block was not executed.
enum Refused {
    Broken(Violation),
    Failed(Error),
}

impl ExecutionStage {
    /// Continues after the last block of the store.
    fn new(
        options: &Options,
        ledger: &Ledger,
        (last, inline): (Option<(Header, UInt256)>, Vec<FollowUp>),
        assumed: Option<u32>,
    ) -> Self {
        let protocol = (*options.protocol).clone();
        let recent = RecentBlocks::new(ledger, protocol.state_root_in_header);
        let view = recent.view();
        Self {
            executor: Executor::default(),
            chain: Chain { protocol, natives: Natives::default(), view },
            state: State::new(ledger.base().recording(options.settings.log == ChangeLog::Undo)),
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
            inline,
        }
    }

    /// Executes the valid blocks of a batch. The first invalid block ends the batch.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the store cannot be read.
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
        batch.results.clear();
        batch.flushes = false;
        self.inline.iter_mut().try_for_each(|follow| follow(batch))?;
        let last = batch.blocks().last().map(|block| block.header.index);
        Ok(last.map_or(Flow::Continue, |last| self.flush_after(last, batch)))
    }

    /// Begins a flush after the batch that ends with block `last`, if one is due.
    fn flush_after(&mut self, last: u32, batch: &mut Batch) -> Flow {
        // blocks are executed during a flush: either side gets half of the memory
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

    /// Ends the current flush if the store has committed its blocks.
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
            let mut verifier = TransactionVerifier {
                chain: &self.chain,
                before,
                state: &mut self.state,
                executor: &mut self.executor,
                vm: &mut *vm,
            };
            // the check stage may have recorded this block already
            let is_recorded = tolerated.iter().any(|(at, _)| *at == height);
            if !is_recorded && let Err(violation) = verifier.verify(block, checked) {
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

/// The executor, and the tasks after it.
type Added<'a> = (Option<ExecutionStage>, Vec<Task<'a, Batch, Error>>);

/// What level execution adds to the stages: the executor and the tasks after it. Other levels add
/// nothing.
pub(crate) fn begin<'a>(
    options: &Options,
    sink: &Sink,
    assumed: Option<u32>,
) -> Result<Added<'a>, Error> {
    let Sink::Ledger(ledger) = sink else { return Ok((None, vec![])) };
    let last = sink.read_back(options.protocol.state_root_in_header)?;
    let FollowUps { inline, tasks } = tasks::plan(&options.settings, ledger)?;
    Ok((Some(ExecutionStage::new(options, ledger, (last, inline), assumed)), tasks))
}
