//! The evaluation stack.

use super::super::{Fault, Item, Vm, opcode::*};

impl Vm {
    pub(super) fn stack_op(&mut self, op: u8) -> Result<(), Fault> {
        match op {
            DEPTH => {
                let depth = self.depth() as i64;
                self.push(Item::Int(depth));
            }
            DROP => {
                self.index(0).map_err(|_| Fault::Rule("stack is too small"))?;
                self.pop()?;
            }
            NIP => self.remove_at(1, "no second element found")?,
            XDROP => {
                let depth = self.pop_size("invalid length")?;
                self.remove_at(depth, "bad index")?;
            }
            CLEAR => {
                let base = self.base();
                while self.stack.len() > base {
                    self.pop()?;
                }
            }
            DUP => {
                let item = self.peek(0)?.clone();
                self.push(item);
            }
            OVER => self.copy(1, "no second element found")?,
            PICK => {
                let depth = self.pop_size("negative stack item returned")?;
                self.copy(depth, "no nth element found")?;
            }
            TUCK => {
                let index = self.index(1).map_err(|_| Fault::Rule("too short stack to TUCK"))?;
                let item = self.peek(0)?.clone();
                self.heap.add(&item);
                self.stack.insert(index, item);
            }
            SWAP => self.roll(1)?,
            ROT => self.roll(2)?,
            ROLL => {
                let depth = self.pop_size("negative index")?;
                self.roll(depth)?;
            }
            REVERSE3 => self.reverse(3)?,
            REVERSE4 => self.reverse(4)?,
            REVERSEN => {
                let count = self.pop_size("negative index")?;
                self.reverse(count)?;
            }
            op => return Err(Fault::Opcode(op)),
        }
        Ok(())
    }

    /// The index of the item `depth` below the top.
    fn index(&self, depth: usize) -> Result<usize, Fault> {
        if depth >= self.depth() {
            return Err(Fault::Rule("too big index"));
        }
        Ok(self.stack.len() - 1 - depth)
    }

    fn copy(&mut self, depth: usize, absent: &'static str) -> Result<(), Fault> {
        let item = self.peek(depth).map_err(|_| Fault::Rule(absent))?.clone();
        self.push(item);
        Ok(())
    }

    fn remove_at(&mut self, depth: usize, absent: &'static str) -> Result<(), Fault> {
        let index = self.index(depth).map_err(|_| Fault::Rule(absent))?;
        let item = self.stack.remove(index);
        self.heap.remove(&item);
        Ok(())
    }

    fn roll(&mut self, depth: usize) -> Result<(), Fault> {
        let index = self.index(depth)?;
        self.stack[index..].rotate_left(1);
        Ok(())
    }

    fn reverse(&mut self, count: usize) -> Result<(), Fault> {
        if count > self.depth() {
            return Err(Fault::Rule("too big index"));
        }
        let start = self.stack.len() - count;
        self.stack[start..].reverse();
        Ok(())
    }
}
