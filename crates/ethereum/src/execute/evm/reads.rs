//! Counts of the state reads of a block.

use super::rules::{Surroundings, sstore_of_net_changes};
use super::{View, trace};
use crate::params::Fork;
use revm::bytecode::opcode;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::host;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult};

/// The arguments of an instruction.
pub(super) type Call<'a, 's> = InstructionContext<'a, Surroundings<View<'s>>, EthInterpreter>;

/// State reads of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Look-ups of accounts in the state.
    pub accounts: u64,
    /// Look-ups of slots in the state.
    pub slots: u64,
    /// SLOADs and SSTOREs, each of which needs the value of a slot.
    pub asked: u64,
}

impl Reads {
    /// Instructions that found their slot in the machine's journal, so that it was not read again.
    #[must_use]
    pub fn slot_hits(&self) -> u64 {
        self.asked.saturating_sub(self.slots)
    }
}

/// Makes SLOAD and SSTORE count reads and, with `hashes`, KECCAK256 record messages. Static gas is
/// in another table, which does not change.
pub(super) fn count(
    instructions: &mut EthInstructions<EthInterpreter, Surroundings<View<'_>>>,
    fork: Fork,
    hashes: bool,
) {
    let table = instructions.instruction_table_mut();
    if hashes {
        table[usize::from(opcode::KECCAK256)] = Instruction::new(trace::keccak256);
    }
    table[usize::from(opcode::SLOAD)] = Instruction::new(sload);
    table[usize::from(opcode::SSTORE)] = match fork {
        Fork::Constantinople => Instruction::new(sstore_by_net_changes),
        _ => Instruction::new(sstore),
    };
}

/// Counts an instruction that needs the value of a slot.
#[inline]
fn asked(context: &mut Call<'_, '_>) {
    let View { reads, trace, .. } = &mut context.host.journaled_state.database;
    reads.asked += 1;
    if trace.is_on()
        && let Some(slot) = context.interpreter.stack.top()
    {
        trace.record_slot((context.interpreter.input.target_address().0.0, *slot));
    }
}

fn sload(mut context: Call<'_, '_>) -> InstructionExecResult {
    asked(&mut context);
    host::sload(context)
}

fn sstore(mut context: Call<'_, '_>) -> InstructionExecResult {
    asked(&mut context);
    host::sstore(context)
}

fn sstore_by_net_changes(mut context: Call<'_, '_>) -> InstructionExecResult {
    asked(&mut context);
    sstore_of_net_changes(context)
}
