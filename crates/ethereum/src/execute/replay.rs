//! Blocks one after the other on one thread, each with every check: the plain way, for single
//! blocks, public tests, and as the oracle of the pipeline.

use super::receipts::Receipts;
use super::{Evm, Executed, ExecutionError, PreparedBlock, execute};
use crate::Hash;
use crate::error::{Rule, Violation};
use crate::params::ChainSpec;
use crate::state::{Changes, Lost, State, StateError, Tries};
use blockmill_hashes::ManyKeccak;
use blockmill_verdict::Hex;

/// What a block changed.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// In steps.
    pub steps: Vec<Changes>,
    /// What accounts lost of a state on disk as a whole.
    pub lost: Vec<Lost>,
}

/// A state, its tries, and what is needed to go on.
pub struct Replay<'c> {
    pub(super) spec: &'c ChainSpec,
    /// The state behind the last block.
    pub state: State,
    pub(super) tries: Tries,
    pub(super) receipts: Receipts,
}

impl<'c> Replay<'c> {
    /// The state that a chain begins with; `tries` are without accounts. Where they are those of a
    /// state on disk, it is put there.
    ///
    /// # Errors
    /// Accounts that do not decode, or that are not those of the genesis header; those of the disk.
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
                let mut state = State::of_accounts(&accounts)?;
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

    /// Any state, with its tries.
    pub fn new(spec: &'c ChainSpec, state: State, tries: Tries) -> Self {
        Self { spec, state, tries, receipts: Receipts::new(ManyKeccak::detect()) }
    }

    /// Executes a block and compares everything that its header says; what it changed.
    ///
    /// # Errors
    /// The rule that is broken, or what is not known of the state; then the state is again the one
    /// before the block, unless that is not wholly known.
    pub fn execute(&mut self, block: &PreparedBlock) -> Result<Replayed, ExecutionError> {
        let before = self.state.ancestors.clone();
        let mut executed = Executed::default();
        let mut evm = Evm::new(&mut self.state, self.spec.chain_id);
        let done = execute(self.spec, &mut evm, block, &mut executed);
        drop(evm);
        if let Err(error) = done {
            executed.changes = self.state.take_changes();
            let changes: Vec<_> = executed.steps.into_iter().chain([executed.changes]).collect();
            changes.iter().rev().for_each(|changes| self.state.undo(changes));
            self.state.ancestors = before;
            return Err(error);
        }
        let outcomes = executed.outcomes;
        let lost = self.tries.lost_by(executed.steps.iter().chain([&executed.changes]))?;
        let mut roots = vec![];
        for step in &executed.steps {
            roots.push(self.tries.apply(step)?);
        }
        let root = self.tries.apply(&executed.changes)?;
        let verdict = self
            .receipts
            .verify(block, &outcomes, &roots)
            .and_then(|()| verify_state_root(&block.header.state_root, &root));
        let changes: Vec<_> = executed.steps.into_iter().chain([executed.changes]).collect();
        if let Err(violation) = verdict {
            self.undo(&changes)?;
            self.state.ancestors = before;
            return Err(violation.into());
        }
        self.state.turn();
        Ok(Replayed { steps: changes, lost })
    }

    /// Takes back what the last block changed. The hashes of its ancestors are for the caller.
    ///
    /// # Errors
    /// A trie node that is not known.
    pub fn undo(&mut self, changes: &[Changes]) -> Result<(), StateError> {
        for changes in changes.iter().rev() {
            self.state.undo(changes);
            self.tries.apply(&changes.reversed())?;
        }
        Ok(())
    }

    /// Does again what was taken back.
    ///
    /// # Errors
    /// A trie node that is not known.
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
    /// None, as long as no error came before.
    pub fn root(&mut self) -> Result<Hash, StateError> {
        self.tries.root()
    }
}

/// The state root is that of the state behind the block (Yellow Paper 4.3.2).
///
/// # Errors
/// The rule.
pub fn verify_state_root(expected: &Hash, found: &Hash) -> Result<(), Violation> {
    if expected != found {
        return Err(Violation::new(Rule::StateRoot, Hex(expected), Hex(found)));
    }
    Ok(())
}
