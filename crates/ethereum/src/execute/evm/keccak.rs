//! KECCAK256 with this project's hash function, which takes a third of the time of the machine's.

use revm::interpreter::interpreter::resize_memory;
use revm::interpreter::interpreter_types::{MemoryTr, StackTr};
use revm::interpreter::{
    Host, InstructionContext, InstructionExecResult, InstructionResult, InterpreterTypes,
};
use revm::primitives::U256;

/// The instruction KECCAK256. Gas and memory are charged as in the machine's own instruction.
pub(super) fn keccak256<W: InterpreterTypes, H: Host + ?Sized>(
    mut context: InstructionContext<'_, H, W>,
) -> InstructionExecResult {
    let message = message(&mut context)?;
    digest(&mut context, message)
}

/// Writes the digest of a [`message`] to the stack.
pub(super) fn digest<W: InterpreterTypes, H: ?Sized>(
    context: &mut InstructionContext<'_, H, W>,
    message: Option<(usize, usize)>,
) -> InstructionExecResult {
    let interpreter = &mut *context.interpreter;
    let hash = match message {
        None => crate::state::EMPTY_CODE,
        Some((from, length)) => {
            blockmill_hashes::keccak256(&interpreter.memory.slice_len(from, length))
        }
    };
    let top = interpreter.stack.top().ok_or(InstructionResult::StackUnderflow)?;
    *top = U256::from_be_bytes(hash);
    Ok(())
}

/// Charges for the message, and returns its offset in memory and its length; `None` if it is empty.
/// The digest replaces the length on top of the stack.
pub(super) fn message<W: InterpreterTypes, H: Host + ?Sized>(
    context: &mut InstructionContext<'_, H, W>,
) -> Result<Option<(usize, usize)>, InstructionResult> {
    let InstructionContext { interpreter, host } = context;
    let Some(([offset], top)) = interpreter.stack.popn_top() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let too_far = |_| InstructionResult::InvalidOperandOOG;
    let length = usize::try_from(*top).map_err(too_far)?;
    if !interpreter.gas.record_regular_cost(host.gas_params().keccak256_cost(length)) {
        return Err(InstructionResult::OutOfGas);
    }
    if length == 0 {
        return Ok(None);
    }
    let from = usize::try_from(offset).map_err(too_far)?;
    resize_memory(&mut interpreter.gas, &mut interpreter.memory, host.gas_params(), from, length)?;
    Ok(Some((from, length)))
}
