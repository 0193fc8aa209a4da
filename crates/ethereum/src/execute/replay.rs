//! Sequential execution on one thread with all checks: for single blocks and public tests, and as
//! the oracle of the pipeline.

use super::access_list::verify_access_list;
use super::receipts::Receipts;
use super::{Evm, Executed, ExecutionError, PreparedBlock, StepLog, execute};
use crate::Hash;
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::state::{Changes, ClearedStorage, State, StateError, Tries};
use blockmill_hashes::ManyKeccak;
use blockmill_verdict::Hex;

/// The changes of a block.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Changes in steps: of each transaction before Byzantium, else of the whole block.
    pub steps: Vec<Changes>,
    /// Storage on disk that accounts lost as a whole.
    pub cleared: Vec<ClearedStorage>,
}

/// A state with its tries, on which blocks are executed.
pub struct Replay<'c> {
    pub(super) spec: &'c ChainSpec,
    /// The state after the last block.
    pub state: State,
    pub(super) tries: Tries,
    pub(super) receipts: Receipts,
    /// Where the instructions of the blocks are written; off by default.
    pub step_log: StepLog,
}

impl<'c> Replay<'c> {
    /// The genesis state; `tries` are empty. If they are of a state on disk, the accounts are
    /// written there.
    ///
    /// # Errors
    /// [`Rule::Genesis`] for accounts that do not decode or contradict the genesis header;
    /// [`StateError`] if the state cannot be written.
    pub fn from_genesis(spec: &'c ChainSpec, mut tries: Tries) -> Result<Self, ExecutionError> {
        let accounts = spec
            .genesis
            .accounts()
            .map_err(|error| Violation::new(Rule::Genesis, "accounts of the first block", error))?;
        let (mut state, root) = match tries.disk().cloned() {
            Some(disk) => {
                let root = disk.write().begin(&accounts)?;
                (State::on_disk(disk), root)
            }
            None => {
                let mut state = State::from_accounts(&accounts)?;
                let root = tries.apply(&state.take_changes())?;
                (state, root)
            }
        };
        let expected = &spec.genesis.header.state_root;
        if root != *expected {
            return Err(Violation::new(Rule::Genesis, Hex(expected), Hex(&root)).into());
        }
        state.ancestors.push(spec.genesis.header.number, spec.genesis.hash);
        Ok(Self::new(spec, state, tries))
    }

    /// Any state with its tries.
    pub fn new(spec: &'c ChainSpec, state: State, tries: Tries) -> Self {
        let receipts = Receipts::new(ManyKeccak::detect());
        Self { spec, state, tries, receipts, step_log: StepLog::default() }
    }

    /// Executes a block, compares the result with its header, and returns its changes.
    ///
    /// # Errors
    /// [`ExecutionError::Rule`] for an invalid block, [`ExecutionError::State`] if a part of the
    /// state is not known. The changes are undone, unless the state is not known as a whole.
    pub fn execute(&mut self, block: &PreparedBlock) -> Result<Replayed, ExecutionError> {
        let before = self.state.ancestors.clone();
        let mut executed = Executed::default();
        let log = std::mem::take(&mut self.step_log);
        let mut evm = Evm::new(&mut self.state, self.spec.chain_id).with_step_log(log);
        let done = execute(self.spec, &mut evm, block, &mut executed);
        self.step_log = evm.take_step_log();
        drop(evm);
        if let Err(error) = done {
            executed.changes = self.state.take_changes();
            let changes: Vec<_> = executed.steps.into_iter().chain([executed.changes]).collect();
            changes.iter().rev().for_each(|changes| self.state.undo(changes));
            self.state.ancestors = before;
            return Err(error);
        }
        let (outcomes, list) = (executed.outcomes, executed.access_list);
        let cleared =
            self.tries.cleared_storage(executed.steps.iter().chain([&executed.changes]))?;
        let mut roots = vec![];
        for step in &executed.steps {
            roots.push(self.tries.apply(step)?);
        }
        let root = self.tries.apply(&executed.changes)?;
        let verdict = self
            .receipts
            .verify(block, &outcomes, &roots)
            .and_then(|()| verify_access_list(block, list.as_ref(), None))
            .and_then(|()| verify_state_root(&block.header.state_root, &root));
        let changes: Vec<_> = executed.steps.into_iter().chain([executed.changes]).collect();
        if let Err(violation) = verdict {
            self.undo(&changes)?;
            self.state.ancestors = before;
            return Err(violation.into());
        }
        self.state.advance_generation();
        Ok(Replayed { steps: changes, cleared })
    }

    /// Undoes the changes of the last block. The caller resets the hashes of ancestors.
    ///
    /// # Errors
    /// [`StateError`] if a trie node is not known or cannot be read.
    pub fn undo(&mut self, changes: &[Changes]) -> Result<(), StateError> {
        for changes in changes.iter().rev() {
            self.state.undo(changes);
            self.tries.apply(&changes.reversed())?;
        }
        Ok(())
    }

    /// Redoes changes that were undone.
    ///
    /// # Errors
    /// [`StateError`] if a trie node is not known or cannot be read.
    pub fn redo(&mut self, changes: &[Changes]) -> Result<(), StateError> {
        for changes in changes {
            self.state.redo(changes);
            self.tries.apply(changes)?;
        }
        Ok(())
    }

    /// The state and its tries.
    pub fn into_parts(self) -> (State, Tries) {
        (self.state, self.tries)
    }

    /// The state root.
    ///
    /// # Errors
    /// [`StateError`] after an earlier error.
    pub fn root(&mut self) -> Result<Hash, StateError> {
        self.tries.root()
    }
}

/// Compares the state root after a block with its header (Yellow Paper 4.3.2).
///
/// # Errors
/// [`Rule::StateRoot`] if they differ.
pub fn verify_state_root(expected: &Hash, found: &Hash) -> Result<(), Violation> {
    if expected != found {
        return Err(Violation::new(Rule::StateRoot, Hex(expected), Hex(found)));
    }
    Ok(())
}
