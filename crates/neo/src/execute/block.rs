//! The execution of a block.

use super::{
    engine::{
        Chain, Contracts, Engine, Execution, Shared, SharedContext, Trigger, WitnessError, flags,
    },
    interop::syscalls::number,
    vm::{Rules, Script, Vm, opcode},
};
use crate::{
    state::{Change, State, Value},
    types::{Block, Transaction, UInt160, Witness},
};
use std::sync::Arc;

/// A block that cannot be executed. Valid blocks always can.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// OnPersist or PostPersist failed.
    #[error("block {height}: {} failed: {fault}", trigger.name())]
    System {
        /// Height of the block.
        height: u32,
        /// OnPersist or PostPersist.
        trigger: Trigger,
        /// The fault.
        fault: String,
    },
    /// The state could not be read.
    #[error("block {height}: {source}")]
    State {
        /// Height of the block.
        height: u32,
        /// The fault.
        source: blockmill_store::Error,
    },
}

/// The results of executing a block.
#[derive(Debug)]
pub struct Executed {
    /// Its executions: OnPersist, the transactions in order, PostPersist.
    pub executions: Vec<Execution>,
    /// Its changes, in key order.
    pub changes: Vec<Change>,
    /// The replaced values of these keys, if the state records them.
    pub before: Option<Vec<Option<Value>>>,
}

/// Executes blocks in order. It can move between threads; the machine cannot, because its items
/// have non-atomic reference counts. So each caller creates a machine for its batch.
pub struct Executor {
    contracts: Contracts,
    on_persist: Arc<Script>,
    post_persist: Arc<Script>,
}

impl Default for Executor {
    fn default() -> Self {
        let script = |name: &str| {
            let mut script = vec![opcode::SYSCALL];
            script.extend_from_slice(&number(name).to_le_bytes());
            let hash = UInt160::of_script(&script).0;
            Arc::new(Script { code: script.into(), hash })
        };
        Self {
            contracts: Contracts::default(),
            on_persist: script("System.Contract.NativeOnPersist"),
            post_persist: script("System.Contract.NativePostPersist"),
        }
    }
}

/// A machine for [`Executor::execute`] and [`Executor::satisfies`].
#[must_use]
pub fn machine() -> Vm {
    Vm::new(Rules { fee_factor: 0, gas_limit: None, gorgon: false })
}

impl Executor {
    /// Executes a block over the state after its parent. Afterwards `state` is the state after the
    /// block.
    ///
    /// # Errors
    ///
    /// Returns [`BlockError::System`] if OnPersist or PostPersist fails, [`BlockError::State`] if
    /// the state cannot be read.
    pub fn execute(
        &mut self,
        vm: &mut Vm,
        chain: &Chain,
        state: &mut State,
        block: &Block,
    ) -> Result<Executed, BlockError> {
        let mut executions = Vec::with_capacity(block.transactions.len() + 2);
        executions.push(self.system(vm, (chain, block), state, Trigger::OnPersist)?);
        for transaction in block.transactions() {
            let contracts = &mut self.contracts;
            let shared = Shared { chain, state: &mut *state, contracts, block };
            let gas = transaction.fields().system_fee.unsigned_abs();
            let trigger = Trigger::Application;
            let mut engine = Engine::new(vm, shared, trigger, Some(transaction), Some(gas));
            // loading the first script never fails
            let _ = engine.load_transaction(transaction);
            executions.push(engine.run());
        }
        executions.push(self.system(vm, (chain, block), state, Trigger::PostPersist)?);
        let height = block.header.index;
        let (changes, before) = (state.end_block(), state.before());
        state.failure().map_err(|source| BlockError::State { height, source })?;
        Ok(Executed { executions, changes, before })
    }

    /// Runs the witness of `account` over the state after `before`, the last block, with at most
    /// `gas` in units of 10^-8. Changes are discarded. Returns the consumed gas. The witnesses of a
    /// transaction share `context`. Without a transaction the witness signs the hash of `before`.
    ///
    /// # Errors
    ///
    /// Returns [`WitnessError`] if the witness is invalid.
    pub fn satisfies(
        &mut self,
        vm: &mut Vm,
        (chain, before): (&Chain, &Block),
        state: &mut State,
        (transaction, account, witness): (Option<Transaction<'_>>, UInt160, Witness<'_>),
        (gas, context): (u64, &mut SharedContext),
    ) -> Result<u64, WitnessError> {
        let shared = Shared { chain, state, contracts: &mut self.contracts, block: before };
        let trigger = Trigger::Verification;
        let mut engine = Engine::new(vm, shared, trigger, transaction, Some(gas));
        // the last block counts as stored
        engine.persisted = true;
        engine.satisfy(account, witness, context)
    }

    fn system(
        &mut self,
        vm: &mut Vm,
        (chain, block): (&Chain, &Block),
        state: &mut State,
        trigger: Trigger,
    ) -> Result<Execution, BlockError> {
        let shared = Shared { chain, state, contracts: &mut self.contracts, block };
        let mut engine = Engine::new(vm, shared, trigger, None, None);
        let script = match trigger {
            Trigger::OnPersist => &self.on_persist,
            _ => &self.post_persist,
        };
        // loading the first script never fails
        let _ = engine.load_prepared(Arc::clone(script), flags::ALL, -1, false);
        let execution = engine.run();
        match execution.fault {
            None => Ok(execution),
            Some(fault) => Err(BlockError::System { height: block.header.index, trigger, fault }),
        }
    }
}
