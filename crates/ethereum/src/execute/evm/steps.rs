//! A transaction executed in steps, each of which ends at a KECCAK256.
//!
//! The hashes of one transaction depend on each other, but several transactions can hash together
//! in the lanes of one permutation: each machine stops at KECCAK256 and hands out the message; when
//! all have stopped, they resume with their digests. The loop is that of the library's handler,
//! made interruptible.

use super::keccak;
use super::rules::{Machine, Surroundings};
use super::speculator::{ObservedState, WithoutFee};
use crate::U256;
use crate::state::StateError;
use revm::bytecode::opcode;
use revm::context::result::{EVMError, ExecutionResult};
use revm::context::{ContextTr, JournalTr};
use revm::handler::{EvmTr, FrameResult, Handler, ItemOrResult};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::LoopControl;
use revm::interpreter::{
    GasTracker, InitialAndFloorGas, Instruction, InstructionContext, InstructionExecResult,
    InstructionResult, InterpreterAction, InterpreterResult,
};
use revm::primitives::Bytes;

/// Static gas of KECCAK256.
const STATIC_GAS: u16 = 30;
/// Bytes that one permutation absorbs.
const RATE: u64 = 136;

type Failure = EVMError<StateError>;

/// The message to hash next.
#[derive(Debug, Default)]
pub(super) struct Hashing {
    /// Whether several machines hash together; otherwise the machine hashes by itself.
    pub together: bool,
    /// Permutations of the transaction's hashes so far.
    pub permutations: u64,
    waits: bool,
    message: Vec<u8>,
}

impl Hashing {
    /// The message that a stopped machine needs the digest of.
    pub fn message(&self) -> &[u8] {
        &self.message
    }
}

/// Makes a machine stop at each KECCAK256.
pub(super) fn stop_at_hashes(machine: &mut Machine<ObservedState<'_>>) {
    let instruction = Instruction::new(hash_together);
    machine.instruction.insert_instruction(opcode::KECCAK256, instruction, STATIC_GAS);
}

/// KECCAK256 that stops the machine, with the length of the message in place of the digest on the
/// stack.
fn hash_together(
    mut call: InstructionContext<'_, Surroundings<ObservedState<'_>>, EthInterpreter>,
) -> InstructionExecResult {
    let message = keccak::message(&mut call)?;
    let hashing = &mut call.host.db_mut().hashing;
    hashing.permutations += message.map_or(0, |(_, length)| length as u64 / RATE + 1);
    if !hashing.together {
        return keccak::digest(&mut call, message);
    }
    hashing.message.clear();
    if let Some((from, length)) = message {
        hashing.message.extend_from_slice(&call.interpreter.memory.slice_len(from, length));
    }
    hashing.waits = true;
    // ends the interpreter's loop; the action itself is not used
    let (result, output, gas) = (InstructionResult::Stop, Bytes::new(), call.interpreter.gas);
    let action = InterpreterAction::Return(InterpreterResult { result, output, gas });
    call.interpreter.bytecode.set_action(action);
    Err(result)
}

/// The end of a step.
#[derive(Debug)]
pub(super) enum Step {
    /// The machine waits for a digest.
    Hashes,
    /// The transaction has ended.
    Ends(ExecutionResult),
}

/// A transaction in progress.
#[derive(Debug)]
pub(super) struct Steps {
    limits: InitialAndFloorGas,
    gas: GasTracker,
    refund: i64,
    /// The result of a transaction that runs no code.
    at_once: Option<FrameResult>,
}

impl Steps {
    /// Begins the transaction that was set in the machine. `None` if it cannot be executed.
    pub fn begin(machine: &mut Machine<ObservedState<'_>>) -> Option<Self> {
        Self::try_begin(machine).map_or_else(|failure| forget(machine, failure), Some)
    }

    fn try_begin(machine: &mut Machine<ObservedState<'_>>) -> Result<Self, Failure> {
        let mut handler = WithoutFee::<_, Failure>::default();
        let no_gas = || Failure::Custom("no gas for the first frame".into());
        let limits = handler.validate(machine)?;
        let mut gas = handler.tx_gas(machine, &limits);
        let before = handler.pre_execution(machine, &mut gas)?.ok_or_else(no_gas)?;
        let first = handler.first_frame_input(machine, &mut gas)?.ok_or_else(no_gas)?;
        machine.ctx.journal_mut().checkpoint_commit();
        let at_once = match machine.frame_init(first)? {
            ItemOrResult::Item(_) => None,
            ItemOrResult::Result(result) => Some(result),
        };
        Ok(Self { limits, gas, refund: before.eip7702_refund as i64, at_once })
    }

    /// Runs the next step. `None` if the transaction cannot be executed.
    pub fn run(&mut self, machine: &mut Machine<ObservedState<'_>>) -> Option<Step> {
        self.try_run(machine).map_or_else(|failure| forget(machine, failure), Some)
    }

    /// Runs the next step with the digest that the last one waits for.
    pub fn resume(
        &mut self,
        machine: &mut Machine<ObservedState<'_>>,
        hash: &[u8; 32],
    ) -> Option<Step> {
        machine.ctx.db_mut().hashing.waits = false;
        let interpreter = &mut machine.frame_stack.get().interpreter;
        *interpreter.stack.top()? = U256::from_be_bytes(*hash);
        self.run(machine)
    }

    fn try_run(&mut self, machine: &mut Machine<ObservedState<'_>>) -> Result<Step, Failure> {
        let result = match self.at_once.take() {
            Some(result) => Some(result),
            None => run_frames(machine)?,
        };
        let Some(mut result) = result else { return Ok(Step::Hashes) };
        let mut handler = WithoutFee::default();
        handler.last_frame_result(machine, &mut result, &mut self.gas)?;
        let gas = handler.post_execution(machine, &mut result, self.limits, self.refund)?;
        handler.execution_result(machine, result, gas).map(Step::Ends)
    }
}

/// Runs frames until the outermost one ends. `None` if one stops at a hash.
fn run_frames(machine: &mut Machine<ObservedState<'_>>) -> Result<Option<FrameResult>, Failure> {
    loop {
        let frame = machine.frame_stack.get();
        let instructions = &machine.instruction;
        let action = frame.interpreter.run_plain(
            instructions.instruction_table(),
            instructions.gas_table(),
            &mut machine.ctx,
        );
        if machine.ctx.db_mut().hashing.waits {
            return Ok(None);
        }
        let next: ItemOrResult<_, FrameResult> =
            frame.process_next_action::<_, Failure>(&mut machine.ctx, action)?;
        let result = match next {
            ItemOrResult::Item(call) => match machine.frame_init(call)? {
                ItemOrResult::Item(_) => continue,
                ItemOrResult::Result(result) => result,
            },
            ItemOrResult::Result(result) => {
                frame.set_finished(true);
                result
            }
        };
        if let Some(result) = machine.frame_return_result(result)? {
            return Ok(Some(result));
        }
    }
}

/// Clears a machine after a transaction that failed.
fn forget<T>(machine: &mut Machine<ObservedState<'_>>, failure: Failure) -> Option<T> {
    // in-order execution reports the same error
    let _ = WithoutFee::<_, Failure>::default().catch_error(machine, failure);
    None
}
