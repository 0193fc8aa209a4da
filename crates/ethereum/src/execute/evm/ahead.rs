//! A transaction executed before its turn, on whatever the state is then, and taken over at its
//! turn if everything that it read is still so.
//!
//! Three things are not compared by value, because they would hardly ever be the same. The *sender*
//! has any wealth and the nonce that the transaction names; what it pays is taken off at its turn,
//! when it must own enough. A contract that asks for its balance ends the speculation. The
//! *beneficiary* is not touched; the fee is added at the turn. And a *slot that was written once
//! and never loaded* needs a value before of the same kind, not the same value: all that it decides
//! is the gas of the write (EIP-2200).

mod seen;

use self::seen::{Seen, Uses};
use super::rules::{Machine, Rules, Surroundings, machine};
use super::steps::{self, Hashing, Step, Steps};
use super::values::{Log, Outcome};
use super::{MachineKeccak, MachineOptions, View, info_of, owns_nothing};
use crate::execute::block::BlockTerms;
use crate::execute::history::ForeseenValues;
use crate::execute::transaction::PreparedTransaction;
use crate::params::Fork;
use crate::state::{AccountId, EMPTY_CODE, State, StateError};
use crate::{Address, U256};
use revm::ExecuteEvm;
use revm::bytecode::opcode;
use revm::context::result::ExecutionResult;
use revm::context::{ContextSetters, ContextTr, JournalTr, Transaction};
use revm::database_interface::Database;
use revm::handler::{EvmTr, EvmTrError, FrameResult, FrameTr, Handler};
use revm::interpreter::instructions::{gas_table_spec, host};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult};
use revm::primitives::{self, B256};
use revm::state::{self, AccountInfo, EvmState};
use std::marker::PhantomData;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// What a sender owns in a speculation: more wei than there are, and far from the end of a word.
pub(super) const RICHES: U256 = U256::ONE.wrapping_shl(200);

/// What became of transactions that were executed before their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that were taken over.
    pub taken: u64,
    /// Those that had read what was no longer so.
    pub refused: u64,
    /// Gas of the first.
    pub taken_gas: u64,
    /// Gas of the second, executed in vain.
    pub refused_gas: u64,
}

impl Tally {
    /// Adds what became of others.
    pub fn add(&mut self, other: &Self) {
        self.taken += other.taken;
        self.refused += other.refused;
        self.taken_gas += other.taken_gas;
        self.refused_gas += other.refused_gas;
    }
}

/// What a transaction led to before its turn.
#[derive(Debug)]
pub struct Ahead {
    pub(super) outcome: Outcome,
    pub(super) changed: EvmState,
    /// For the beneficiary, in wei.
    pub(super) fee: U256,
    seen: Seen,
}

impl Ahead {
    /// Tells a state on disk which slots it need not read again, whatever becomes of the rest.
    pub(super) fn teach(&self, state: &mut State) -> Result<(), StateError> {
        self.seen.teach(state)
    }

    /// Whether the transaction would do the same on this state.
    pub(super) fn holds(&self, view: &mut View<'_>) -> Result<bool, StateError> {
        for (address, before) in &self.seen.accounts {
            let now = view.basic(*address)?;
            if now.map(|now| AccountInfo { account_id: None, ..now }) != *before {
                return Ok(false);
            }
        }
        for (address, slot, before) in &self.seen.slots {
            let now = view.storage(*address, *slot)?;
            if now != *before && !self.overwrites(*address, *slot, [*before, now]) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a slot was only written, once, with the same gas over each of these values.
    fn overwrites(&self, address: primitives::Address, slot: U256, values: [U256; 2]) -> bool {
        let uses = self.seen.uses.get(&(address, slot)).copied().unwrap_or_default();
        if (uses.loads, uses.stores) != (0, 1) {
            return false;
        }
        let account = self.changed.get(&address);
        let Some(slot) = account.and_then(|account| account.storage.get(&slot)) else {
            return false;
        };
        let written = slot.present_value;
        !written.is_zero() && values.iter().all(|value| !value.is_zero() && *value != written)
    }

    /// What the sender is after the transaction, if it is this before it.
    pub(super) fn pay(&mut self, sender: &Address, balance: U256) {
        if let Some(account) = self.changed.get_mut(&primitives::Address::from(*sender)) {
            let after = account.info.balance;
            account.info.balance = balance.wrapping_add(after).wrapping_sub(RICHES);
        }
    }
}

/// The state as a speculation reads it, which others change meanwhile: one read is true, two
/// together need not be. What was read is compared in the end.
pub(super) struct Observed<'s> {
    state: &'s RwLock<State>,
    /// What was read of it ahead, and is not read again.
    foreseen: &'s ForeseenValues<'s>,
    sender: primitives::Address,
    nonce: u64,
    seen: Seen,
    pub(super) hashing: Hashing,
}

impl Observed<'_> {
    fn state(&self) -> RwLockReadGuard<'_, State> {
        // a panic ends the run elsewhere
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for Observed<'_> {
    type Error = StateError;

    fn basic(&mut self, address: primitives::Address) -> Result<Option<AccountInfo>, StateError> {
        let info = {
            let state = self.state();
            // an index that does not last is not told
            let lasts = !state.is_on_disk();
            state.peek_account(&address.0.0, |found, has_slots| {
                let mut info = info_of(found);
                if has_slots && owns_nothing(&info) {
                    info.nonce = 1;
                }
                info.account_id = info.account_id.filter(|_| lasts);
                info
            })?
        };
        if address == self.sender {
            let id = info.as_ref().and_then(|info| info.account_id);
            self.seen.asked_too_much |= info.is_some_and(|info| info.code_hash.0 != EMPTY_CODE);
            let (balance, nonce) = (RICHES, self.nonce);
            return Ok(Some(AccountInfo { balance, nonce, account_id: id, ..Default::default() }));
        }
        let read = info.clone().map(|info| AccountInfo { code: None, account_id: None, ..info });
        self.seen.accounts.push((address, read));
        Ok(info)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<revm::bytecode::Bytecode, StateError> {
        self.state().code(&hash.0).map(|code| code.0)
    }

    fn storage(&mut self, address: primitives::Address, slot: U256) -> Result<U256, StateError> {
        let read = |turn| self.foreseen.get(&(address.0.0, slot), turn);
        let value = self.state().peek_slot(&address.0.0, &slot, read)?;
        self.seen.slots.push((address, slot, value));
        Ok(value)
    }

    fn storage_by_account_id(
        &mut self,
        address: primitives::Address,
        id: state::AccountId,
        slot: U256,
    ) -> Result<U256, StateError> {
        // only a lasting index is told
        let value = self.state().slot_of(id.get() as AccountId, &slot);
        self.seen.slots.push((address, slot, value));
        Ok(value)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        // that of a block that is there stays; one that is not there yet ends the speculation
        let hash = self.state().ancestors.hash_of(number);
        hash.map(B256::from).ok_or(StateError::MissingBlockHash { number })
    }
}

/// Executes transactions before their turn.
pub struct Speculator<'s> {
    machine: Machine<Observed<'s>>,
    rules: Rules,
    /// The transaction that waits for a digest.
    steps: Option<Steps>,
    /// What it pays the beneficiary.
    fee_per_gas: u128,
}

/// How far a transaction came.
#[derive(Debug)]
pub enum Progress {
    /// It waits for the digest of [`Speculator::message`].
    Hashes,
    /// It is at its end; none where that is of no use.
    Ends(Option<Box<Ahead>>),
}

impl<'s> Speculator<'s> {
    /// One of the chain with this id, over a state that others change.
    /// The slots of a state on disk that were read ahead are known.
    pub fn new(
        (state, foreseen): (&'s RwLock<State>, &'s ForeseenValues<'s>),
        chain_id: U256,
        options: MachineOptions,
    ) -> Self {
        let (sender, nonce) = (primitives::Address::ZERO, 0);
        let (seen, hashing) = (Seen::default(), Hashing::default());
        let observed = Observed { state, foreseen, sender, nonce, seen, hashing };
        let rules = Rules { options, ..Rules::default() };
        Self { machine: machine(observed, chain_id), rules, steps: None, fee_per_gas: 0 }
    }

    /// Begins a block. None where its rules are not known here; those before Petersburg are not:
    /// their receipts have state roots, or their gas is that of other writes.
    pub fn begin(&mut self, terms: &BlockTerms) -> Option<()> {
        if terms.fork < Fork::Petersburg {
            return None;
        }
        let before = self.rules.fork;
        self.rules.begin(&mut self.machine, terms)?;
        if before != self.rules.fork {
            self.observe();
        }
        Some(())
    }

    /// Has the machine tell which slots are loaded and stored, and that a contract asks for the
    /// sender's balance.
    fn observe(&mut self) {
        let gas = gas_table_spec(self.machine.ctx.cfg().spec);
        let instructions = [
            (opcode::SLOAD, Instruction::new(sload)),
            (opcode::SSTORE, Instruction::new(sstore)),
            (opcode::BALANCE, Instruction::new(balance)),
        ];
        for (code, run) in instructions {
            let costs = gas[usize::from(code)];
            self.machine.instruction.insert_instruction(code, run, costs);
        }
        if self.rules.options.keccak == MachineKeccak::Lanes {
            steps::stop_at_hashes(&mut self.machine);
        }
    }

    /// Whether the machine is one of several whose messages are hashed together: then it waits
    /// where it hashes.
    pub fn hashes_together(&mut self, together: bool) {
        self.machine.ctx.db_mut().hashing.together = together;
    }

    /// Begins a transaction of the block.
    pub fn start(&mut self, tx: &PreparedTransaction) -> Progress {
        let Some(environment) = &tx.environment else { return Progress::Ends(None) };
        let environment = &environment.0;
        let base_fee = u128::from(self.machine.ctx.block().basefee);
        let burnt = if self.rules.fork >= Some(Fork::London) { base_fee } else { 0 };
        self.fee_per_gas = environment.effective_gas_price(base_fee).saturating_sub(burnt);
        let observed = self.machine.ctx.db_mut();
        (observed.sender, observed.nonce) = (environment.caller, environment.nonce);
        let turn = observed.state().turn_number();
        observed.seen = Seen::since(turn);
        observed.hashing.permutations = 0;
        self.machine.ctx.set_tx(environment.clone());
        let mut steps = Steps::begin(&mut self.machine);
        let step = steps.as_mut().and_then(|steps| steps.run(&mut self.machine));
        self.progress(steps, step)
    }

    /// The most gas that the last transaction might have used.
    pub fn gas_limit(&self) -> u64 {
        self.machine.ctx.tx().gas_limit()
    }

    /// Permutations that the last transaction's hashes took so far.
    pub fn permutations(&self) -> u64 {
        self.machine.ctx.db_ref().hashing.permutations
    }

    /// What the transaction waits for the digest of.
    pub fn message(&self) -> &[u8] {
        self.machine.ctx.db_ref().hashing.message()
    }

    /// Goes on with the digest.
    pub fn resume(&mut self, hash: &[u8; 32]) -> Progress {
        let mut steps = self.steps.take();
        let step = steps.as_mut().and_then(|steps| steps.resume(&mut self.machine, hash));
        self.progress(steps, step)
    }

    fn progress(&mut self, steps: Option<Steps>, step: Option<Step>) -> Progress {
        if let Some(Step::Hashes) = step {
            self.steps = steps;
            return Progress::Hashes;
        }
        let changed = self.machine.finalize();
        let seen = std::mem::take(&mut self.machine.ctx.db_mut().seen);
        Progress::Ends(match step {
            Some(Step::Ends(result)) => self.ahead(&result, changed, seen),
            _ => None,
        })
    }

    /// What a transaction led to; none where that is of no use.
    fn ahead(&self, result: &ExecutionResult, changed: EvmState, seen: Seen) -> Option<Box<Ahead>> {
        // the fee of a beneficiary that ends in the transaction ends with it
        let beneficiary = changed.get(&self.machine.ctx.block().beneficiary);
        let ends = beneficiary.is_some_and(state::Account::is_selfdestructed);
        if ends || seen.asked_too_much {
            return None;
        }
        let fee = U256::from(self.fee_per_gas) * U256::from(result.tx_gas_used());
        let outcome = Outcome {
            success: result.is_success(),
            gas_used: result.tx_gas_used(),
            logs: result.logs().iter().cloned().map(Log).collect(),
        };
        Some(Box::new(Ahead { outcome, changed, fee, seen }))
    }
}

/// What an instruction works on.
type Call<'a, 's> = InstructionContext<'a, Surroundings<Observed<'s>>, EthInterpreter>;

/// The word on top of the stack.
fn top(call: &mut Call<'_, '_>) -> Option<U256> {
    call.interpreter.stack.top().map(|word| *word)
}

fn uses<'a>(call: &'a mut Call<'_, '_>) -> Option<&'a mut Uses> {
    let slot = top(call)?;
    let target = call.interpreter.input.target_address();
    Some(call.host.db_mut().seen.uses.entry((target, slot)).or_default())
}

fn sload(mut call: Call<'_, '_>) -> InstructionExecResult {
    uses(&mut call).into_iter().for_each(|uses| uses.loads += 1);
    host::sload(call)
}

fn sstore(mut call: Call<'_, '_>) -> InstructionExecResult {
    uses(&mut call).into_iter().for_each(|uses| uses.stores += 1);
    host::sstore(call)
}

fn balance(mut call: Call<'_, '_>) -> InstructionExecResult {
    let asked = top(&mut call).map(|word| primitives::Address::from_word(word.into()));
    let observed = call.host.db_mut();
    observed.seen.asked_too_much |= asked == Some(observed.sender);
    host::balance(call)
}

/// How a transaction is executed, but the beneficiary gets nothing.
pub(super) struct WithoutFee<M, E>(PhantomData<(M, E)>);

impl<M, E> Default for WithoutFee<M, E> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<M, E, F> Handler for WithoutFee<M, E>
where
    M: EvmTr<Context: ContextTr<Journal: JournalTr<State = EvmState>>, Frame = F>,
    E: EvmTrError<M>,
    F: FrameTr<FrameResult = FrameResult, FrameInit = FrameInit>,
{
    type Evm = M;
    type Error = E;
    type HaltReason = revm::context::result::HaltReason;

    fn reward_beneficiary(&self, _: &mut M, _: &mut FrameResult) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
