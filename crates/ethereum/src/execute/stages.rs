//! The stages of level `execution`, between link and write: blocks are executed in order, state
//! roots follow some chunks later on another thread, receipts on any thread.
//!
//! The stages own the state in memory; [`crate::commit::executed_store`] makes it durable. A store
//! without a state has the blocks only, and a resumed run executes them again.

mod chunks;
mod executed;
mod listed;
mod order;
mod persistence;
mod phases;
mod prefetch;
mod receipts;
mod roots;

use crate::Level;
use crate::commit::BlockSink;
use crate::commit::executed_store::{LogValues, execute_stored, unready, unusable};
use crate::error::Error;
use crate::execute::evm::MachineOptions;
use crate::execute::history::History;
use crate::execute::speculation::{GasBudget, Speculate, speculate};
use crate::execute::{self, Evm, ExecutionError, Replay};
use crate::fault::Cause;
use crate::import::batch::Batch;
use crate::options::Options;
use crate::pace::Pace;
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::state::{State, StateError, TrieLayout, Tries};
use blockmill_archive::Part;
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::record::{EXECUTE, LINK};
use blockmill_pipeline::{Cancel, Flow, StageOrder, Stages};
use blockmill_store::ChainStore;
pub(crate) use chunks::chunk;
pub(crate) use executed::ExecutedBlock;
pub use listed::AccessLists;
use listed::{defer, execute_deferred};
pub use order::{ReceiptOrder, RootGroup, RootInterval, RootOrder, SenderOrder};
use persistence::Persistence;
pub(crate) use phases::{ExecutedChunk, Speculated};
pub use prefetch::Prefetch;
use prefetch::{Prefetching, cache_prefetched, prefetching};
use receipts::{check_receipts, encode_records};
use roots::root_chunk;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The data of the stages: the state after the last executed block, and the tries after the last
/// block with a root.
pub(crate) struct Execution<'c> {
    spec: &'c ChainSpec,
    /// Other threads read it between the chunks that are executed.
    state: RwLock<State>,
    tries: Tries,
    persistence: Persistence,
    hasher: ManyKeccak,
    /// Interval of blocks whose state root is compared.
    root_every: usize,
    /// Which values of changes are logged.
    log: LogValues,
    machine: MachineOptions,
    /// Limit of the blocks whose roots are computed together.
    root_group: usize,
    pace: Arc<Pace>,
    speculation: SpeculationPolicy,
    /// Whether accounts and slots that blocks name are prefetched, for a state on disk.
    prefetch: bool,
    /// How access lists are used by these stages.
    lists: AccessLists,
    /// Predicts further slots to prefetch.
    history: Option<Arc<History>>,
    /// Budget of dry runs, which find further slots to prefetch.
    dry_runs: Option<GasBudget>,
    inline: Inline,
}

/// Which transactions are executed speculatively, within which budget.
struct SpeculationPolicy {
    which: Speculate,
    budget: GasBudget,
}

/// Work that is done in the stage before it, not in a stage of its own.
#[derive(Clone, Copy)]
struct Inline {
    /// All checks, in the stage that executes.
    senders: bool,
    /// Roots, in the stage that executes.
    root: bool,
    /// Receipts, in the stage that computes roots.
    receipts: bool,
}

impl<'c> Execution<'c> {
    /// Loads the state after the last block of the store, or the genesis state. `None` at other
    /// levels, and when cancelled.
    ///
    /// # Errors
    /// [`Error::Setting`] for options that contradict the store; [`Error::Execution`],
    /// [`Error::State`], [`Error::StoredState`] and [`Error::Store`] if the state cannot be
    /// recovered.
    pub fn begin(options: &'c Options, sink: &mut dyn BlockSink) -> Result<Option<Self>, Error> {
        if options.level < Level::Execution {
            return Ok(None);
        }
        let spec = &*options.spec;
        let settings = &options.settings;
        let (mut persistence, disk) =
            Persistence::begin(settings, options.threads, sink.executed().as_deref())?;
        let hashers = settings.trie_hashers();
        let tries = match (disk, settings.state_trie) {
            (Some(disk), _) => Tries::on_disk(disk, hashers),
            (None, TrieLayout::Arena) => Tries::arena_with(hashers).map_err(|e| unusable(0, &e))?,
            (None, TrieLayout::Pointers) => Tries::pointers(),
        };
        let cancel = &options.cancel;
        let replay = match sink.executed() {
            Some(store) => store.recover(spec, tries, settings.log, cancel)?,
            None => Some(replay_stored(spec, tries, sink.store(), cancel)?),
        };
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let Some(replay) = replay else { return Ok(None) };
        let stored = sink.executed();
        persistence.resume(stored.as_deref());
        let hasher = settings.hash.hasher();
        let (state, tries) = replay.into_parts();
        let log = if stored.is_some() { settings.log } else { LogValues::None };
        let (root_every, root_group) = match tries.disk() {
            // a state on disk computes the root of each block
            Some(_) => (1, 1),
            None => (settings.root_every.blocks(), settings.root_group.blocks()),
        };
        let inline = Inline {
            senders: settings.senders == SenderOrder::Inline,
            root: settings.root == RootOrder::Inline,
            receipts: settings.receipts == ReceiptOrder::Inline,
        };
        // speculation needs a second thread, and a stage between link and execution
        let is_serial = settings.stages == StageOrder::Serial;
        let alone = is_serial || options.threads < 2 || inline.senders;
        let which = if alone { Speculate::Off } else { settings.speculate };
        let lists = match settings.access_lists {
            // concurrent execution needs a second thread, and a stage after the one in order
            AccessLists::Parallel if alone || inline.root => AccessLists::Prefetch,
            lists => lists,
        };
        let runs_dry = settings.prefetch == Prefetch::DryRuns;
        let learns = runs_dry || settings.prefetch == Prefetch::History;
        Ok(Some(Self {
            spec,
            state: RwLock::new(state),
            tries,
            persistence,
            hasher,
            root_every,
            root_group,
            log,
            machine: settings.machine(),
            pace: Arc::new(Pace::new(root_every, chunk(options).blocks)),
            speculation: SpeculationPolicy { which, budget: GasBudget::new(options.threads) },
            // inline checks leave no stage between link and execution
            prefetch: settings.prefetch != Prefetch::Off && !inline.senders,
            lists,
            history: (learns && !inline.senders).then(Arc::default),
            dry_runs: (runs_dry && !inline.senders).then(|| GasBudget::new(options.threads)),
            inline,
        }))
    }

    /// The pace, which says how many blocks to read at a time.
    pub fn pace(&self) -> Arc<Pace> {
        Arc::clone(&self.pace)
    }

    /// Adds the link and, if blocks are executed, the stages of execution.
    pub fn stages<'a>(
        execution: &'a mut Option<Self>,
        stages: Stages<'a, Batch, Error>,
        link: impl FnMut(&mut Batch) + Send + 'a,
    ) -> Stages<'a, Batch, Error> {
        let Some(execution) = execution else { return serial(stages, LINK, link) };
        let together = (execution.root_every, execution.root_group);
        let Self { spec, tries, persistence, hasher, log, inline, .. } = execution;
        let (spec, hasher, log, inline) = (*spec, *hasher, *log, *inline);
        let (state, machine) = (&execution.state, execution.machine);
        let (lists, listed) = (execution.lists, execution.lists == AccessLists::Parallel);
        let dry = execution.dry_runs.as_ref().map(|budget| (budget, spec, machine));
        let (pace, speculation) = (&*execution.pace, &execution.speculation);
        let disk = tries.disk().filter(|_| execution.prefetch).cloned();
        let history = execution.history.as_ref().filter(|_| disk.is_some());
        let (mut executing, mut rooting) = (true, true);
        let receipts = move |batch: &mut Batch| {
            check_receipts(hasher, batch);
            encode_records(log, batch);
        };
        let mut root = move |batch: &mut Batch| -> Result<Flow, Error> {
            rooting = rooting && root_chunk(tries, together, batch);
            let flow = if rooting { persistence.after(tries, batch)? } else { Flow::Continue };
            if inline.receipts {
                receipts(batch);
            }
            Ok(flow)
        };
        let (stages, mut before) = match inline.senders {
            false => (serial(stages, LINK, link), None),
            true => (stages, Some(link)),
        };
        let by = Prefetching { history: history.map(|history| &**history), dry, lists, hasher };
        let stages = prefetching(stages, disk, by);
        let stages = speculating(stages, speculation, spec, state, (machine, hasher), listed);
        let mut execute = move |batch: &mut Batch| {
            if let Some(link) = &mut before {
                link(batch);
            }
            // a panic ends the run elsewhere
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            state.advance_generation();
            let prefetched = cache_prefetched(&mut state, &mut batch.speculated);
            let evm = Evm::new(&mut state, spec.chain_id).with_options(machine);
            let evm = evm.with_history(history.cloned(), &prefetched);
            executing = executing && execute_chunk(spec, evm, batch, listed);
            if !listed {
                report(pace, &speculation.budget, batch);
            }
        };
        let execute_listed = move |batch: &mut Batch| {
            execute_deferred(spec, speculation, (machine, hasher), batch);
            report(pace, &speculation.budget, batch);
        };
        let stages = match inline.root {
            false if listed => {
                let stages = serial(stages, EXECUTE, execute);
                stages.parallel("execute-listed", execute_listed).serial("root", root)
            }
            false => serial(stages, EXECUTE, execute).serial("root", root),
            true => stages.serial(EXECUTE, move |batch| {
                execute(batch);
                root(batch)
            }),
        };
        if inline.receipts { stages } else { stages.parallel("receipts", receipts) }
    }
}

/// Reports how long the execution of the blocks took, and records their committed and aborted
/// speculations in the budget.
fn report(pace: &Pace, budget: &GasBudget, batch: &Batch) {
    let busy: Duration = batch.executed.blocks.iter().map(|done| done.busy[0]).sum();
    let (count, hashing) = (batch.executed.blocks.len(), batch.speculated.hashing);
    pace.took(count, busy, hashing);
    for (i, done) in batch.new_blocks().zip(&batch.executed.blocks) {
        budget.record(&done.executed.tally, batch.content.prepared[i].header.gas_used);
    }
}

/// Adds the stage that executes transactions speculatively, if any are.
fn speculating<'a>(
    stages: Stages<'a, Batch, Error>,
    policy: &'a SpeculationPolicy,
    spec: &'a ChainSpec,
    state: &'a RwLock<State>,
    with: (MachineOptions, ManyKeccak),
    listed: bool,
) -> Stages<'a, Batch, Error> {
    if policy.which == Speculate::Off {
        return stages;
    }
    stages.parallel("speculate", move |batch| {
        let range = batch.new_blocks();
        // those with lists are executed speculatively on their part of the state, later
        let is_later = |i: usize| listed && batch.access_list(range.start + i).is_some();
        let blocks = &batch.content.prepared[range.clone()];
        let state_of = |i| (!is_later(i)).then_some(state);
        let (which, on) =
            ((policy.which, &policy.budget), (state_of, &batch.speculated.prefetched));
        let found = speculate(which, spec, on, with, blocks);
        batch.speculated.speculations = found.blocks;
        batch.speculated.busy = found.busy;
        batch.speculated.hashing = found.hashing;
    })
}

/// Adds a serial stage that never ends the run by itself.
fn serial<'a>(
    stages: Stages<'a, Batch, Error>,
    name: &'static str,
    mut work: impl FnMut(&mut Batch) + Send + 'a,
) -> Stages<'a, Batch, Error> {
    stages.serial(name, move |batch| {
        work(batch);
        Ok(Flow::Continue)
    })
}

/// Executes the new blocks of a chunk; with `listed`, those without access lists. Returns false if
/// one failed: then the state is between two blocks, and nothing more can be executed.
fn execute_chunk(spec: &ChainSpec, mut evm: Evm<'_>, batch: &mut Batch, listed: bool) -> bool {
    let range = batch.new_blocks();
    batch.executed.blocks.clear();
    let mut speculations = std::mem::take(&mut batch.speculated.speculations).into_iter();
    let mut speculating = std::mem::take(&mut batch.speculated.busy).into_iter();
    for i in range {
        evm.set_speculations(speculations.next().unwrap_or_default());
        let mut done = ExecutedBlock::default();
        let block = &batch.content.prepared[i];
        let clock = Instant::now();
        let list = batch.access_list(i).filter(|_| listed);
        let deferred = list.map_or(Ok(false), |list| defer(evm.state(), block, list, &mut done));
        // the genesis block has no parent to execute it on
        let outcome = match deferred {
            Ok(false) if block.header.number > 0 => {
                execute::execute(spec, &mut evm, block, &mut done.executed)
            }
            deferred => deferred.map(|_| ()).map_err(ExecutionError::from),
        };
        if let Err(error) = outcome {
            batch.refuse(i, Part::Body, cause(error));
            return false;
        }
        done.busy[0] = clock.elapsed() + speculating.next().unwrap_or_default();
        batch.executed.blocks.push(done);
    }
    batch.speculated.prefetch_stats.add(&evm.prefetch_stats());
    true
}

fn cause(error: ExecutionError) -> Cause {
    match error {
        ExecutionError::Rule(violation) => Cause::Rule(violation),
        ExecutionError::State(StateError::Disk(error)) => Cause::State(error),
        ExecutionError::State(error @ StateError::NotListed { .. }) => {
            let expected = "all that the block accesses";
            Cause::Rule(Violation::new(Rule::AccessList, expected, error))
        }
        ExecutionError::State(error) => {
            let expected = "a state that can be kept whole";
            Cause::Rule(Violation::new(Rule::ExecutionRules, expected, error))
        }
    }
}

/// Executes all blocks of a store without a state; the state after the last one.
fn replay_stored<'c>(
    spec: &'c ChainSpec,
    tries: Tries,
    store: Option<&ChainStore>,
    cancel: &Cancel,
) -> Result<Replay<'c>, Error> {
    let mut replay = Replay::from_genesis(spec, tries).map_err(|error| unready(0, &error))?;
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
