//! Bits, and equality of any two items.

use num_bigint::BigInt;

use super::super::{Fault, Item, Vm, equal, integer::Integer, opcode::*};

impl Vm {
    pub(super) fn bits(&mut self, op: u8) -> Result<(), Fault> {
        let item = match op {
            INVERT => match self.pop_integer()? {
                Integer::Small(a) => Item::Int(!a),
                Integer::Big(a) => Item::integer(!BigInt::clone(&a))?,
            },
            EQUAL | NOTEQUAL => {
                if self.depth() < 2 {
                    return Err(Fault::Rule("need a pair of elements on the stack"));
                }
                let b = self.pop()?;
                let a = self.pop()?;
                Item::Bool(equal::equal(&self.heap, &a, &b)? == (op == EQUAL))
            }
            AND | OR | XOR => {
                let b = self.pop_integer()?;
                let a = self.pop_integer()?;
                match (op, a, b) {
                    (AND, Integer::Small(a), Integer::Small(b)) => Item::Int(a & b),
                    (OR, Integer::Small(a), Integer::Small(b)) => Item::Int(a | b),
                    (XOR, Integer::Small(a), Integer::Small(b)) => Item::Int(a ^ b),
                    (AND, a, b) => Item::integer(a.to_big() & b.to_big())?,
                    (OR, a, b) => Item::integer(a.to_big() | b.to_big())?,
                    (_, a, b) => Item::integer(a.to_big() ^ b.to_big())?,
                }
            }
            op => return Err(Fault::Opcode(op)),
        };
        self.push(item);
        Ok(())
    }
}
