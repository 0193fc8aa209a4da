//! The evaluation stack.

use super::super::{Fault, Item, Vm, opcode::*};

impl Vm {
    pub(super) fn stack_op(&mut self, op: u8) -> Result<(), Fault> {
        match op {
            DEPTH => {
                let depth = self.depth() as i64;
                self.push(Item::Int(depth));
            }
            DROP => drop(self.pop()?),
            NIP => self.remove_at(1)?,
            XDROP => {
                let depth = self.pop_size("XDROP")?;
                self.remove_at(depth)?;
            }
            CLEAR => {
                let base = self.base();
                while self.stack.len() > base {
                    self.pop()?;
                }
            }
            DUP => self.copy(0)?,
            OVER => self.copy(1)?,
            PICK => {
                let depth = self.pop_size("PICK")?;
                self.copy(depth)?;
            }
            TUCK => {
                let index = self.index(1)?;
                let item = self.peek(0)?.clone();
                self.heap.add(&item);
                self.stack.insert(index, item);
            }
            SWAP => self.roll(1)?,
            ROT => self.roll(2)?,
            ROLL => {
                let depth = self.pop_size("ROLL")?;
                self.roll(depth)?;
            }
            REVERSE3 => self.reverse(3)?,
            REVERSE4 => self.reverse(4)?,
            REVERSEN => {
                let count = self.pop_size("REVERSEN")?;
                self.reverse(count)?;
            }
            op => return Err(Fault::Opcode(op)),
        }
        Ok(())
    }

    /// Where the item `depth` below the top lies.
    fn index(&self, depth: usize) -> Result<usize, Fault> {
        if depth >= self.depth() {
            return Err(Fault::EmptyStack);
        }
        Ok(self.stack.len() - 1 - depth)
    }

    fn copy(&mut self, depth: usize) -> Result<(), Fault> {
        let item = self.peek(depth)?.clone();
        self.push(item);
        Ok(())
    }

    fn remove_at(&mut self, depth: usize) -> Result<(), Fault> {
        let index = self.index(depth)?;
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
            return Err(Fault::EmptyStack);
        }
        let start = self.stack.len() - count;
        self.stack[start..].reverse();
        Ok(())
    }
}
