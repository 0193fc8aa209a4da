//! What a block reads of the state, counted where the machine asks for it.

use super::rules::{Surroundings, sstore_of_net_changes};
use super::{View, notes};
use crate::params::Fork;
use revm::bytecode::opcode;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::host;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult};

/// What an instruction is given.
pub(super) type Call<'a, 's> = InstructionContext<'a, Surroundings<View<'s>>, EthInterpreter>;

/// What a block read of the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Accounts that were looked up in it.
    pub accounts: u64,
    /// Slots that were looked up in it.
    pub slots: u64,
    /// SLOADs and SSTOREs, each of which needs the value of a slot.
    pub asked: u64,
}

impl Reads {
    /// Instructions whose slot stood in the machine's journal already: what it had read before it
    /// did not read again.
    #[must_use]
    pub fn slot_hits(&self) -> u64 {
        self.asked.saturating_sub(self.slots)
    }
}

/// Has SLOAD and SSTORE counted, and where asked for what is hashed noted. Their gas stands in
/// another table, which stays as it is.
pub(super) fn count(
    instructions: &mut EthInstructions<EthInterpreter, Surroundings<View<'_>>>,
    fork: Fork,
    hashes: bool,
) {
    let table = instructions.instruction_table_mut();
    if hashes {
        table[usize::from(opcode::KECCAK256)] = Instruction::new(notes::keccak256);
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
    let View { reads, notes, .. } = &mut context.host.journaled_state.database;
    reads.asked += 1;
    if notes.are_taken()
        && let Some(slot) = context.interpreter.stack.top()
    {
        notes.slot((context.interpreter.input.target_address().0.0, *slot));
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
