//! Jumps, calls, exceptions, returns.

use std::rc::Rc;

use super::super::{
    Fault, Flow, Item, Pause, Pointer, Vm,
    exception::{MAX_TRY_DEPTH, Stage, Try},
    frame::Instruction,
    opcode::*,
};

impl Vm {
    pub(super) fn flow(&mut self, instruction: &Instruction) -> Result<Flow, Fault> {
        match instruction.op {
            JMP..=JMPLEL => self.jump_if(instruction)?,
            CALL | CALLL => {
                let target = self.target(self.relative(instruction))?;
                self.call(target)?;
            }
            CALLA => self.call_pointer()?,
            CALLT => {
                let operand = self.operand(instruction);
                let token = u16::from_le_bytes([operand[0], operand[1]]);
                return Ok(Flow::Pause(Pause::Token(token)));
            }
            ABORT => return Err(Fault::Rule("ABORT")),
            ASSERT => {
                if !self.pop()?.to_bool()? {
                    return Err(Fault::Rule("ASSERT failed"));
                }
            }
            THROW => {
                let item = self.pop()?;
                self.throw(item)?;
            }
            TRY | TRYL => self.enter_try(instruction)?,
            ENDTRY | ENDTRYL => self.end_try(instruction)?,
            ENDFINALLY => {
                self.end_finally()?;
            }
            RET => return self.ret(),
            SYSCALL => {
                let number = self.relative(instruction) as u32;
                return Ok(Flow::Pause(Pause::Syscall(number)));
            }
            op => return Err(Fault::Opcode(op)),
        }
        Ok(Flow::Next)
    }

    /// The operand as a signed number of one or four bytes.
    #[inline]
    fn relative(&self, instruction: &Instruction) -> i32 {
        match *self.operand(instruction) {
            [byte] => i32::from(byte.cast_signed()),
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    fn jump_if(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        let target = self.target(self.relative(instruction))?;
        let taken = match instruction.op {
            JMP | JMPL => true,
            JMPIF | JMPIFL => self.pop()?.to_bool()?,
            JMPIFNOT | JMPIFNOTL => !self.pop()?.to_bool()?,
            op => {
                let b = self.pop_integer()?;
                let a = self.pop_integer()?;
                match op {
                    JMPEQ | JMPEQL => a == b,
                    JMPNE | JMPNEL => a != b,
                    JMPGT | JMPGTL => a > b,
                    JMPGE | JMPGEL => a >= b,
                    JMPLT | JMPLTL => a < b,
                    _ => a <= b,
                }
            }
        };
        if taken { self.jump(target) } else { Ok(()) }
    }

    /// A pointer to a position of the running script.
    pub(super) fn pointer(&self, instruction: &Instruction) -> Result<Item, Fault> {
        let position = self.target(self.relative(instruction))? as u32;
        Ok(Item::Pointer(Rc::new(Pointer { position, script: self.current_hash() })))
    }

    fn call_pointer(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        let Item::Pointer(pointer) = &item else {
            return Err(item.is_no("*stackitem.Pointer"));
        };
        if pointer.script != self.current_hash() {
            return Err(Fault::Rule("invalid script in pointer"));
        }
        self.call(pointer.position as usize)
    }

    fn enter_try(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        if self.frame_mut()?.tries.len() >= MAX_TRY_DEPTH {
            return Err(Fault::TryDepth);
        }
        let operand = self.operand(instruction);
        let (catch, finally) = match *operand {
            [catch, finally] => (i32::from(catch.cast_signed()), i32::from(finally.cast_signed())),
            [a, b, c, d, e, f, g, h] => {
                (i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h]))
            }
            _ => return Err(Fault::Operand),
        };
        if catch == 0 && finally == 0 {
            return Err(Fault::Rule("invalid offset for TRY*"));
        }
        let (catch_at, finally_at) = (self.target(catch)?, self.target(finally)?);
        self.frame_mut()?.tries.push(Try {
            catch: (catch != 0).then_some(catch_at),
            finally: (finally != 0).then_some(finally_at),
            end: None,
            stage: Stage::Try,
        });
        Ok(())
    }

    fn end_try(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        let relative = self.relative(instruction);
        let end = {
            let block = self.frame_mut()?.tries.last().ok_or(Fault::EmptyStack)?;
            if block.stage == Stage::Finally {
                return Err(Fault::Rule("invalid exception handling state during ENDTRY*"));
            }
            self.target(relative)?
        };
        let tries = &mut self.frame_mut()?.tries;
        let Some(block) = tries.last_mut() else { return Err(Fault::EmptyStack) };
        let target = match block.finally {
            Some(finally) => {
                block.stage = Stage::Finally;
                block.end = Some(end);
                finally
            }
            None => {
                tries.pop();
                end
            }
        };
        self.jump(target)
    }

    fn end_finally(&mut self) -> Result<(), Fault> {
        if self.has_uncaught() {
            return self.handle();
        }
        let block = self.frame_mut()?.tries.pop().ok_or(Fault::EmptyStack)?;
        self.jump(block.end.ok_or(Fault::Jump)?)
    }

    fn ret(&mut self) -> Result<Flow, Fault> {
        let own_stack = match &self.frames[..] {
            [.., below, frame] => below.script != frame.script && !self.loaded[frame.script].shared,
            _ => false,
        };
        if own_stack {
            // the results are already on top of the caller's items; with a wrong number of results
            // the remaining stack belongs to this frame
            let found = self.depth();
            let expected = self.frames.last().map_or(-1, |frame| frame.results);
            if expected >= 0 && found != expected as usize {
                return Err(Fault::Results { expected, found });
            }
        }
        let frame = self.frames.pop().ok_or(Fault::EmptyStack)?;
        let halt = self.frames.is_empty();
        self.unload(frame)?;
        Ok(if halt { Flow::Pause(Pause::Halt) } else { Flow::Next })
    }

    pub(super) fn abort(&mut self, op: u8) -> Result<(), Fault> {
        let message = self.pop()?.to_text()?;
        if op == ABORTMSG {
            return Err(Fault::Message(format!("ABORTMSG is executed. Reason: {message}")));
        }
        if self.pop()?.to_bool()? {
            return Ok(());
        }
        Err(Fault::Message(format!("ASSERTMSG is executed with false result. Reason: {message}")))
    }
}
