//! The virtual machine: the only module that names `revm`.
//!
//! Traps of it, each of which cost somebody a day: the gas that an instruction costs whatever it
//! does lies in a table that does not follow the configuration, so a new table is made where the
//! fork changes; an `Evm` cannot be sent to another thread, so one is made for each stretch of
//! blocks; a slot's original value is that of the transaction, not of the block; and what EIP-161
//! removes is removed by whoever takes the result over, which is `Evm::commit`.

mod ahead;
mod authorities;
mod census;
#[cfg(test)]
mod contracts;
mod dry;
mod keccak;
mod notes;
mod options;
mod reads;
mod rules;
mod signatures;
mod steps;
mod values;
mod view;
mod wide;

pub use ahead::{Ahead, Progress, Speculator, Tally};
pub use authorities::recover_authorities;
pub use census::{Calls, Census, census, instructions, precompiles};
pub use dry::DryRuns;
pub use notes::Foresight;
pub use options::{MachineKeccak, MachineOptions};
pub use reads::Reads;
pub use rules::executes;
pub use values::{Code, Environment, Log, Outcome};
pub use wide::WideTransaction;

use super::block::BlockTerms;
use super::history::{History, Slot};
use super::transaction::{PreparedTransaction, Refusal};
use crate::params::Fork;
use crate::state::{Account, EMPTY_CODE, State, StateError};
use crate::{Address, U256};
use notes::Notes;
use revm::ExecuteEvm;
use revm::context::result::{EVMError, ExecutionResult, InvalidTransaction};
use revm::context::{ContextSetters, ContextTr, TxEnv};
use revm::database_interface::Database;
use revm::handler::{Handler, MainnetHandler};
use revm::primitives::{self, Bytes, TxKind};
use revm::state::{self, AccountInfo, EvmState};
use rules::{Machine, Rules};
use std::sync::Arc;
use view::{View, info_of, owns_nothing};

/// Who makes system calls (EIP-4788).
const SYSTEM: primitives::Address =
    primitives::address!("0xfffffffffffffffffffffffffffffffffffffffe");
/// Gas of a system call (EIP-4788, EIP-2935, EIP-7002, EIP-7251).
const SYSTEM_GAS: u64 = 30_000_000;

/// A virtual machine over a state, for blocks one after the other.
pub struct Evm<'s> {
    machine: Machine<View<'s>>,
    rules: Rules,
    /// What was executed before its turn of this block, for each transaction from the next one on.
    ahead: std::vec::IntoIter<Option<Box<Ahead>>>,
    tally: Tally,
    /// The block is executed with numbers that the machine cannot count.
    wide: bool,
}

impl<'s> Evm<'s> {
    /// A machine of the chain with this id.
    pub fn new(state: &'s mut State, chain_id: U256) -> Self {
        Self {
            machine: rules::machine(View::of(state), chain_id),
            rules: Rules::default(),
            ahead: vec![].into_iter(),
            tally: Tally::default(),
            wide: false,
        }
    }

    /// The same in another way.
    #[must_use]
    pub fn with(mut self, options: MachineOptions) -> Self {
        self.rules.options = options;
        self
    }

    /// The same that tells this history of calls, while these slots have been read ahead for it.
    #[must_use]
    pub fn told(mut self, history: Option<Arc<History>>, foreseen: &[Slot]) -> Self {
        self.machine.ctx.db_mut().notes = Notes::of(history, foreseen);
        self
    }

    /// What has become of the slots that were read ahead.
    pub fn foresight(&mut self) -> Foresight {
        self.machine.ctx.db_mut().notes.foresight()
    }

    /// The state.
    pub fn state(&mut self) -> &mut State {
        self.machine.ctx.db_mut().state
    }

    /// What was read of the state since the last call.
    pub fn take_reads(&mut self) -> Reads {
        std::mem::take(&mut self.machine.ctx.db_mut().reads)
    }

    /// Whether empty accounts are removed when they are touched (EIP-161).
    pub fn clears_empty(&self) -> bool {
        self.rules.fork.is_some_and(|fork| fork >= Fork::SpuriousDragon)
    }

    /// Begins a block. None where its fork is one that the machine does not know, or its blob fee
    /// takes more than 256 bits.
    pub fn begin(&mut self, terms: &BlockTerms) -> Option<()> {
        let before = self.rules.fork.filter(|_| !self.wide);
        self.begin_wide(terms)?;
        if before != self.rules.fork {
            let notes = self.machine.ctx.db_mut().notes.are_taken();
            let hashes = notes && self.rules.options.keccak != MachineKeccak::Library;
            reads::count(&mut self.machine.instruction, terms.fork, hashes);
        }
        if wide::is_wide(terms, &self.machine.ctx.chain.chain_id) {
            self.widen();
        }
        Some(())
    }

    /// Whether the changes of transactions are committed at the end of the block: from Byzantium
    /// on, as earlier receipts have the state root after their transaction.
    fn waits(&self) -> bool {
        self.rules.fork.is_some_and(|fork| fork >= Fork::Byzantium)
    }

    /// Gives what was executed of the next block before its turn, for each of its transactions.
    pub fn expect(&mut self, ahead: Vec<Option<Box<Ahead>>>) {
        self.ahead = ahead.into_iter();
    }

    /// What became of that since the last call.
    pub fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Takes over what a transaction led to before its turn, if it would lead to the same now.
    fn take_over(
        &mut self,
        mut ahead: Box<Ahead>,
        environment: &TxEnv,
    ) -> Result<Option<Outcome>, StateError> {
        // what the transactions before it changed belongs to what it may have read
        self.settle()?;
        let gas = ahead.outcome.gas_used;
        let keeps_reads = self.rules.options.keeps_reads;
        let view = self.machine.ctx.db_mut();
        if keeps_reads {
            ahead.teach(view.state)?;
        }
        let sender = view.basic(environment.caller)?.filter(|sender| pays(sender, environment));
        let Some(sender) = sender.filter(|_| ahead.holds(view) == Ok(true)) else {
            view.storage_only.clear();
            self.tally.refused += 1;
            self.tally.refused_gas += gas;
            return Ok(None);
        };
        ahead.pay(&environment.caller.0.0, sender.balance);
        let Ahead { outcome, changed, fee, .. } = *ahead;
        self.commit(changed)?;
        let (beneficiary, clear) = (self.machine.ctx.block().beneficiary, self.clears_empty());
        self.state().credit(&beneficiary.0.0, fee, clear)?;
        self.tally.taken += 1;
        self.tally.taken_gas += gas;
        Ok(Some(outcome))
    }

    /// Executes a transaction; its result is in the state at [`Evm::settle`] at the latest.
    pub fn transact(&mut self, tx: &PreparedTransaction) -> Result<Outcome, Refusal> {
        let ahead = self.ahead.next().flatten();
        let Some(environment) = tx.environment.as_ref().filter(|_| !self.wide) else {
            return self.transact_wide(tx);
        };
        if let Some(ahead) = ahead
            && let Some(outcome) = self.take_over(ahead, &environment.0)?
        {
            return Ok(outcome);
        }
        self.machine.ctx.db_mut().notes.begin();
        let result = self.machine.transact_one(environment.0.clone()).map_err(refusal);
        self.machine.ctx.db_mut().notes.learn(environment.call());
        let result = if self.waits() {
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

    /// Takes over what the transactions of a block changed, where that waits.
    ///
    /// # Errors
    /// What is not known of the state.
    pub fn settle(&mut self) -> Result<(), StateError> {
        if !self.waits() {
            return Ok(());
        }
        let changed = self.machine.finalize();
        self.commit(changed)
    }

    /// Calls a system contract; its output where it succeeded.
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

    /// Takes over what a transaction changed.
    fn commit(&mut self, changed: EvmState) -> Result<(), StateError> {
        let clear_empty = self.clears_empty();
        // a slot's original value is that of the last transaction that came to it
        let all_slots = self.waits();
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
            // one that another transaction of the block came to after it ended began anew
            let ended = account.status.contains(state::AccountStatus::SelfDestructedLocal);
            if ended || clear_empty && after.is_empty() {
                let id = state.set_account(address, None, None)?;
                state.clear_slots(id);
                continue;
            }
            let id = state.set_account(address, Some(after), info.code.map(Code))?;
            let anew = state::AccountStatus::Created | state::AccountStatus::SelfDestructed;
            if account.status.intersects(anew) {
                // whatever stood at this address before is no part of the new contract
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

/// Whether a sender may send a transaction without blobs and delegations, and can pay for it.
fn pays(sender: &AccountInfo, tx: &TxEnv) -> bool {
    let fee = U256::from(tx.gas_limit).checked_mul(U256::from(tx.gas_price));
    let cost = fee.and_then(|fee| fee.checked_add(tx.value));
    let may = sender.nonce == tx.nonce && sender.code_hash.0 == EMPTY_CODE;
    may && cost.is_some_and(|cost| cost <= sender.balance)
}

/// The machine's reason for not executing a transaction. Those that need no state were verified
/// before, so that few are left.
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
