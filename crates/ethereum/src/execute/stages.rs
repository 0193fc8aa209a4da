//! The stages of level execution, between the link and the write: blocks are executed in order, the
//! state roots follow some chunks behind on another thread, receipts on any.
//!
//! The state is in memory; what keeps it is in `durable`. A store without it keeps the blocks, so a
//! run that goes on there executes them once more.

mod chunks;
mod keeping;
mod order;
mod phases;
mod prefetch;
mod roots;

use crate::block_times::BlockTime;
use crate::commit::BlockSink;
use crate::commit::executed_store::{BlockChanges, LogValues, execute_stored, unready, unusable};
use crate::error::{Rule, Violation};
use crate::execute::evm::{MachineOptions, Tally};
use crate::execute::history::History;
use crate::execute::receipts::Receipts;
use crate::execute::speculation::{Account, Speculate, speculate};
use crate::execute::{self, Evm, Executed, ExecutionError, PreparedBlock, Replay};
use crate::fault::{Cause, Error};
use crate::import::batch::Batch;
use crate::options::Options;
use crate::pace::Pace;
use crate::params::ChainSpec;
use crate::state::{Changes, Lost, State, StateError, TrieDesign, Tries};
use crate::{Hash, Level};
use blockmill_archive::Part;
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::{Cancel, Flow, StageOrder, Stages};
use blockmill_store::ChainStore;
pub(crate) use chunks::chunk;
use keeping::Keeping;
pub use order::{ReceiptOrder, RootGroup, RootInterval, RootOrder, SenderOrder};
pub(crate) use phases::{ExecutedChunk, Speculated};
pub use prefetch::Prefetch;
use prefetch::{prefetching, teach};
use roots::root_chunk;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// A block that was executed.
#[derive(Debug, Default)]
pub(crate) struct ExecutedBlock {
    executed: Executed,
    /// Before Byzantium, the state roots behind its transactions.
    roots: Vec<Hash>,
    /// What accounts lost of a state on disk as a whole.
    lost: Vec<Lost>,
    /// Its record in the log of the state; empty where there is none.
    pub(crate) record: Vec<u8>,
    /// What it took in each of [`blockmill_verdict::BLOCK_PHASES`].
    pub(crate) busy: [Duration; blockmill_verdict::BLOCK_PHASES.len()],
}

impl ExecutedBlock {
    /// What it did and what it took, for the record of the run.
    pub(crate) fn time(&self, block: &PreparedBlock) -> BlockTime {
        let all = self.executed.steps.iter().chain([&self.executed.changes]);
        BlockTime {
            number: block.header.number,
            transactions: block.transactions.len() as u64,
            gas: block.header.gas_used,
            reads: self.executed.reads,
            changed: all.map(Changes::len).sum::<usize>() as u64,
            ahead: self.executed.tally,
            busy: self.busy,
        }
    }
}

impl ExecutedBlock {
    /// The list of its receipts, as archives hold it.
    pub(crate) fn receipts(&self, receipts: &mut Receipts, block: &PreparedBlock) -> Vec<u8> {
        receipts.list(block, &self.executed.outcomes, &self.roots)
    }

    /// What it changed, as block `number`.
    pub(crate) fn changes(&self, number: u64) -> BlockChanges {
        let Executed { steps, changes, .. } = &self.executed;
        BlockChanges::with_lost(number, steps.iter().chain([changes]), &self.lost)
    }

    /// What became of transactions that were executed before their turn.
    pub fn tally(&self) -> &Tally {
        &self.executed.tally
    }
}

/// What the stages keep: the state behind the last block that was executed, and the tries behind
/// the last one that has a root.
pub(crate) struct Execution<'c> {
    spec: &'c ChainSpec,
    /// Others read it between the chunks that are executed.
    state: RwLock<State>,
    tries: Tries,
    keeping: Keeping,
    hasher: ManyKeccak,
    /// Blocks of which only the last one's state root is compared.
    root_every: usize,
    /// What is kept of what blocks change.
    log: LogValues,
    machine: MachineOptions,
    /// Most blocks whose roots are made together.
    root_group: usize,
    pace: Arc<Pace>,
    speculation: Speculation,
    /// Of a state on disk, what blocks name is read together.
    prefetch: bool,
    /// And what calls are expected to read.
    history: Option<Arc<History>>,
    /// And what heavy transactions come to in dry runs.
    dry: Option<Account>,
    inline: Inline,
}

/// What is executed before its turn, and how it went.
struct Speculation {
    which: Speculate,
    account: Account,
}

/// What does not have a thread of its own but waits for its turn behind what is before it.
#[derive(Clone, Copy)]
struct Inline {
    /// Everything before the execution.
    senders: bool,
    /// The roots, behind the execution.
    root: bool,
    /// The receipts, behind the roots.
    receipts: bool,
}

impl<'c> Execution<'c> {
    /// The state that the chain begins with, or that behind the last block of the store; none at
    /// other levels, and when asked to stop.
    pub fn begin(options: &'c Options, sink: &mut dyn BlockSink) -> Result<Option<Self>, Error> {
        if options.level < Level::Execution {
            return Ok(None);
        }
        let spec = &*options.spec;
        let settings = &options.settings;
        let (mut keeping, disk) =
            Keeping::begin(settings, options.threads, sink.executed().as_deref())?;
        let hashers = settings.trie_hashers();
        let tries = match (disk, settings.state_trie) {
            (Some(disk), _) => Tries::on_disk(disk, hashers),
            (None, TrieDesign::Arena) => Tries::arena_with(hashers).map_err(|e| unusable(0, &e))?,
            (None, TrieDesign::Pointers) => Tries::pointers(),
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
        keeping.resume(stored.as_deref());
        let hasher = settings.hash.hasher();
        let (state, tries) = replay.into_parts();
        let log = if stored.is_some() { settings.log } else { LogValues::None };
        let (root_every, root_group) = match tries.disk() {
            // there each block has a root of its own
            Some(_) => (1, 1),
            None => (settings.root_every.blocks(), settings.root_group.blocks()),
        };
        let inline = Inline {
            senders: settings.senders == SenderOrder::Inline,
            root: settings.root == RootOrder::Inline,
            receipts: settings.receipts == ReceiptOrder::Inline,
        };
        // one thread alone would gain nothing, and nothing stands before its turn behind the link
        let is_serial = settings.stages == StageOrder::Serial;
        let alone = is_serial || options.threads < 2 || inline.senders;
        let which = if alone { Speculate::Off } else { settings.speculate };
        let runs_dry = settings.prefetch == Prefetch::DryRuns;
        let learns = runs_dry || settings.prefetch == Prefetch::History;
        Ok(Some(Self {
            spec,
            state: RwLock::new(state),
            tries,
            keeping,
            hasher,
            root_every,
            root_group,
            log,
            machine: settings.machine(),
            pace: Arc::new(Pace::new(root_every, chunk(options).blocks)),
            speculation: Speculation { which, account: Account::new(options.threads) },
            // nothing stands before its turn behind the link
            prefetch: settings.prefetch != Prefetch::Off && !inline.senders,
            history: (learns && !inline.senders).then(Arc::default),
            dry: (runs_dry && !inline.senders).then(|| Account::new(options.threads)),
            inline,
        }))
    }

    /// How many blocks to read at a time.
    pub fn pace(&self) -> Arc<Pace> {
        Arc::clone(&self.pace)
    }

    /// Adds the link, which comes first, and the stages of execution, where there is one.
    pub fn stages<'a>(
        execution: &'a mut Option<Self>,
        stages: Stages<'a, Batch, Error>,
        link: impl FnMut(&mut Batch) + Send + 'a,
    ) -> Stages<'a, Batch, Error> {
        let Some(execution) = execution else { return serial(stages, "link", link) };
        let together = (execution.root_every, execution.root_group);
        let Self { spec, tries, keeping, hasher, log, inline, .. } = execution;
        let (spec, hasher, log, inline) = (*spec, *hasher, *log, *inline);
        let (state, machine) = (&execution.state, execution.machine);
        let dry = execution.dry.as_ref().map(|account| (account, spec, machine));
        let (pace, speculation) = (&*execution.pace, &execution.speculation);
        let disk = tries.disk().filter(|_| execution.prefetch).cloned();
        let history = execution.history.as_ref().filter(|_| disk.is_some());
        let (mut executing, mut rooting) = (true, true);
        let receipts = move |batch: &mut Batch| {
            check_receipts(hasher, batch);
            make_records(log, batch);
        };
        let mut root = move |batch: &mut Batch| -> Result<Flow, Error> {
            rooting = rooting && root_chunk(tries, together, batch);
            let flow = if rooting { keeping.after(tries, batch)? } else { Flow::Continue };
            if inline.receipts {
                receipts(batch);
            }
            Ok(flow)
        };
        let (stages, mut before) = match inline.senders {
            false => (serial(stages, "link", link), None),
            true => (stages, Some(link)),
        };
        let stages = prefetching(stages, disk, history.map(|history| &**history), hasher, dry);
        let stages = match speculation.which {
            Speculate::Off => stages,
            which => stages.parallel("speculate", move |batch| {
                let clock = Instant::now();
                let blocks = &batch.content.prepared[batch.new_blocks()];
                let (which, on) =
                    ((which, &speculation.account), (state, &batch.speculated.foreseen));
                let tried = speculate(which, spec, on, (machine, hasher), blocks);
                batch.times.speculation = clock.elapsed();
                (batch.speculated.ahead, batch.speculated.hashing) = (tried.ahead, tried.hashing);
            }),
        };
        let mut execute = move |batch: &mut Batch| {
            if let Some(link) = &mut before {
                link(batch);
            }
            // a panic ends the run elsewhere
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            state.turn();
            let foreseen = teach(&mut state, std::mem::take(&mut batch.speculated.foreseen));
            let evm = Evm::new(&mut state, spec.chain_id).with(machine);
            let evm = evm.told(history.cloned(), &foreseen);
            executing = executing && execute_chunk(spec, evm, batch);
            let busy: Duration = batch.executed.blocks.iter().map(|done| done.busy[0]).sum();
            let (count, hashing) = (batch.executed.blocks.len(), batch.speculated.hashing);
            pace.took(count, busy + batch.times.speculation, hashing);
            settle(&speculation.account, batch);
        };
        let stages = match inline.root {
            false => serial(stages, "execute", execute).serial("root", root),
            true => stages.serial("execute", move |batch| {
                execute(batch);
                root(batch)
            }),
        };
        if inline.receipts { stages } else { stages.parallel("receipts", receipts) }
    }
}

/// Accounts for what was executed of the new blocks before its turn.
fn settle(account: &Account, batch: &Batch) {
    for (i, done) in batch.new_blocks().zip(&batch.executed.blocks) {
        account.settle(&done.executed.tally, batch.content.prepared[i].header.gas_used);
    }
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

/// Executes the new blocks of a chunk. False when one was not executed to its end: then the state
/// is that of no block, and nothing more can be executed.
fn execute_chunk(spec: &ChainSpec, mut evm: Evm<'_>, batch: &mut Batch) -> bool {
    let range = batch.new_blocks();
    batch.executed.blocks.clear();
    let mut ahead = std::mem::take(&mut batch.speculated.ahead).into_iter();
    for i in range {
        evm.expect(ahead.next().unwrap_or_default());
        let mut done = ExecutedBlock::default();
        let block = &batch.content.prepared[i];
        let clock = Instant::now();
        // the genesis block is what it is
        let outcome = match block.header.number {
            0 => Ok(()),
            _ => execute::execute(spec, &mut evm, block, &mut done.executed),
        };
        if let Err(error) = outcome {
            batch.refuse(i, Part::Body, cause(error));
            return false;
        }
        done.busy[0] = clock.elapsed();
        batch.executed.blocks.push(done);
    }
    batch.speculated.foresight = evm.foresight();
    true
}

/// Compares receipts roots and blooms.
fn check_receipts(hasher: ManyKeccak, batch: &mut Batch) {
    let mut receipts = Receipts::new(hasher);
    let mut failure = None;
    let range = batch.new_blocks();
    for (i, done) in range.zip(&mut batch.executed.blocks) {
        let block = &batch.content.prepared[i];
        if block.header.number == 0 {
            continue;
        }
        let clock = Instant::now();
        if let Err(violation) = receipts.verify(block, &done.executed.outcomes, &done.roots) {
            failure = Some((i, violation));
            break;
        }
        done.busy[2] = clock.elapsed();
    }
    if let Some((i, violation)) = failure {
        batch.refuse(i, Part::Header, Cause::Rule(violation));
    }
}

fn cause(error: ExecutionError) -> Cause {
    match error {
        ExecutionError::Rule(violation) => Cause::Rule(violation),
        ExecutionError::State(StateError::Disk(error)) => Cause::State(error),
        ExecutionError::State(error) => Cause::Rule(of_state(&error)),
    }
}

fn of_state(error: &StateError) -> Violation {
    Violation::new(Rule::ExecutionRules, "a state that can be kept whole", error)
}

/// Makes the records of the log, of blocks that may yet be refused: these are not written.
fn make_records(log: LogValues, batch: &mut Batch) {
    if log == LogValues::None {
        return;
    }
    let numbers: Vec<u64> = batch.new_blocks().map(|i| batch.blocks.number(i)).collect();
    for (number, done) in numbers.into_iter().zip(&mut batch.executed.blocks) {
        // the genesis block was the first record
        if number > 0 {
            let clock = Instant::now();
            let changes = done.changes(number);
            changes.encode(log == LogValues::Both, &mut done.record);
            done.busy[3] = clock.elapsed();
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
