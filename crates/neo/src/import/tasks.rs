//! Tasks after the execution of a batch: state roots, entries of blocks and transactions,
//! application logs and transfers.
//!
//! neo-go stores a block and processes the results of its transactions concurrently with their
//! execution, each task with its own cache, which the commit merges (commit 49be753850,
//! `Blockchain.storeBlock`). The option `tasks` chooses the number of tasks. neo-go computes state
//! roots in its main task; with `roots=many-blocks` they are one more task, for many blocks at a
//! time. No task reads the results of another, so they run in any order.

use super::Batch;
use super::columns::{Bytes, Columns};
use crate::error::Error;
use crate::execute::chain_view::VmState;
use crate::fault::Cause;
use crate::ledger::{CachedTable, Ledger, Position, TableCache, conflict_key};
use crate::logs::{Tokens, application, entries};
use crate::rule::{Rule, Violation};
use crate::settings::Settings;
use crate::state::{Change, StateTrie};
use crate::types::{Attribute, UInt256};
use blockmill_pipeline::{Flow, Task};
use std::sync::{Mutex, MutexGuard, PoisonError};

blockmill_pipeline::named_option! {
    /// How the work on a block is distributed over tasks: its execution, storing blocks and
    /// transactions, processing results and transfers.
    ///
    /// neo-go, commit 49be753850, `Blockchain.storeBlock`. Each task has its own cache. With
    /// `roots=many-blocks` state roots are one more task.
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
    /// When state roots are computed.
    pub enum Roots: "roots", level Execution {
        /// For each block before the next one is executed, as neo-go does.
        EachBlock = "each-block",
        /// For many blocks together, in a task after their execution.
        ManyBlocks = "many-blocks",
    }
}

/// A step after the execution of a batch.
pub(crate) type FollowUp = Box<dyn FnMut(&Batch) -> Result<(), Error> + Send>;

/// The results of the tasks for a batch.
#[derive(Default)]
pub(crate) struct TaskResults {
    /// The state root after each block.
    roots: Mutex<Vec<UInt256>>,
    columns: Mutex<Columns>,
    /// The application log of each block.
    logs: Mutex<Bytes>,
    /// Entries of tables: those of blocks, and those of results.
    caches: [Mutex<TableCache>; 2],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TaskResults {
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

    /// The caches, in the order in which the commit merges them.
    pub fn caches(&self) -> [MutexGuard<'_, TableCache>; 2] {
        [lock(&self.caches[0]), lock(&self.caches[1])]
    }

    /// Removes the entries of an earlier batch.
    pub fn clear(&self) {
        self.caches().iter_mut().for_each(|cache| cache.clear());
    }
}

/// The steps that run in the execution stage, and the tasks after it.
pub(crate) struct FollowUps<'a> {
    pub inline: Vec<FollowUp>,
    pub tasks: Vec<Task<'a, Batch, Error>>,
}

/// Distributes the steps over stage and tasks as the settings say.
///
/// # Errors
/// Returns [`Error::StoredState`] if contract storage does not have the committed root, and
/// [`Error::Store`] if it cannot be read.
pub(crate) fn plan<'a>(settings: &Settings, ledger: &Ledger) -> Result<FollowUps<'a>, Error> {
    let (mut inline, mut tasks) = (vec![], vec![]);
    let roots: FollowUp = roots(ledger.trie(settings.hashes.hasher())?, settings.roots);
    let blocks: FollowUp = blocks();
    let results: FollowUp = results(Tokens::new(ledger.storage()));
    match settings.roots {
        Roots::EachBlock => inline.push(roots),
        Roots::ManyBlocks => tasks.push(task("state roots", vec![roots])),
    }
    match settings.tasks {
        Tasks::One => inline.extend([blocks, results]),
        Tasks::Two => tasks.push(task("blocks and results", vec![blocks, results])),
        Tasks::Three => {
            tasks.push(task("blocks", vec![blocks]));
            tasks.push(task("results", vec![results]));
        }
    }
    Ok(FollowUps { inline, tasks })
}

fn task<'a>(name: &'static str, mut each: Vec<FollowUp>) -> Task<'a, Batch, Error> {
    Task::new(name, move |batch: &Batch| {
        each.iter_mut().try_for_each(|follow| follow(batch))?;
        Ok(Flow::Continue)
    })
}

/// Computes the state roots: block by block as neo-go does, or for all blocks of a batch at once.
fn roots(mut trie: StateTrie, when: Roots) -> FollowUp {
    Box::new(move |batch: &Batch| {
        let changes: Vec<&[Change]> =
            batch.executed.iter().map(|executed| &executed.changes[..]).collect();
        let roots = match when {
            Roots::ManyBlocks => trie.apply_group(&changes)?,
            Roots::EachBlock => {
                changes.iter().map(|changes| trie.apply(changes)).collect::<Result<_, _>>()?
            }
        };
        *batch.results.roots() = roots;
        Ok(())
    })
}

/// Prepares blocks and transactions for the store: columns, positions of transactions, conflicts.
fn blocks() -> FollowUp {
    Box::new(move |batch: &Batch| {
        batch.results.columns().fill(batch.blocks());
        let mut cache = lock(&batch.results.caches[0]);
        for (number, (block, executed)) in (0..).zip(batch.blocks().iter().zip(&batch.executed)) {
            let height = block.header.index;
            for (index, transaction) in block.transactions().enumerate() {
                let execution = executed.executions.get(index + 1);
                let failed = execution.is_some_and(|each| each.fault.is_some());
                let state = if failed { VmState::Fault } else { VmState::Halt };
                let position = Position { height, index: index as u32, state };
                let place = (number, CachedTable::Transactions);
                cache.put(place, &transaction.hash().0, &position.encode());
                for attribute in transaction.attributes() {
                    let Attribute::Conflicts(other) = attribute else { continue };
                    for signer in transaction.signers() {
                        let key = conflict_key(other, signer.account());
                        cache.put((number, CachedTable::Conflicts), &key, &height.to_le_bytes());
                    }
                }
            }
        }
        Ok(())
    })
}

/// Processes results: application logs, and transfers by account.
fn results(mut tokens: Tokens) -> FollowUp {
    Box::new(move |batch: &Batch| {
        let mut logs = batch.results.logs();
        logs.clear();
        let mut cache = lock(&batch.results.caches[1]);
        for (number, (block, executed)) in (0..).zip(batch.blocks().iter().zip(&batch.executed)) {
            let height = block.header.index;
            if !logs.push_with(|log| application::encode(&executed.executions, log)) {
                return Err(Error::LongLog(height));
            }
            let movements = tokens.transfers(executed)?;
            entries(height, movements, |kept, key, value| cache.put((number, kept), key, value));
        }
        Ok(())
    })
}

/// Checks the state roots in headers: each is the root after the parent. `before` is the root
/// before the batch; it is set to the root after it.
pub(crate) fn check_roots(batch: &mut Batch, before: &mut UInt256) {
    let roots = std::mem::take(&mut *batch.results.roots());
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
    *batch.results.roots() = roots;
}
