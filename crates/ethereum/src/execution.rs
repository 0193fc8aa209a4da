//! The stages of level execution, between the link and the write: blocks are executed in order, the
//! state roots follow some chunks behind on another thread, receipts on any.
//!
//! The state is in memory; what keeps it is in `durable`. A store without it keeps the blocks, so a
//! run that goes on there executes them once more.

use crate::batch::Batch;
use crate::commit::Sink;
use crate::durable::{BlockChanges, LogValues, execute_stored, unusable};
use crate::error::{Rule, Violation};
use crate::execute::receipts::Receipts;
use crate::execute::{
    self, Evm, Executed, ExecutionError, PreparedBlock, Replay, verify_state_root,
};
use crate::fault::{Cause, Error};
use crate::options::Options;
use crate::params::ChainSpec;
use crate::state::{State, StateError, Tries};
use crate::{Hash, Level};
use archive::{ChunkLimit, Part};
use crypto::ManyKeccak;
use pipeline::{Cancel, Flow, Stages};
use store::ChainStore;

/// Most blocks and bytes of a chunk that is executed: so few that the stages work side by side also
/// on short archives, and wait little for each other.
const CHUNK: ChunkLimit = ChunkLimit { blocks: 64, bytes: 64 << 10 };

/// The bounds of a chunk.
pub(crate) fn chunk(options: &Options) -> ChunkLimit {
    let ChunkLimit { blocks, bytes } = options.chunk;
    match options.level {
        Level::Execution => {
            ChunkLimit { blocks: blocks.min(CHUNK.blocks), bytes: bytes.min(CHUNK.bytes) }
        }
        _ => options.chunk,
    }
}

/// A block that was executed.
#[derive(Debug, Default)]
pub(crate) struct ExecutedBlock {
    executed: Executed,
    /// Before Byzantium, the state roots behind its transactions.
    roots: Vec<Hash>,
    /// Its record in the log of the state; empty where there is none.
    pub(crate) record: Vec<u8>,
}

/// What the stages keep: the state behind the last block that was executed, and the tries behind
/// the last one that has a root.
pub(crate) struct Execution<'c> {
    spec: &'c ChainSpec,
    state: State,
    tries: Tries,
    hasher: ManyKeccak,
    /// What is kept of what blocks change.
    log: LogValues,
}

impl<'c> Execution<'c> {
    /// The state that the chain begins with, or that behind the last block of the store; none at
    /// other levels, and when asked to stop.
    pub fn begin(options: &'c Options, sink: &mut Sink) -> Result<Option<Self>, Error> {
        if options.level < Level::Execution {
            return Ok(None);
        }
        let spec = &*options.spec;
        let plan = options.setting.plan();
        let tries = match plan.arena_tries {
            true => Tries::arena().map_err(|error| unusable(0, &error))?,
            false => Tries::pointers(),
        };
        let cancel = &options.cancel;
        let replay = match sink {
            Sink::Executed(store) => store.recover(spec, tries, plan.log, cancel)?,
            _ => Some(replay_stored(spec, tries, sink.store(), cancel)?),
        };
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let Some(replay) = replay else { return Ok(None) };
        let hasher = if plan.multi_hash { ManyKeccak::detect() } else { ManyKeccak::scalar() };
        let (state, tries) = replay.into_parts();
        let log = match sink {
            Sink::Executed(_) => plan.log,
            _ => LogValues::None,
        };
        Ok(Some(Self { spec, state, tries, hasher, log }))
    }

    /// Adds the stages of execution, where there is one.
    pub fn stages<'a>(
        execution: &'a mut Option<Self>,
        stages: Stages<'a, Batch, Error>,
    ) -> Stages<'a, Batch, Error> {
        let Some(Self { spec, state, tries, hasher, log }) = execution else { return stages };
        let (spec, hasher, log) = (*spec, *hasher, *log);
        let (mut executing, mut rooting) = (true, true);
        stages
            .serial("execute", move |batch| {
                executing = executing && execute_chunk(spec, state, batch);
                Ok(Flow::Continue)
            })
            .serial("root", move |batch| {
                rooting = rooting && root_chunk(tries, batch);
                Ok(Flow::Continue)
            })
            .parallel("receipts", move |batch| {
                check_receipts(hasher, batch);
                make_records(log, batch);
            })
    }
}

/// Executes the new blocks of a chunk. False when one was not executed to its end: then the state
/// is that of no block, and nothing more can be executed.
fn execute_chunk(spec: &ChainSpec, state: &mut State, batch: &mut Batch) -> bool {
    let range = batch.verified().range();
    batch.executed.clear();
    let mut evm = Evm::new(state, spec.chain_id);
    for i in range {
        let mut done = ExecutedBlock::default();
        let block = &batch.prepared[i];
        // the genesis block is what it is
        let outcome = match block.header.number {
            0 => Ok(()),
            _ => execute::execute(spec, &mut evm, block, &mut done.executed),
        };
        if let Err(error) = outcome {
            batch.fail(i, Part::Body, cause(error));
            return false;
        }
        batch.executed.push(done);
    }
    true
}

/// Puts the changes of the blocks into the tries and compares the state roots. False when one is
/// wrong: then the tries are those of no right block.
fn root_chunk(tries: &mut Tries, batch: &mut Batch) -> bool {
    let range = batch.verified().range();
    let mut executed = std::mem::take(&mut batch.executed);
    let mut failure = None;
    for (i, done) in range.zip(&mut executed) {
        let block = &batch.prepared[i];
        if block.header.number == 0 {
            continue;
        }
        if let Err(error) = root(tries, block, done) {
            failure = Some((i, error));
            break;
        }
    }
    batch.executed = executed;
    let Some((i, error)) = failure else { return true };
    batch.fail(i, Part::Header, cause(error));
    false
}

fn root(
    tries: &mut Tries,
    block: &PreparedBlock,
    done: &mut ExecutedBlock,
) -> Result<(), ExecutionError> {
    for step in &done.executed.steps {
        done.roots.push(tries.apply(step)?);
    }
    let root = tries.apply(&done.executed.changes)?;
    Ok(verify_state_root(&block.header.state_root, &root)?)
}

/// Compares receipts roots and blooms.
fn check_receipts(hasher: ManyKeccak, batch: &mut Batch) {
    let mut receipts = Receipts::new(hasher);
    let mut failure = None;
    for (i, done) in batch.verified().range().zip(&batch.executed) {
        let block = &batch.prepared[i];
        if block.header.number == 0 {
            continue;
        }
        if let Err(violation) = receipts.verify(block, &done.executed.outcomes, &done.roots) {
            failure = Some((i, violation));
            break;
        }
    }
    if let Some((i, violation)) = failure {
        batch.fail(i, Part::Header, Cause::Rule(violation));
    }
}

fn cause(error: ExecutionError) -> Cause {
    Cause::Rule(match error {
        ExecutionError::Rule(violation) => violation,
        ExecutionError::State(error) => of_state(&error),
    })
}

fn of_state(error: &StateError) -> Violation {
    Violation::new(Rule::ExecutionRules, "a state that can be kept whole", error)
}

/// Makes the records of the log, of blocks that may yet be refused: these are not written.
fn make_records(log: LogValues, batch: &mut Batch) {
    if log == LogValues::None {
        return;
    }
    let numbers: Vec<u64> = batch.verified().range().map(|i| batch.number(i)).collect();
    for (number, done) in numbers.into_iter().zip(&mut batch.executed) {
        // the genesis block was the first record
        if number > 0 {
            let Executed { steps, changes, .. } = &done.executed;
            let changes = BlockChanges::of(number, steps.iter().chain([changes]));
            changes.encode(log == LogValues::Both, &mut done.record);
        }
    }
}

/// The state behind the last block of a store that has blocks only, by executing all of them.
fn replay_stored<'c>(
    spec: &'c ChainSpec,
    tries: Tries,
    store: Option<&ChainStore>,
    cancel: &Cancel,
) -> Result<Replay<'c>, Error> {
    let mut replay = Replay::from_genesis(spec, tries).map_err(|error| unusable(0, &error))?;
    if let Some(store) = store
        && let Some(tip) = store.tip()
    {
        for number in 1..=tip.number {
            if cancel.is_cancelled() {
                break;
            }
            execute_stored(spec, store, number, &mut replay)?;
        }
    }
    Ok(replay)
}
