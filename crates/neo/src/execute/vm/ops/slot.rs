//! Static fields, locals and arguments.

use super::super::{
    Fault, Item, Vm,
    frame::{Instruction, Span},
    opcode::*,
};

/// The three kinds of slots.
#[derive(Clone, Copy)]
enum SlotKind {
    Static,
    Local,
    Argument,
}

impl Vm {
    pub(super) fn slot_op(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        let op = instruction.op;
        let (kind, first) = match op {
            INITSSLOT => return self.init_statics(usize::from(self.operand_byte(instruction, 0))),
            INITSLOT => {
                let locals = usize::from(self.operand_byte(instruction, 0));
                let arguments = usize::from(self.operand_byte(instruction, 1));
                return self.init_slots(locals, arguments);
            }
            LDSFLD0..=LDSFLD => (SlotKind::Static, LDSFLD0),
            STSFLD0..=STSFLD => (SlotKind::Static, STSFLD0),
            LDLOC0..=LDLOC => (SlotKind::Local, LDLOC0),
            STLOC0..=STLOC => (SlotKind::Local, STLOC0),
            LDARG0..=LDARG => (SlotKind::Argument, LDARG0),
            _ => (SlotKind::Argument, STARG0),
        };
        let index = match op - first {
            short @ 0..=6 => usize::from(short),
            _ => usize::from(self.operand_byte(instruction, 0)),
        };
        let load = matches!(first, LDSFLD0 | LDLOC0 | LDARG0);
        if load {
            let slots = self.slots_mut(kind).map_or(&[][..], |slots| slots);
            let absent = Fault::Slot { index, len: slots.len() };
            let item = slots.get(index).ok_or(absent)?.clone();
            self.push(item);
            return Ok(());
        }
        let len = self.slots_mut(kind)?.len();
        if index >= len {
            return Err(Fault::StoreSlot { index, len });
        }
        let item = self.pop_counted()?;
        let old = std::mem::replace(&mut self.slots_mut(kind)?[index], item);
        self.heap.remove(&old);
        Ok(())
    }

    fn slots_mut(&mut self, kind: SlotKind) -> Result<&mut [Item], Fault> {
        let frame = self.frames.last().ok_or(Fault::EmptyStack)?;
        let span = match kind {
            SlotKind::Static => {
                let statics = self.loaded[frame.script].statics.as_deref_mut();
                return statics.ok_or(Fault::NoSlot);
            }
            SlotKind::Local => frame.locals,
            SlotKind::Argument => frame.arguments,
        };
        let Span { start, len } = span.ok_or(Fault::NoSlot)?;
        Ok(&mut self.slots[start..start + len])
    }

    fn init_statics(&mut self, count: usize) -> Result<(), Fault> {
        if count == 0 {
            return Err(Fault::Rule("zero argument"));
        }
        let script = self.frame_mut()?.script;
        let statics = &mut self.loaded[script].statics;
        if statics.is_some() {
            return Err(Fault::Initialized);
        }
        *statics = Some(vec![Item::Null; count]);
        self.heap.count_more(count);
        Ok(())
    }

    fn init_slots(&mut self, locals: usize, arguments: usize) -> Result<(), Fault> {
        let frame = self.frame_mut()?;
        if frame.locals.is_some() || frame.arguments.is_some() {
            return Err(Fault::Initialized);
        }
        if locals == 0 && arguments == 0 {
            return Err(Fault::Rule("zero argument"));
        }
        if locals > 0 {
            let start = self.slots.len();
            self.slots.resize(start + locals, Item::Null);
            self.heap.count_more(locals);
            self.frame_mut()?.locals = Some(Span { start, len: locals });
        }
        if arguments > 0 {
            let start = self.slots.len();
            for _ in 0..arguments {
                let item = self.pop_counted()?;
                self.slots.push(item);
            }
            self.frame_mut()?.arguments = Some(Span { start, len: arguments });
        }
        Ok(())
    }
}
