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
mod recorder;
mod rules;
mod signatures;
mod speculator;
mod step_log;
mod steps;
mod system;
mod trace;
mod values;
mod view;
mod wide;

pub use authorities::recover_authorities;
pub use census::{Calls, Census, census, instructions, precompiles};
pub use dry::DryRuns;
pub use options::{MachineKeccak, MachineOptions};
pub use reads::Reads;
pub use speculator::{Progress, Speculation, Speculator, Tally};
pub use step_log::StepLog;
pub use trace::PrefetchStats;
pub use values::{Code, Environment, Log, Outcome};
pub use wide::WideTransaction;

use super::block::BlockTerms;
use super::history::{History, Slot};
use super::transaction::{PreparedTransaction, Refusal};
use crate::access_list::BlockAccessList;
use crate::params::Fork;
use crate::state::{Account, EMPTY_CODE, State, StateError};
use crate::{Address, U256};
use recorder::AccessRecorder;
use revm::context::result::{EVMError, InvalidTransaction};
use revm::context::{ContextTr, TxEnv};
use revm::database_interface::Database;
use revm::state::{self, AccountInfo, EvmState};
use revm::{ExecuteEvm, InspectEvm};
use rules::{Machine, Rules};
use std::sync::Arc;
use trace::AccessTrace;
use view::{View, info_of, owns_nothing};

/// A virtual machine over a state, for consecutive blocks.
pub struct Evm<'s> {
    machine: Machine<View<'s>, StepLog>,
    rules: Rules,
    /// Speculations of the block, from the next transaction on.
    speculations: std::vec::IntoIter<Option<Box<Speculation>>>,
    tally: Tally,
    /// Whether the block has fees or a chain id that exceed the machine's integers.
    wide: bool,
    /// Records the access list of the block, from Amsterdam on.
    recorder: Option<AccessRecorder>,
}

impl<'s> Evm<'s> {
    /// A machine for the chain with this id.
    pub fn new(state: &'s mut State, chain_id: U256) -> Self {
        Self {
            machine: rules::inspected(View::new(state), chain_id, StepLog::default()),
            rules: Rules::default(),
            speculations: vec![].into_iter(),
            tally: Tally::default(),
            wide: false,
            recorder: None,
        }
    }

    /// Sets the machine options.
    #[must_use]
    pub fn with_options(mut self, options: MachineOptions) -> Self {
        self.rules.options = options;
        self
    }

    /// Writes the instructions of the transactions to `log`. Speculations and fees that exceed the
    /// machine's integers have none.
    #[must_use]
    pub fn with_step_log(mut self, log: StepLog) -> Self {
        self.machine.inspector = log;
        self
    }

    /// Takes the log of instructions, which then is off.
    pub fn take_step_log(&mut self) -> StepLog {
        std::mem::take(&mut self.machine.inspector)
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

    /// Begins a block. `None` if its blob fee exceeds 256 bits.
    pub fn begin(&mut self, terms: &BlockTerms) -> Option<()> {
        let before = self.rules.fork.filter(|_| !self.wide);
        self.recorder = (terms.fork >= Fork::Amsterdam).then(AccessRecorder::default);
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

    /// Sets where changes belong in the access list of the block (EIP-7928): 0 before the
    /// transactions, then 1 for the first one, and so on.
    pub fn set_access_index(&mut self, index: usize) {
        if let Some(recorder) = &mut self.recorder {
            recorder.index = u32::try_from(index).unwrap_or(u32::MAX);
        }
    }

    /// Takes the access list of the block, after its last change; `None` before Amsterdam.
    pub fn take_access_list(&mut self) -> Option<BlockAccessList> {
        self.recorder.take().map(AccessRecorder::finish)
    }

    /// Adds wei to an account, as [`State::credit`] does.
    ///
    /// # Errors
    /// [`StateError`] as [`State::credit`].
    pub fn credit(&mut self, address: &Address, amount: U256) -> Result<(), StateError> {
        let clear = self.clears_empty();
        let state = &mut *self.machine.ctx.db_mut().state;
        let before = match self.recorder {
            Some(_) => Some(state.account(address)?.map(|found| found.1).unwrap_or_default()),
            None => None,
        };
        state.credit(address, amount, clear)?;
        if let Some((recorder, before)) = self.recorder.as_mut().zip(before) {
            recorder.set_balance(address, before, before.balance.wrapping_add(amount));
        }
        Ok(())
    }

    /// Whether changes stay in the machine's journal until the end of the block: from Byzantium on,
    /// when receipts have no state roots any more, until Amsterdam, when the access list has the
    /// changes of each transaction.
    fn journals_block(&self) -> bool {
        self.rules.fork.is_some_and(|fork| (Fork::Byzantium..Fork::Amsterdam).contains(&fork))
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
        let beneficiary = self.machine.ctx.block().beneficiary;
        self.credit(&beneficiary.0.0, fee)?;
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
        let transaction = environment.0.clone();
        let result = match self.machine.inspector.is_on() {
            true => self.machine.inspect_one_tx(transaction),
            false => self.machine.transact_one(transaction),
        };
        let result = result.map_err(refusal);
        self.machine.ctx.db_mut().trace.end(environment.call());
        let result = if self.journals_block() {
            result?
        } else {
            let changed = self.machine.finalize();
            let result = result?;
            self.commit(changed)?;
            result
        };
        Ok(Outcome::new(result, self.rules.fork))
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

    /// Commits the changes of a transaction or block to the state.
    fn commit(&mut self, changed: EvmState) -> Result<(), StateError> {
        let clear_empty = self.clears_empty();
        // a slot's original value is its value before the last transaction that used it
        let all_slots = self.journals_block();
        let View { state, storage_only, .. } = self.machine.ctx.db_mut();
        if let Some(recorder) = &mut self.recorder {
            recorder.record(&changed, storage_only);
        }
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
