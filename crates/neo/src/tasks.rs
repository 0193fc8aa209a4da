//! What follows the execution of a batch's blocks: state roots, what the store takes of blocks and
//! transactions, application logs and transfers.
//!
//! neo-go stores a block, and processes the results of its transactions, beside their execution,
//! each with a cache of its own that the commit joins (commit 49be753850, `Blockchain.storeBlock`).
//! The options `tasks` and `caches` choose that, or less of it. Its main task computes the state
//! roots, too; with `roots=behind` they are a task like the others, and of many blocks at a time.
//! No task sees the changes of another, so they may run in any order.

mod cache;

pub(crate) use cache::Cache;
pub use cache::Kept;

use crate::batch::Batch;
use crate::columns::{Bytes, Columns};
use crate::error::{Rule, Violation};
use crate::execute::past::Ended;
use crate::fault::{Cause, Error};
use crate::ledger::{Ledger, Position, conflict_key};
use crate::logs::{Tokens, application, entries};
use crate::settings::Settings;
use crate::state::{Change, StateTrie};
use crate::types::{Attribute, UInt256};
use blockmill_pipeline::{Flow, Task};
use std::sync::{Mutex, MutexGuard, PoisonError};

blockmill_pipeline::named_option! {
    /// Which tasks process a block: its execution, storing blocks and transactions, and processing
    /// results and transfers.
    ///
    /// neo-go, commit 49be753850, `Blockchain.storeBlock`. State roots are one more task with
    /// `roots=behind`.
    pub enum Tasks: "tasks", level Execution {
        /// One task does everything.
        One = "1",
        /// A second task stores blocks and processes results.
        Two = "2",
        /// One more task stores blocks, another one processes results.
        Three = "3",
    }
}

blockmill_pipeline::named_option! {
    /// Which cache the tasks put entries into.
    ///
    /// neo-go, commit 49be753850, `Blockchain.storeBlock`.
    pub enum Caches: "caches", level Execution {
        /// One cache, which is locked for each entry.
        Shared = "shared",
        /// A cache for each task; the commit joins them.
        Separate = "separate",
    }
}

blockmill_pipeline::named_option! {
    /// When state roots are computed.
    pub enum Roots: "roots", level Execution {
        /// For each block before the next one is executed, as neo-go does.
        EachBlock = "with",
        /// For many blocks together, in a task after their execution.
        ManyBlocks = "behind",
    }
}

/// One of the things that follow.
pub(crate) type Follow = Box<dyn FnMut(&Batch) -> Result<(), Error> + Send>;

/// What the tasks leave in a batch.
#[derive(Default)]
pub(crate) struct Left {
    /// The state root after each block.
    roots: Mutex<Vec<UInt256>>,
    columns: Mutex<Columns>,
    /// The application log of each block.
    logs: Mutex<Bytes>,
    /// Entries of tables: those of blocks, and of results; or all in the first.
    caches: [Mutex<Cache>; 2],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Left {
    /// The state root after each block.
    pub fn roots(&self) -> MutexGuard<'_, Vec<UInt256>> {
        lock(&self.roots)
    }

    /// The columns of the blocks.
    pub fn columns(&self) -> MutexGuard<'_, Columns> {
        lock(&self.columns)
    }

    /// The application log of each block.
    pub fn logs(&self) -> MutexGuard<'_, Bytes> {
        lock(&self.logs)
    }

    /// The caches, to be joined in this order.
    pub fn caches(&self) -> [MutexGuard<'_, Cache>; 2] {
        [lock(&self.caches[0]), lock(&self.caches[1])]
    }

    /// Nothing is left of an earlier batch.
    pub fn clear(&self) {
        self.caches().iter_mut().for_each(|cache| cache.clear());
    }
}

/// Puts entries into a cache: locked once, or for each.
enum Putter<'a> {
    Own(MutexGuard<'a, Cache>),
    Shared(&'a Mutex<Cache>),
}

impl<'a> Putter<'a> {
    fn new(left: &'a Left, own: usize, caches: Caches) -> Self {
        match caches {
            Caches::Separate => Self::Own(lock(&left.caches[own])),
            Caches::Shared => Self::Shared(&left.caches[0]),
        }
    }

    fn put(&mut self, (block, kept): (u32, Kept), key: &[u8], value: &[u8]) {
        match self {
            Self::Own(cache) => cache.put((block, kept), key, value),
            Self::Shared(cache) => lock(cache).put((block, kept), key, value),
        }
    }
}

/// What runs in the stage that executes, and the tasks that have a batch after it.
pub(crate) struct Following<'a> {
    pub with: Vec<Follow>,
    pub after: Vec<Task<'a, Batch, Error>>,
}

/// Lays the work out as the options say.
pub(crate) fn lay_out<'a>(settings: &Settings, ledger: &Ledger) -> Result<Following<'a>, Error> {
    let (mut with, mut after) = (vec![], vec![]);
    let roots: Follow = roots(ledger.trie(settings.hashes.hasher())?, settings.roots);
    let blocks: Follow = blocks(settings.caches);
    let results: Follow = results(Tokens::new(ledger.storage()), settings.caches);
    match settings.roots {
        Roots::EachBlock => with.push(roots),
        Roots::ManyBlocks => after.push(task("state roots", vec![roots])),
    }
    match settings.tasks {
        Tasks::One => with.extend([blocks, results]),
        Tasks::Two => after.push(task("blocks and results", vec![blocks, results])),
        Tasks::Three => {
            after.push(task("blocks", vec![blocks]));
            after.push(task("results", vec![results]));
        }
    }
    Ok(Following { with, after })
}

fn task<'a>(name: &'static str, mut each: Vec<Follow>) -> Task<'a, Batch, Error> {
    Task::new(name, move |batch: &Batch| {
        each.iter_mut().try_for_each(|follow| follow(batch))?;
        Ok(Flow::Continue)
    })
}

/// Computes the state roots: block by block as neo-go does, or of all blocks of the batch together.
fn roots(mut trie: StateTrie, when: Roots) -> Follow {
    Box::new(move |batch: &Batch| {
        let changes: Vec<&[Change]> =
            batch.executed.iter().map(|executed| &executed.changes[..]).collect();
        let roots = match when {
            Roots::ManyBlocks => trie.apply_group(&changes)?,
            Roots::EachBlock => {
                changes.iter().map(|changes| trie.apply(changes)).collect::<Result<_, _>>()?
            }
        };
        *batch.left.roots() = roots;
        Ok(())
    })
}

/// Stores blocks and transactions: columns, where transactions are, what they conflict with.
fn blocks(caches: Caches) -> Follow {
    Box::new(move |batch: &Batch| {
        batch.left.columns().fill(batch.blocks());
        let mut putter = Putter::new(&batch.left, 0, caches);
        for (number, (block, executed)) in (0..).zip(batch.blocks().iter().zip(&batch.executed)) {
            let height = block.header.index;
            for (index, transaction) in block.transactions().enumerate() {
                let execution = executed.executions.get(index + 1);
                let failed = execution.is_some_and(|each| each.fault.is_some());
                let ended = if failed { Ended::Fault } else { Ended::Halt };
                let position = Position { height, index: index as u32, ended };
                let place = (number, Kept::Transactions);
                putter.put(place, &transaction.hash().0, &position.encode());
                for attribute in transaction.attributes() {
                    let Attribute::Conflicts(other) = attribute else { continue };
                    for signer in transaction.signers() {
                        let key = conflict_key(other, signer.account());
                        putter.put((number, Kept::Conflicts), &key, &height.to_le_bytes());
                    }
                }
            }
        }
        Ok(())
    })
}

/// Processes results: application logs, transfers by account.
fn results(mut tokens: Tokens, caches: Caches) -> Follow {
    Box::new(move |batch: &Batch| {
        let mut logs = batch.left.logs();
        logs.clear();
        let mut putter = Putter::new(&batch.left, 1, caches);
        for (number, (block, executed)) in (0..).zip(batch.blocks().iter().zip(&batch.executed)) {
            let height = block.header.index;
            if !logs.push_with(|log| application::encode(&executed.executions, log)) {
                return Err(Error::LongLog(height));
            }
            let told = tokens.transfers(executed)?;
            entries(height, told, |kept, key, value| putter.put((number, kept), key, value));
        }
        Ok(())
    })
}

/// Headers that carry state roots carry those of the blocks before them. `before` is the root
/// before the batch; the root after it takes its place.
pub(crate) fn check_roots(batch: &mut Batch, before: &mut UInt256) {
    let roots = std::mem::take(&mut *batch.left.roots());
    let mut wrong = None;
    for (index, (block, root)) in batch.blocks().iter().zip(&roots).enumerate() {
        let found = block.header.previous_state_root;
        if let Some(found) = found.filter(|found| found != before) {
            let violation = Violation::new(Rule::StateRoot, *before, found);
            wrong = Some((index, block.hash, violation));
            break;
        }
        *before = *root;
    }
    if let Some((index, hash, violation)) = wrong {
        batch.fault = Some(batch.fault_of(index, Some(hash), Cause::Rule(violation)));
        batch.cut(index);
    }
    *batch.left.roots() = roots;
}
