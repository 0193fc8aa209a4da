//! Instructions that take the place of those of the machine.

use revm::interpreter::instructions::host::sstore_with_gas_accounting;
use revm::interpreter::interpreter::resize_memory;
use revm::interpreter::interpreter_types::{MemoryTr, StackTr};
use revm::interpreter::{
    Host, InstructionContext, InstructionExecResult, InstructionResult, InterpreterTypes,
};
use revm::primitives::U256;

/// KECCAK256 with the hash of this program; gas and memory are those of the machine's instruction.
pub(super) fn keccak256<W: InterpreterTypes, H: Host + ?Sized>(
    context: InstructionContext<'_, H, W>,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let Some(([offset], top)) = interpreter.stack.popn_top() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let too_far = |_| InstructionResult::InvalidOperandOOG;
    let length = usize::try_from(*top).map_err(too_far)?;
    if !interpreter.gas.record_regular_cost(host.gas_params().keccak256_cost(length)) {
        return Err(InstructionResult::OutOfGas);
    }
    let hash = if length == 0 {
        crate::state::EMPTY_CODE
    } else {
        let from = usize::try_from(offset).map_err(too_far)?;
        let (gas, memory) = (&mut interpreter.gas, &mut interpreter.memory);
        resize_memory(gas, memory, host.gas_params(), from, length)?;
        crypto::keccak256(memory.slice_len(from, length).as_ref())
    };
    *top = U256::from_be_bytes(hash);
    Ok(())
}

/// SSTORE with the gas of net changes: see `Evm::meter_net_changes`.
pub(super) fn sstore_of_net_changes<W: InterpreterTypes, H: Host + ?Sized>(
    context: InstructionContext<'_, H, W>,
) -> InstructionExecResult {
    sstore_with_gas_accounting(context, |context, _, change| {
        let gas = context.host.gas_params();
        let (cost, refund) = (
            gas.sstore_dynamic_gas(true, &change.data, false),
            gas.sstore_refund(true, &change.data),
        );
        if !context.interpreter.gas.record_regular_cost(cost) {
            return Err(InstructionResult::OutOfGas);
        }
        context.interpreter.gas.record_refund(refund);
        Ok(())
    })
}
