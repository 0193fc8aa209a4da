//! Buffers and parts of byte strings.

use std::rc::Rc;

use super::super::{Fault, Item, MAX_SIZE, Vm, opcode::*};

impl Vm {
    pub(super) fn splice(&mut self, op: u8) -> Result<(), Fault> {
        let bytes = match op {
            NEWBUFFER => {
                let len = self.pop_size("size")?;
                if len > MAX_SIZE {
                    return Err(Fault::TooBig(len));
                }
                vec![0; len]
            }
            MEMCPY => return self.copy_bytes(),
            CAT => {
                let tail = self.pop()?;
                let mut all = self.pop()?.to_bytes()?;
                tail.with_bytes(|tail| all.extend_from_slice(tail))?;
                if all.len() > MAX_SIZE {
                    return Err(Fault::TooBig(all.len()));
                }
                all
            }
            SUBSTR => {
                let len = self.pop_size("length")?;
                let start = self.pop_size("index")?;
                self.part(|_| start..start + len)?
            }
            LEFT => {
                let len = self.pop_size("length")?;
                self.part(|_| 0..len)?
            }
            RIGHT => {
                let len = self.pop_size("length")?;
                self.part(|all| all.wrapping_sub(len)..all)?
            }
            op => return Err(Fault::Opcode(op)),
        };
        self.push(Item::buffer(bytes));
        Ok(())
    }

    /// A range of the bytes on top, as a function of their number.
    fn part(
        &mut self,
        range: impl FnOnce(usize) -> std::ops::Range<usize>,
    ) -> Result<Vec<u8>, Fault> {
        let part = self.pop()?.with_bytes(|all| all.get(range(all.len())).map(<[u8]>::to_vec))?;
        part.ok_or(Fault::Range("part of bytes"))
    }

    fn copy_bytes(&mut self) -> Result<(), Fault> {
        let len = self.pop_size("size")?;
        let from = self.pop_size("source index")?;
        let source = self.pop()?;
        if source.with_bytes(|bytes| from + len > bytes.len())? {
            return Err(Fault::Range("source"));
        }
        let to = self.pop_size("destination index")?;
        let item = self.pop()?;
        let Item::Buffer(buffer) = &item else { return Err(Fault::ItemType(item.kind())) };
        let mut target = buffer.borrow_mut();
        if to + len > target.len() {
            return Err(Fault::Range("destination"));
        }
        match &source {
            Item::Buffer(same) if Rc::ptr_eq(same, buffer) => {
                target.copy_within(from..from + len, to);
            }
            source => source.with_bytes(|bytes| {
                target[to..to + len].copy_from_slice(&bytes[from..from + len]);
            })?,
        }
        Ok(())
    }
}
