//! The virtual machine: the only module that names `revm`.
//!
//! Traps of `revm`, each of which cost somebody a day:
//!
//! - The static gas of instructions is in a table that does not follow the configuration. The table
//!   is rebuilt when the fork changes.
//! - An `Evm` cannot be sent to another thread. Each chunk of blocks has its own.
//! - A slot's original value is its value before the transaction, not before the block.
//! - The caller removes empty accounts (EIP-161) when it commits a result (`Evm::commit`).

mod authorities;
mod census;
#[cfg(test)]
mod contracts;
mod dry;
mod keccak;
mod options;
mod reads;
mod rules;
mod signatures;
mod speculator;
mod steps;
mod trace;
mod values;
mod view;
mod wide;

pub use authorities::recover_authorities;
pub use census::{Calls, Census, census, instructions, precompiles};
pub use dry::DryRuns;
pub use options::{MachineKeccak, MachineOptions};
pub use reads::Reads;
pub use rules::executes;
pub use speculator::{Progress, Speculation, Speculator, Tally};
pub use trace::PrefetchStats;
pub use values::{Code, Environment, Log, Outcome};
pub use wide::WideTransaction;

use super::block::BlockTerms;
use super::history::{History, Slot};
use super::transaction::{PreparedTransaction, Refusal};
use crate::params::Fork;
use crate::state::{Account, EMPTY_CODE, State, StateError};
use crate::{Address, U256};
use revm::ExecuteEvm;
use revm::context::result::{EVMError, ExecutionResult, InvalidTransaction};
use revm::context::{ContextSetters, ContextTr, TxEnv};
use revm::database_interface::Database;
use revm::handler::{Handler, MainnetHandler};
use revm::primitives::{self, Bytes, TxKind};
use revm::state::{self, AccountInfo, EvmState};
use rules::{Machine, Rules};
use std::sync::Arc;
use trace::AccessTrace;
use view::{View, info_of, owns_nothing};

/// Sender of system calls (EIP-4788).
const SYSTEM: primitives::Address =
    primitives::address!("0xfffffffffffffffffffffffffffffffffffffffe");
/// Gas of a system call (EIP-4788, EIP-2935, EIP-7002, EIP-7251).
const SYSTEM_GAS: u64 = 30_000_000;

/// A virtual machine over a state, for consecutive blocks.
pub struct Evm<'s> {
    machine: Machine<View<'s>>,
    rules: Rules,
    /// Speculations of the block, from the next transaction on.
    speculations: std::vec::IntoIter<Option<Box<Speculation>>>,
    tally: Tally,
    /// Whether the block has fees or a chain id that exceed the machine's integers.
    wide: bool,
}

impl<'s> Evm<'s> {
    /// A machine for the chain with this id.
    pub fn new(state: &'s mut State, chain_id: U256) -> Self {
        Self {
            machine: rules::machine(View::new(state), chain_id),
            rules: Rules::default(),
            speculations: vec![].into_iter(),
            tally: Tally::default(),
            wide: false,
        }
    }

    /// Sets the machine options.
    #[must_use]
    pub fn with_options(mut self, options: MachineOptions) -> Self {
        self.rules.options = options;
        self
    }

    /// Records calls in `history`, and counts which of the `prefetched` slots are read.
    #[must_use]
    pub fn with_history(mut self, history: Option<Arc<History>>, prefetched: &[Slot]) -> Self {
        self.machine.ctx.db_mut().trace = AccessTrace::new(history, prefetched);
        self
    }

    /// How many prefetched slots were read so far, and how many were not.
    pub fn prefetch_stats(&mut self) -> PrefetchStats {
        self.machine.ctx.db_mut().trace.prefetch_stats()
    }

    /// The state.
    pub fn state(&mut self) -> &mut State {
        self.machine.ctx.db_mut().state
    }

    /// Takes the counts of state reads since the last call.
    pub fn take_reads(&mut self) -> Reads {
        std::mem::take(&mut self.machine.ctx.db_mut().reads)
    }

    /// Whether empty accounts are removed when they are touched (EIP-161).
    pub fn clears_empty(&self) -> bool {
        self.rules.fork.is_some_and(|fork| fork >= Fork::SpuriousDragon)
    }

    /// Begins a block. `None` if the machine does not know its fork, or its blob fee exceeds 256
    /// bits.
    pub fn begin(&mut self, terms: &BlockTerms) -> Option<()> {
        let before = self.rules.fork.filter(|_| !self.wide);
        self.begin_wide(terms)?;
        if before != self.rules.fork {
            let is_traced = self.machine.ctx.db_mut().trace.is_on();
            let hashes = is_traced && self.rules.options.keccak != MachineKeccak::Library;
            reads::count(&mut self.machine.instruction, terms.fork, hashes);
        }
        if wide::is_wide(terms, &self.machine.ctx.chain.chain_id) {
            self.widen();
        }
        Some(())
    }

    /// Whether changes stay in the machine's journal until the end of the block: from Byzantium on,
    /// when receipts have no state roots any more.
    fn journals_block(&self) -> bool {
        self.rules.fork.is_some_and(|fork| fork >= Fork::Byzantium)
    }

    /// Sets the speculations of the next block, one entry for each of its transactions.
    pub fn set_speculations(&mut self, speculations: Vec<Option<Box<Speculation>>>) {
        self.speculations = speculations.into_iter();
    }

    /// Takes the counts of committed and aborted speculations since the last call.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Commits a speculation if its read set is valid. `None` if it aborts.
    fn commit_speculation(
        &mut self,
        mut speculation: Box<Speculation>,
        environment: &TxEnv,
    ) -> Result<Option<Outcome>, StateError> {
        // validate against the changes of earlier transactions of the block
        self.commit_block()?;
        let gas = speculation.outcome.gas_used;
        let keeps_reads = self.rules.options.keeps_reads;
        let view = self.machine.ctx.db_mut();
        if keeps_reads {
            speculation.cache_slots(view.state)?;
        }
        let sender = view.basic(environment.caller)?.filter(|sender| pays(sender, environment));
        let Some(sender) = sender.filter(|_| speculation.validate(view) == Ok(true)) else {
            view.storage_only.clear();
            self.tally.aborted += 1;
            self.tally.aborted_gas += gas;
            return Ok(None);
        };
        speculation.pay(&environment.caller.0.0, sender.balance);
        let Speculation { outcome, changed, fee, .. } = *speculation;
        self.commit(changed)?;
        let (beneficiary, clear) = (self.machine.ctx.block().beneficiary, self.clears_empty());
        self.state().credit(&beneficiary.0.0, fee, clear)?;
        self.tally.committed += 1;
        self.tally.committed_gas += gas;
        Ok(Some(outcome))
    }

    /// Executes a transaction. Its changes reach the state at [`Evm::commit_block`] at the latest.
    ///
    /// # Errors
    /// The [`Refusal`] of a transaction that is not valid here, or whose state is not known.
    pub fn transact(&mut self, tx: &PreparedTransaction) -> Result<Outcome, Refusal> {
        let speculation = self.speculations.next().flatten();
        let Some(environment) = tx.environment.as_ref().filter(|_| !self.wide) else {
            return self.transact_wide(tx);
        };
        if let Some(speculation) = speculation
            && let Some(outcome) = self.commit_speculation(speculation, &environment.0)?
        {
            return Ok(outcome);
        }
        self.machine.ctx.db_mut().trace.begin();
        let result = self.machine.transact_one(environment.0.clone()).map_err(refusal);
        self.machine.ctx.db_mut().trace.end(environment.call());
        let result = if self.journals_block() {
            result?
        } else {
            let changed = self.machine.finalize();
            let result = result?;
            self.commit(changed)?;
            result
        };
        Ok(Outcome {
            success: result.is_success(),
            gas_used: result.tx_gas_used(),
            logs: result.into_logs().into_iter().map(Log).collect(),
        })
    }

    /// Commits the changes in the machine's journal to the state, if it is kept for a whole block.
    ///
    /// # Errors
    /// [`StateError`] if a part of the state is not known or cannot be read.
    pub fn commit_block(&mut self) -> Result<(), StateError> {
        if !self.journals_block() {
            return Ok(());
        }
        let changed = self.machine.finalize();
        self.commit(changed)
    }

    /// Calls a system contract. `None` if it fails; its output otherwise.
    ///
    /// # Errors
    /// [`StateError`] if a part of the state is not known or cannot be read.
    pub fn system_call(
        &mut self,
        contract: &Address,
        input: &[u8],
    ) -> Result<Option<Vec<u8>>, StateError> {
        self.machine.ctx.set_tx(TxEnv {
            caller: SYSTEM,
            data: Bytes::copy_from_slice(input),
            kind: TxKind::Call((*contract).into()),
            gas_limit: SYSTEM_GAS,
            ..TxEnv::default()
        });
        let result: Result<_, EVMError<StateError>> =
            MainnetHandler::default().run_system_call(&mut self.machine);
        let changed = self.machine.finalize();
        let result = match result {
            Ok(result) => result,
            Err(EVMError::Database(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        self.commit(changed)?;
        Ok(match result {
            ExecutionResult::Success { output, .. } => Some(output.into_data().to_vec()),
            _ => None,
        })
    }

    /// Commits the changes of a transaction or block to the state.
    fn commit(&mut self, changed: EvmState) -> Result<(), StateError> {
        let clear_empty = self.clears_empty();
        // a slot's original value is its value before the last transaction that used it
        let all_slots = self.journals_block();
        let View { state, storage_only, .. } = self.machine.ctx.db_mut();
        for (address, account) in changed {
            if !account.is_touched() {
                continue;
            }
            let address = &address.0.0;
            let info = account.info;
            let (mut nonce, balance, code_hash) = (info.nonce, info.balance, info.code_hash.0);
            if storage_only.contains(address) {
                nonce = nonce.saturating_sub(1);
            }
            let after = Account { nonce, balance, code_hash };
            // a later transaction of the block may have created the account again
            let ended = account.status.contains(state::AccountStatus::SelfDestructedLocal);
            if ended || clear_empty && after.is_empty() {
                let id = state.set_account(address, None, None)?;
                state.clear_slots(id);
                continue;
            }
            let id = state.set_account(address, Some(after), info.code.map(Code))?;
            let anew = state::AccountStatus::Created | state::AccountStatus::SelfDestructed;
            if account.status.intersects(anew) {
                // earlier storage at this address does not belong to the new contract
                state.clear_slots(id);
            }
            let slots = account.storage.into_iter();
            let slots = slots.filter(|(_, value)| all_slots || value.is_changed());
            let slots: Vec<_> = slots.map(|(slot, value)| (slot, value.present_value)).collect();
            state.set_slots(id, &slots);
        }
        storage_only.clear();
        Ok(())
    }
}

/// Returns whether a sender may send a transaction without blobs and delegations, and can pay it.
fn pays(sender: &AccountInfo, tx: &TxEnv) -> bool {
    let fee = U256::from(tx.gas_limit).checked_mul(U256::from(tx.gas_price));
    let cost = fee.and_then(|fee| fee.checked_add(tx.value));
    let may = sender.nonce == tx.nonce && sender.code_hash.0 == EMPTY_CODE;
    may && cost.is_some_and(|cost| cost <= sender.balance)
}

/// Converts the machine's reason for not executing a transaction. Rules that need no state were
/// verified before, so few reasons are left.
fn refusal(error: EVMError<StateError>) -> Refusal {
    match error {
        EVMError::Database(error) => Refusal::State(error),
        EVMError::Transaction(InvalidTransaction::NonceTooHigh { tx, state })
        | EVMError::Transaction(InvalidTransaction::NonceTooLow { tx, state }) => {
            Refusal::Nonce { expected: state, found: tx }
        }
        EVMError::Transaction(InvalidTransaction::LackOfFundForMaxFee { fee, balance }) => {
            Refusal::Balance { needed: *fee, found: *balance }
        }
        EVMError::Transaction(InvalidTransaction::RejectCallerWithCode) => Refusal::SenderCode,
        other => Refusal::Other(other.to_string()),
    }
}
