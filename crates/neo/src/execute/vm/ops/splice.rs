//! Buffers and parts of byte strings.

use std::rc::Rc;

use super::super::{Fault, Item, MAX_SIZE, Vm, opcode::*};

impl Vm {
    pub(super) fn splice(&mut self, op: u8) -> Result<(), Fault> {
        let bytes = match op {
            NEWBUFFER => {
                let len = self.pop_size("invalid size")?;
                if len > MAX_SIZE {
                    return Err(Fault::Rule("invalid size"));
                }
                vec![0; len]
            }
            MEMCPY => return self.copy_bytes(),
            CAT => {
                let tail = self.pop()?.to_bytes()?;
                let mut all = self.pop()?.to_bytes()?;
                let len = all.len() + tail.len();
                if len > MAX_SIZE {
                    return Err(Fault::Message(format!("too big item: {len}")));
                }
                all.extend_from_slice(&tail);
                all
            }
            SUBSTR => {
                let len = self.pop_size("negative length")?;
                let start = self.pop_size("negative index")?;
                self.part(|_| start..start + len)?.ok_or(Fault::Rule("invalid offset"))?
            }
            LEFT => {
                let len = self.pop_size("negative length")?;
                self.part(|_| 0..len)?.ok_or(Fault::Rule("size is too big"))?
            }
            RIGHT => {
                let len = self.pop_size("negative length")?;
                let mut low = 0;
                let part = self.part(|all| {
                    low = all as i64 - len as i64;
                    all.wrapping_sub(len)..all
                })?;
                let out = || format!("runtime error: slice bounds out of range [{low}:]");
                part.ok_or_else(|| Fault::Message(out()))?
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
    ) -> Result<Option<Vec<u8>>, Fault> {
        self.pop()?.with_bytes(|all| all.get(range(all.len())).map(<[u8]>::to_vec))
    }

    fn copy_bytes(&mut self) -> Result<(), Fault> {
        let len = self.pop_size("invalid size")?;
        let from = self.pop_size("invalid source index")?;
        let source = self.pop()?;
        if source.with_bytes(|bytes| from + len > bytes.len())? {
            return Err(Fault::Rule("size is too big"));
        }
        let to = self.pop_size("invalid destination index")?;
        let item = self.pop()?;
        let Item::Buffer(buffer) = &item else { return Err(item.is_no("*stackitem.Buffer")) };
        let mut target = buffer.borrow_mut();
        if to + len > target.len() {
            return Err(Fault::Rule("size is too big"));
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
