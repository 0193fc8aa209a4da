//! Optimistic execution: a transaction is executed before its turn, on whatever the state is then,
//! and the result is committed at its turn if its read set is still valid.
//!
//! Three reads are not validated by value, because their values hardly ever stay the same:
//!
//! - The *sender* gets [`SPECULATIVE_BALANCE`] and the nonce that the transaction names. At its
//!   turn the transaction is charged to the actual balance, which must suffice. A contract that
//!   reads the sender's balance makes the speculation useless.
//! - The *beneficiary* is not touched; the fee is credited at the commit.
//! - A *slot that was written once and never loaded* may have another value, as long as the write
//!   costs the same gas over it (EIP-2200).

mod observed;
mod read_set;
mod speculation;

pub(super) use self::observed::ObservedState;
use self::read_set::{ReadSet, SlotUses};
pub use self::speculation::{Speculation, Tally};
use super::rules::{Machine, Rules, Surroundings, machine};
use super::steps::{self, Hashing, Step, Steps};
use super::values::Outcome;
use super::{MachineKeccak, MachineOptions, View};
use crate::U256;
use crate::execute::block::BlockTerms;
use crate::execute::history::PrefetchedIndex;
use crate::execute::transaction::PreparedTransaction;
use crate::params::Fork;
use crate::state::State;
use revm::ExecuteEvm;
use revm::bytecode::opcode;
use revm::context::result::ExecutionResult;
use revm::context::{ContextSetters, ContextTr, JournalTr, Transaction};
use revm::handler::{EvmTr, EvmTrError, FrameResult, FrameTr, Handler};
use revm::interpreter::instructions::{gas_table_spec, host};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult};
use revm::primitives;
use revm::state::{self, EvmState};
use std::marker::PhantomData;
use std::sync::RwLock;

/// Balance of senders during speculation: larger than the total supply, and far from overflow.
pub(super) const SPECULATIVE_BALANCE: U256 = U256::ONE.wrapping_shl(200);

/// Executes transactions speculatively.
pub struct Speculator<'s> {
    machine: Machine<ObservedState<'s>>,
    rules: Rules,
    /// The transaction that is suspended at a hash.
    steps: Option<Steps>,
    /// Wei that the transaction pays the beneficiary for each unit of gas.
    fee_per_gas: u128,
}

/// The progress of a transaction.
#[derive(Debug)]
pub enum Progress {
    /// The transaction waits for the digest of [`Speculator::message`].
    Hashes,
    /// The transaction has ended; `None` if its result cannot be committed.
    Ends(Option<Box<Speculation>>),
}

impl<'s> Speculator<'s> {
    /// A speculator for the chain with this id. Other threads change `state` meanwhile;
    /// `prefetched` has slots of a state on disk.
    pub fn new(
        (state, prefetched): (&'s RwLock<State>, &'s PrefetchedIndex<'s>),
        chain_id: U256,
        options: MachineOptions,
    ) -> Self {
        let (sender, nonce) = (primitives::Address::ZERO, 0);
        let (read_set, hashing) = (ReadSet::default(), Hashing::default());
        let observed = ObservedState { state, prefetched, sender, nonce, read_set, hashing };
        let rules = Rules { options, ..Rules::default() };
        Self { machine: machine(observed, chain_id), rules, steps: None, fee_per_gas: 0 }
    }

    /// Begins a block on a state. `None` for forks before Petersburg, in which receipts have state
    /// roots or writes have another price, and for fees that exceed the machine's integers.
    pub fn begin(&mut self, terms: &BlockTerms, state: &'s RwLock<State>) -> Option<()> {
        if terms.fork < Fork::Petersburg {
            return None;
        }
        self.machine.ctx.db_mut().state = state;
        let before = self.rules.fork;
        self.rules.begin(&mut self.machine, terms)?;
        if before != self.rules.fork {
            self.observe();
        }
        Some(())
    }

    /// Makes the machine record which slots are loaded and stored, and reads of the sender's
    /// balance.
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

    /// Sets whether messages of several machines are hashed together. If so, the machine stops at
    /// each hash and waits for the digest.
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
        let generation = observed.state().generation();
        observed.read_set = ReadSet::since(generation);
        observed.hashing.permutations = 0;
        self.machine.ctx.set_tx(environment.clone());
        let mut steps = Steps::begin(&mut self.machine);
        let step = steps.as_mut().and_then(|steps| steps.run(&mut self.machine));
        self.progress(steps, step)
    }

    /// Gas limit of the last transaction.
    pub fn gas_limit(&self) -> u64 {
        self.machine.ctx.tx().gas_limit()
    }

    /// Keccak permutations of the last transaction so far.
    pub fn permutations(&self) -> u64 {
        self.machine.ctx.db_ref().hashing.permutations
    }

    /// The message that is to be hashed.
    pub fn message(&self) -> &[u8] {
        self.machine.ctx.db_ref().hashing.message()
    }

    /// Resumes the transaction with the digest.
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
        let read_set = std::mem::take(&mut self.machine.ctx.db_mut().read_set);
        Progress::Ends(match step {
            Some(Step::Ends(result)) => self.speculation(result, changed, read_set),
            _ => None,
        })
    }

    /// The result of a transaction; `None` if it cannot be committed.
    fn speculation(
        &self,
        result: ExecutionResult,
        changed: EvmState,
        read_set: ReadSet,
    ) -> Option<Box<Speculation>> {
        // a beneficiary that self-destructs loses its fee, too
        let beneficiary = changed.get(&self.machine.ctx.block().beneficiary);
        let ends = beneficiary.is_some_and(state::Account::is_selfdestructed);
        if ends || read_set.depends_on_order {
            return None;
        }
        let fee = U256::from(self.fee_per_gas) * U256::from(result.tx_gas_used());
        let outcome = Outcome::new(result, self.rules.fork);
        Some(Box::new(Speculation { outcome, changed, fee, read_set }))
    }
}

/// The arguments of an instruction.
type Call<'a, 's> = InstructionContext<'a, Surroundings<ObservedState<'s>>, EthInterpreter>;

/// The word on top of the stack.
fn top(call: &mut Call<'_, '_>) -> Option<U256> {
    call.interpreter.stack.top().map(|word| *word)
}

fn uses<'a>(call: &'a mut Call<'_, '_>) -> Option<&'a mut SlotUses> {
    let slot = top(call)?;
    let target = call.interpreter.input.target_address();
    Some(call.host.db_mut().read_set.uses.entry((target, slot)).or_default())
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
    observed.read_set.depends_on_order |= asked == Some(observed.sender);
    host::balance(call)
}

/// A handler that executes a transaction without paying the beneficiary.
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
