//! The invocation stack: call frames and loaded scripts.

use std::sync::Arc;

use super::{
    Fault, Item, MAX_SIZE, Vm,
    exception::Try,
    opcode::{self, INVALID, OPERANDS, PREFIX_1, PREFIX_2, PREFIX_4},
};

/// Limit of frames.
pub const MAX_INVOCATIONS: usize = 1_024;

/// A script with its hash.
#[derive(Clone, Debug)]
pub struct Script {
    /// The instructions.
    pub code: Arc<[u8]>,
    /// The script hash; for a deployed contract the contract's hash.
    pub hash: [u8; 20],
}

/// The parameters for loading a script.
#[derive(Debug)]
pub struct Load {
    /// The script.
    pub script: Arc<Script>,
    /// The first instruction.
    pub offset: usize,
    /// Number of items that it must leave; -1: any number.
    pub results: i32,
    /// The hash of the caller; zero for an entry script.
    pub caller: [u8; 20],
    /// Its call flags.
    pub flags: u8,
    /// Its fee is fixed and already paid.
    pub whitelisted: bool,
    /// The caller gets exactly one item: null if the script leaves none.
    pub dynamic: bool,
    /// The tag that the host gets when the script ends.
    pub tag: Option<u32>,
    /// The host's index of the deployed contract.
    pub contract: Option<u32>,
}

/// A script that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Unloaded {
    /// The tag from its loading.
    pub tag: u32,
    /// Whether it ended without an exception.
    pub commit: bool,
}

/// A loaded script.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub script: Arc<Script>,
    /// Start of its evaluation stack.
    pub base: usize,
    pub statics: Option<Vec<Item>>,
    pub caller: [u8; 20],
    pub flags: u8,
    pub whitelisted: bool,
    pub dynamic: bool,
    /// It shares the evaluation stack of its caller.
    pub shared: bool,
    pub tag: Option<u32>,
    pub contract: Option<u32>,
}

/// A range of the slots of locals and arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub start: usize,
    pub len: usize,
}

/// A call.
#[derive(Debug)]
pub struct Frame {
    /// Index of the loaded script.
    pub(crate) script: usize,
    /// The current instruction.
    pub(crate) at: usize,
    /// The next one.
    pub(crate) next: usize,
    pub(crate) results: i32,
    pub(crate) locals: Option<Span>,
    pub(crate) arguments: Option<Span>,
    pub(crate) tries: Vec<Try>,
}

/// One decoded instruction.
pub(crate) struct Instruction {
    pub op: u8,
    /// The range of its operand in the script.
    pub start: usize,
    pub end: usize,
    /// An implicit return at the end of the script.
    pub implicit: bool,
}

impl Vm {
    /// Loads a script on top of the invocation stack.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are too many frames.
    pub fn load(&mut self, load: Load) -> Result<(), Fault> {
        self.check_invocations()?;
        // an entry script reuses an empty stack for its results
        let shared = !self.frames.is_empty() && load.results == -1 && self.depth() == 0;
        self.loaded.push(Loaded {
            script: load.script,
            base: self.stack.len(),
            statics: None,
            caller: load.caller,
            flags: load.flags,
            whitelisted: load.whitelisted,
            dynamic: load.dynamic,
            shared,
            tag: load.tag,
            contract: load.contract,
        });
        let script = self.loaded.len() - 1;
        self.frames.push(Frame::new(script, load.offset, load.results));
        Ok(())
    }

    pub(crate) fn check_invocations(&self) -> Result<(), Fault> {
        if self.frames.len() >= MAX_INVOCATIONS {
            return Err(Fault::TooManyInvocations);
        }
        Ok(())
    }

    /// Calls another position of the current script.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are too many frames or no such position.
    pub fn call(&mut self, offset: usize) -> Result<(), Fault> {
        self.check_invocations()?;
        let script = self.frames.last().ok_or(Fault::EmptyStack)?.script;
        self.frames.push(Frame::new(script, 0, -1));
        self.jump(offset)
    }

    pub(crate) fn jump(&mut self, offset: usize) -> Result<(), Fault> {
        let frame = self.frames.last_mut().ok_or(Fault::EmptyStack)?;
        if offset >= self.loaded[frame.script].script.code.len() {
            return Err(Fault::Jump);
        }
        frame.next = offset;
        Ok(())
    }

    /// Reads the next instruction.
    #[inline]
    pub(crate) fn fetch(&mut self) -> Result<Instruction, Fault> {
        let frame = self.frames.last_mut().ok_or(Fault::Rule("no program loaded"))?;
        let code = &self.loaded[frame.script].script.code;
        frame.at = frame.next;
        let at = frame.at;
        let Some(&op) = code.get(at) else {
            let end = code.len();
            self.current = (at, opcode::RET);
            return Ok(Instruction { op: opcode::RET, start: end, end, implicit: true });
        };
        self.current = (at, op);
        let operand = OPERANDS[usize::from(op)];
        let (start, len) = if operand <= 32 {
            (at + 1, usize::from(operand))
        } else {
            prefixed(code, at, op, operand)?
        };
        let end = start + len;
        if end > code.len() {
            return Err(Fault::Operand);
        }
        frame.next = end;
        Ok(Instruction { op, start, end, implicit: false })
    }

    /// The operand of an instruction.
    #[inline]
    pub(crate) fn operand(&self, instruction: &Instruction) -> &[u8] {
        let script = self.frames.last().map_or(0, |frame| frame.script);
        &self.loaded[script].script.code[instruction.start..instruction.end]
    }

    /// One byte of the operand.
    #[inline]
    pub(crate) fn operand_byte(&self, instruction: &Instruction, index: usize) -> u8 {
        self.operand(instruction)[index]
    }

    /// The target of a relative offset in the operand.
    #[inline]
    pub(crate) fn target(&self, relative: i32) -> Result<usize, Fault> {
        let frame = self.frames.last().ok_or(Fault::EmptyStack)?;
        let offset = frame.at as i64 + i64::from(relative);
        let len = self.loaded[frame.script].script.code.len();
        match usize::try_from(offset) {
            Ok(target) if target <= len => Ok(target),
            _ => Err(Fault::Offset { offset, at: frame.at }),
        }
    }

    /// The current frame.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.frames.last()
    }

    /// The number of frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn frame_mut(&mut self) -> Result<&mut Frame, Fault> {
        self.frames.last_mut().ok_or(Fault::EmptyStack)
    }

    pub(crate) fn current(&self) -> Option<&Loaded> {
        self.frames.last().map(|frame| &self.loaded[frame.script])
    }

    /// The offset of the current instruction.
    #[must_use]
    pub fn position(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.at)
    }

    /// The hash of the running script; zeros if none is loaded.
    #[must_use]
    pub fn current_hash(&self) -> [u8; 20] {
        self.current().map_or([0; 20], |loaded| loaded.script.hash)
    }

    /// The hash of the calling script; zeros for an entry script.
    #[must_use]
    pub fn calling_hash(&self) -> [u8; 20] {
        self.current().map_or([0; 20], |loaded| loaded.caller)
    }

    /// The hash of the entry script.
    #[must_use]
    pub fn entry_hash(&self) -> [u8; 20] {
        self.loaded.first().map_or([0; 20], |loaded| loaded.script.hash)
    }

    /// The call flags of the running script.
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.current().map_or(0, |loaded| loaded.flags)
    }

    /// The host's index of the running contract, if a contract runs.
    #[must_use]
    pub fn contract(&self) -> Option<u32> {
        self.current().and_then(|loaded| loaded.contract)
    }

    /// Reports whether the running script is the entry script or was called by it.
    #[must_use]
    pub fn is_called_by_entry(&self) -> bool {
        self.frames.last().is_none_or(|frame| frame.script <= 1)
    }

    /// Takes the scripts that ended since the last call, in order.
    pub fn take_unloaded(&mut self) -> Vec<Unloaded> {
        std::mem::take(&mut self.unloaded)
    }

    /// The static fields of the running script.
    #[must_use]
    pub fn statics(&self) -> Option<&[Item]> {
        self.current().and_then(|loaded| loaded.statics.as_deref())
    }
}

impl Frame {
    fn new(script: usize, next: usize, results: i32) -> Self {
        Self { script, at: 0, next, results, locals: None, arguments: None, tries: Vec::new() }
    }
}

/// Start and length of an operand with a length prefix.
fn prefixed(code: &[u8], at: usize, op: u8, prefix: u8) -> Result<(usize, usize), Fault> {
    let width = match prefix {
        PREFIX_1 => 1,
        PREFIX_2 => 2,
        PREFIX_4 => 4,
        INVALID => return Err(Fault::Opcode(op)),
        _ => return Err(Fault::Operand),
    };
    let bytes = code.get(at + 1..at + 1 + width).ok_or(Fault::Operand)?;
    let len = bytes.iter().rev().fold(0usize, |len, byte| len << 8 | usize::from(*byte));
    if prefix == PREFIX_4 && len > MAX_SIZE {
        return Err(Fault::Rule("parameter is too big"));
    }
    Ok((at + 1 + width, len))
}
