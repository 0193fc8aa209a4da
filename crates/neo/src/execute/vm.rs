//! NeoVM: stack items, opcodes, limits, exceptions.
//!
//! The machine knows no chain. At a system call, a call by token or the end of a script of the
//! host, [`Vm::run`] returns a [`Pause`]; the host handles it and resumes the machine.

pub mod copy;
pub mod equal;
mod exception;
mod fault;
mod frame;
mod heap;
mod integer;
mod item;
pub mod json;
pub mod opcode;
mod ops;
pub mod serialize;
#[cfg(test)]
mod tests;

pub use exception::MAX_TRY_DEPTH;
pub use fault::Fault;
pub use frame::{Frame, Load, MAX_INVOCATIONS, Script, Unloaded};
pub use heap::{Entries, Heap, Key, MAX_ITEMS};
pub use integer::Integer;
pub(crate) use integer::small_bytes;
pub use item::{Item, MAX_KEY_SIZE, MAX_SIZE, Pointer, Ref, Type};

use self::frame::Loaded;

/// Gas is counted in units of 10^-12; fees and limits of the chain are in units of 10^-8.
pub const PICO: u128 = 10_000;

/// Why the machine returns to its host.
#[derive(Debug)]
pub enum Pause {
    /// A system call, by its number.
    Syscall(u32),
    /// A call by the number of a token of the contract.
    Token(u16),
    /// Scripts with a tag were unloaded: see [`Vm::take_unloaded`].
    Unloaded,
    /// The execution has ended; the results are on the stack.
    Halt,
    /// The execution has failed, with the message of the application log.
    Fault(String),
}

/// The effect of an instruction on the control flow.
pub(crate) enum Flow {
    Next,
    Pause(Pause),
}

/// The settings of an execution that depend on the chain.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The fee of an opcode with coefficient 1, in units of 10^-12.
    pub fee_factor: u64,
    /// Gas limit in units of 10^-12; `None`: no limit.
    pub gas_limit: Option<u128>,
    /// Whether the hardfork Gorgon is active.
    pub gorgon: bool,
}

/// The virtual machine. It can run many executions in sequence.
#[derive(Debug)]
pub struct Vm {
    /// Arrays, structs and maps, and the count of items.
    pub heap: Heap,
    rules: Rules,
    gas: u128,
    /// The evaluation stacks of all loaded scripts, one above the other.
    stack: Vec<Item>,
    /// Locals and arguments of all frames, one above the other.
    slots: Vec<Item>,
    frames: Vec<Frame>,
    loaded: Vec<Loaded>,
    uncaught: Option<Item>,
    unloaded: Vec<Unloaded>,
    /// The last instruction paused before its item count was checked.
    incomplete: bool,
    /// Offset and opcode of the executed instruction.
    current: (usize, u8),
}

impl Vm {
    /// A machine without a script.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            heap: Heap::default(),
            rules,
            gas: 0,
            stack: Vec::with_capacity(64),
            slots: Vec::with_capacity(64),
            frames: Vec::with_capacity(8),
            loaded: Vec::with_capacity(8),
            uncaught: None,
            unloaded: Vec::new(),
            incomplete: false,
            current: (0, opcode::RET),
        }
    }

    /// Resets the machine for the next execution.
    pub fn reset(&mut self, rules: Rules) {
        self.heap.clear();
        self.rules = rules;
        self.gas = 0;
        self.stack.clear();
        self.slots.clear();
        self.frames.clear();
        self.loaded.clear();
        self.uncaught = None;
        self.unloaded.clear();
        self.incomplete = false;
        self.current = (0, opcode::RET);
    }

    /// Runs until the machine needs the host, or to the end.
    pub fn run(&mut self) -> Pause {
        if std::mem::take(&mut self.incomplete)
            && let Err(fault) = self.complete()
        {
            return self.fail(&fault);
        }
        loop {
            match self.step() {
                Ok(Flow::Next) => {}
                Ok(Flow::Pause(pause)) => return pause,
                Err(fault) => return self.fail(&fault),
            }
        }
    }

    /// Executes one instruction. Returns `None` if the machine can continue.
    pub fn step_into(&mut self) -> Option<Pause> {
        if std::mem::take(&mut self.incomplete)
            && let Err(fault) = self.complete()
        {
            return Some(self.fail(&fault));
        }
        match self.step() {
            Ok(Flow::Next) => None,
            Ok(Flow::Pause(pause)) => Some(pause),
            Err(fault) => Some(self.fail(&fault)),
        }
    }

    /// The fault message of the current instruction.
    pub fn fail(&mut self, fault: &dyn std::fmt::Display) -> Pause {
        let (at, op) = self.current;
        Pause::Fault(format!("at instruction {at} ({}): {fault}", opcode::name(op)))
    }

    #[inline]
    fn step(&mut self) -> Result<Flow, Fault> {
        let instruction = self.fetch()?;
        self.charge(instruction.op, instruction.implicit)?;
        match self.execute(&instruction)? {
            Flow::Next if !self.unloaded.is_empty() => {
                self.incomplete = true;
                Ok(Flow::Pause(Pause::Unloaded))
            }
            Flow::Next => {
                self.complete()?;
                Ok(Flow::Next)
            }
            pause @ Flow::Pause(_) => {
                self.incomplete = true;
                Ok(pause)
            }
        }
    }

    /// Completes an instruction: checks the item count.
    #[inline]
    fn complete(&mut self) -> Result<(), Fault> {
        if self.heap.count() > MAX_ITEMS {
            return Err(Fault::TooManyItems(self.heap.count()));
        }
        let waiting = self.heap.candidates();
        // an exception in flight holds items outside of the stacks: sweep rarely then
        if waiting > 0 && (self.uncaught.is_none() || waiting > 2 * MAX_ITEMS) {
            self.heap.sweep(self.uncaught.as_ref());
        }
        Ok(())
    }

    #[inline]
    fn charge(&mut self, op: u8, implicit: bool) -> Result<(), Fault> {
        if implicit || self.frames.last().is_some_and(|frame| self.loaded[frame.script].whitelisted)
        {
            return Ok(());
        }
        let price = u64::from(opcode::PRICES[usize::from(op)]);
        self.gas += u128::from(price * self.rules.fee_factor);
        self.check_gas()
    }

    #[inline]
    fn check_gas(&self) -> Result<(), Fault> {
        match self.rules.gas_limit {
            Some(limit) if self.gas > limit => Err(Fault::Gas),
            _ => Ok(()),
        }
    }

    /// Consumes gas in units of 10^-12. In a call with a fixed fee it consumes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Fault::Gas`] if the gas limit is exceeded.
    pub fn add_gas(&mut self, pico: u128) -> Result<(), Fault> {
        let free = self.frames.last().is_some_and(|frame| self.loaded[frame.script].whitelisted);
        if !free {
            self.gas = self.gas.saturating_add(pico);
        }
        self.check_gas()
    }

    /// The gas consumed in units of 10^-8, rounded up.
    #[must_use]
    pub fn gas_consumed(&self) -> u64 {
        let consumed = self.gas.div_ceil(PICO);
        let limit = self.rules.gas_limit.unwrap_or(u128::MAX) / PICO;
        u64::try_from(consumed)
            .ok()
            .filter(|consumed| i64::try_from(*consumed).is_ok())
            .unwrap_or(limit as u64)
    }

    /// The remaining gas in units of 10^-8, rounded down; -1 without a limit.
    #[must_use]
    pub fn gas_left(&self) -> i64 {
        match self.rules.gas_limit {
            None => -1,
            Some(limit) => (limit.saturating_sub(self.gas) / PICO) as i64,
        }
    }

    /// The fee of an opcode with coefficient 1, in units of 10^-12.
    #[must_use]
    pub fn fee_factor(&self) -> u64 {
        self.rules.fee_factor
    }

    /// The items on the current stack, the top last.
    #[must_use]
    pub fn stack(&self) -> &[Item] {
        &self.stack[self.base()..]
    }

    /// The start of the current stack.
    #[inline]
    pub(crate) fn base(&self) -> usize {
        match self.frames.last() {
            Some(frame) => self.loaded[frame.script].base,
            None => 0,
        }
    }

    /// Pushes and counts an item.
    #[inline]
    pub fn push(&mut self, item: Item) {
        self.heap.add(&item);
        self.stack.push(item);
    }

    /// Pushes an item that is already counted.
    #[inline]
    pub(crate) fn push_counted(&mut self, item: Item) {
        self.stack.push(item);
    }

    /// Pops an item.
    ///
    /// # Errors
    ///
    /// Returns [`Fault::EmptyStack`] if the stack is empty.
    #[inline]
    pub fn pop(&mut self) -> Result<Item, Fault> {
        let item = self.pop_counted()?;
        self.heap.remove(&item);
        Ok(item)
    }

    /// Pops an item that stays counted.
    #[inline]
    pub(crate) fn pop_counted(&mut self) -> Result<Item, Fault> {
        if self.stack.len() <= self.base() {
            return Err(Fault::EmptyStack);
        }
        self.stack.pop().ok_or(Fault::EmptyStack)
    }

    /// The item `depth` below the top.
    ///
    /// # Errors
    ///
    /// Returns [`Fault::EmptyStack`] if the stack has no such item.
    pub fn peek(&self, depth: usize) -> Result<&Item, Fault> {
        let stack = self.stack();
        let index = stack.len().checked_sub(depth + 1).ok_or(Fault::EmptyStack)?;
        Ok(&stack[index])
    }

    /// The number of items on the current stack.
    #[inline]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.stack.len() - self.base()
    }
}
