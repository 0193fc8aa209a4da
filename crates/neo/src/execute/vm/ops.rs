//! Implementations of the opcodes, in groups.

mod arithmetic;
mod bits;
mod change;
mod collection;
mod compound;
mod flow;
mod slot;
mod splice;
mod stack;
mod types;

use super::{Fault, Flow, Item, Vm, frame::Instruction, integer::Integer, opcode::*};

impl Vm {
    /// Executes one instruction. The caller checks the item count.
    #[inline]
    pub(super) fn execute(&mut self, instruction: &Instruction) -> Result<Flow, Fault> {
        match instruction.op {
            PUSHINT8..=PUSH16 => self.constant(instruction)?,
            NOP => {}
            JMP..=SYSCALL => return self.flow(instruction),
            DEPTH..=REVERSEN => self.stack_op(instruction.op)?,
            INITSSLOT..=STARG => self.slot_op(instruction)?,
            NEWBUFFER..=RIGHT => self.splice(instruction.op)?,
            INVERT..=NOTEQUAL => self.bits(instruction.op)?,
            SIGN..=WITHIN => self.arithmetic(instruction.op)?,
            PACKMAP..=POPITEM => self.compound(instruction)?,
            ISNULL..=CONVERT => self.type_op(instruction)?,
            ABORTMSG | ASSERTMSG => self.abort(instruction.op)?,
            op => return Err(Fault::Opcode(op)),
        }
        Ok(Flow::Next)
    }

    fn constant(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        let op = instruction.op;
        let item = match op {
            PUSHINT8..=PUSHINT256 => Item::from(Integer::from_bytes(self.operand(instruction))?),
            PUSHM1..=PUSH16 => Item::Int(i64::from(op) - i64::from(PUSH0)),
            PUSHT => Item::Bool(true),
            PUSHF => Item::Bool(false),
            PUSHNULL => Item::Null,
            PUSHDATA1 | PUSHDATA2 | PUSHDATA4 => Item::bytes(self.operand(instruction)),
            PUSHA => self.pointer(instruction)?,
            op => return Err(Fault::Opcode(op)),
        };
        self.push(item);
        Ok(())
    }

    /// Pops an integer.
    ///
    /// # Errors
    ///
    /// Returns a fault if the stack is empty or the item is no integer.
    #[inline]
    pub fn pop_integer(&mut self) -> Result<Integer, Fault> {
        self.pop()?.to_integer()
    }

    /// Pops an integer of 32 bits.
    ///
    /// # Errors
    ///
    /// Returns the faults of [`Vm::pop_integer`], and a fault if it does not fit.
    #[inline]
    pub fn pop_i32(&mut self) -> Result<i32, Fault> {
        self.pop_integer()?.to_i32()
    }

    /// Pops a non-negative size or index.
    #[inline]
    pub(crate) fn pop_size(&mut self, what: &'static str) -> Result<usize, Fault> {
        usize::try_from(self.pop_i32()?).map_err(|_| Fault::Rule(what))
    }
}
