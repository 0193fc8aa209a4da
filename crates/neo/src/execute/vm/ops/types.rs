//! Questions about types, and conversions.

use super::super::{Fault, Item, Type, Vm, frame::Instruction, opcode::*};

impl Vm {
    pub(super) fn type_op(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        if instruction.op == ISNULL {
            let item = self.pop()?;
            self.push(Item::Bool(matches!(item, Item::Null)));
            return Ok(());
        }
        let number = self.operand_byte(instruction, 0);
        let item = self.pop()?;
        let kind = Type::from_byte(number);
        let result = match (instruction.op, kind) {
            (ISTYPE, Some(Type::Any) | None) => return Err(Fault::Type(number)),
            (ISTYPE, Some(kind)) => Item::Bool(item.kind() == kind),
            (CONVERT, Some(kind)) => item.convert(&mut self.heap, kind)?,
            (CONVERT, None) => {
                return Err(Fault::Conversion { from: item.shown(), to: "INVALID" });
            }
            (op, _) => return Err(Fault::Opcode(op)),
        };
        self.push(result);
        Ok(())
    }
}
