//! Exceptions: `TRY`, `CATCH`, `FINALLY` and unwinding.

use super::{Fault, Item, Type, Unloaded, Vm, frame::Frame};

/// Nesting limit of `TRY` blocks in a call.
pub const MAX_TRY_DEPTH: usize = 16;

/// The state of a `TRY` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Try,
    Catch,
    Finally,
}

/// A `TRY` block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    pub catch: Option<usize>,
    pub finally: Option<usize>,
    pub end: Option<usize>,
    pub stage: Stage,
}

impl Vm {
    /// Throws an exception.
    ///
    /// # Errors
    ///
    /// Returns a fault if nothing catches it.
    pub fn throw(&mut self, item: Item) -> Result<(), Fault> {
        self.uncaught = Some(item);
        self.handle()
    }

    /// Reports whether an exception is in flight.
    #[must_use]
    pub fn has_uncaught(&self) -> bool {
        self.uncaught.is_some()
    }

    /// Jumps to the nearest handler or `FINALLY` block.
    pub(crate) fn handle(&mut self) -> Result<(), Fault> {
        for index in (0..self.frames.len()).rev() {
            let tries = &mut self.frames[index].tries;
            while let Some(last) = tries.last() {
                let used = last.stage == Stage::Finally
                    || last.stage == Stage::Catch && last.finally.is_none();
                if !used {
                    break;
                }
                tries.pop();
            }
            if !tries.is_empty() {
                return self.unwind(index);
            }
        }
        Err(Fault::Unhandled(self.unhandled()))
    }

    /// Unloads all frames above one and continues in its last `TRY` block.
    fn unwind(&mut self, index: usize) -> Result<(), Fault> {
        let script = self.frames[index].script;
        let above = self.loaded[script + 1..].iter().find(|loaded| !loaded.shared);
        let base = above.map(|loaded| loaded.base);
        while self.frames.len() > index + 1 {
            let Some(frame) = self.frames.pop() else { break };
            self.unload(frame)?;
        }
        // the items of the dropped stacks stay counted
        if let Some(base) = base {
            self.stack.truncate(base);
        }
        let frame = &mut self.frames[index];
        let Some(block) = frame.tries.last_mut() else { return Err(Fault::EmptyStack) };
        let target = match (block.stage, block.catch) {
            (Stage::Try, Some(catch)) => {
                block.stage = Stage::Catch;
                let item = self.uncaught.take().ok_or(Fault::EmptyStack)?;
                self.push(item);
                catch
            }
            _ => {
                block.stage = Stage::Finally;
                block.finally.ok_or(Fault::Jump)?
            }
        };
        self.jump(target)
    }

    /// The message of an uncaught exception: its value, if that converts to bytes.
    fn unhandled(&self) -> String {
        let Some(item) = &self.uncaught else { return "unhandled exception".into() };
        let carrier = match item {
            Item::Array(place) => self.heap.list(*place).first(),
            other => Some(other),
        };
        match carrier.map(|item| item.with_bytes(quoted)) {
            Some(Ok(text)) if item.kind() != Type::Interop => {
                format!("unhandled exception: {text}")
            }
            _ => "unhandled exception".into(),
        }
    }

    /// Drops a frame with its slots, and its script with the script's last frame.
    pub(crate) fn unload(&mut self, frame: Frame) -> Result<(), Fault> {
        for span in [frame.locals, frame.arguments].into_iter().flatten() {
            for index in span.start..span.start + span.len {
                let item = std::mem::replace(&mut self.slots[index], Item::Null);
                self.heap.remove(&item);
            }
        }
        let kept = [frame.locals, frame.arguments].into_iter().flatten().map(|span| span.start);
        if let Some(start) = kept.min() {
            self.slots.truncate(start);
        }
        if self.frames.last().is_some_and(|below| below.script == frame.script) {
            return Ok(());
        }
        self.unload_script()
    }

    fn unload_script(&mut self) -> Result<(), Fault> {
        let Some(loaded) = self.loaded.pop() else { return Ok(()) };
        for item in loaded.statics.iter().flatten() {
            self.heap.remove(item);
        }
        let commit = self.uncaught.is_none();
        if let Some(tag) = loaded.tag {
            self.unloaded.push(Unloaded { tag, commit });
        }
        if commit && loaded.dynamic {
            match self.stack.len() - loaded.base {
                0 => self.push(Item::Null),
                1 => {}
                _ => return Err(Fault::ManyResults),
            }
        }
        Ok(())
    }

    /// Reports whether a `TRY` block of the running contract is open.
    #[must_use]
    pub fn contract_has_try(&self) -> bool {
        let Some(top) = self.frames.last() else { return false };
        self.frames
            .iter()
            .rev()
            .take_while(|frame| frame.script == top.script)
            .any(|frame| frame.tries.iter().any(|block| block.stage == Stage::Try))
    }
}

/// Bytes in double quotes, as Go's `%q` writes them.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\u{7}' => text.push_str("\\a"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{b}' => text.push_str("\\v"),
                char if (char as u32) < 0x20 || char as u32 == 0x7f => {
                    text.push_str(&format!("\\x{:02x}", char as u32));
                }
                char if (0x80..0xa0).contains(&(char as u32)) => {
                    text.push_str(&format!("\\u{:04x}", char as u32));
                }
                char => text.push(char),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text.push('"');
    text
}
