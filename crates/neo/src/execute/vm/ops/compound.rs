//! Opcodes that create and unpack arrays, structs and maps.

use super::super::{
    Entries, Fault, Item, Key, MAX_ITEMS, Ref, Type, Vm, copy, frame::Instruction, opcode::*,
};

impl Vm {
    pub(super) fn compound(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        match instruction.op {
            NEWARRAY0 => {
                let item = self.heap.new_array(Vec::new());
                self.push(item);
            }
            NEWSTRUCT0 => {
                let item = self.heap.new_struct(Vec::new());
                self.push(item);
            }
            NEWMAP => {
                let item = self.heap.new_map(Entries::new());
                self.push(item);
            }
            NEWARRAY | NEWARRAYT | NEWSTRUCT => self.new_filled(instruction)?,
            PACK | PACKSTRUCT => self.pack(instruction.op)?,
            PACKMAP => self.pack_map()?,
            UNPACK => self.unpack()?,
            KEYS => self.keys()?,
            VALUES => self.values()?,
            SIZE => self.size()?,
            HASKEY => self.has_key()?,
            PICKITEM => self.pick_item()?,
            APPEND => self.append()?,
            SETITEM => self.set_item()?,
            REVERSEITEMS => self.reverse_items()?,
            REMOVE => self.remove_item()?,
            CLEARITEMS => self.clear_items()?,
            POPITEM => self.pop_item()?,
            op => return Err(Fault::Opcode(op)),
        }
        Ok(())
    }

    /// Pushes a new compound. Its contents are already counted or counted by `count`.
    fn push_new(&mut self, item: Item, count: usize) {
        if let Some(place) = item.place() {
            self.heap.increment(place);
        }
        self.heap.count_more(count);
        self.push_counted(item);
    }

    fn new_filled(&mut self, instruction: &Instruction) -> Result<(), Fault> {
        let len = self.pop_size("wrong number of elements")?;
        if len > MAX_ITEMS {
            return Err(Fault::Rule("wrong number of elements"));
        }
        let kind = match instruction.op {
            NEWARRAYT => {
                let number = self.operand_byte(instruction, 0);
                {
                    let invalid = || format!("invalid stack item type: {number}");
                    Type::from_byte(number).ok_or_else(|| Fault::Message(invalid()))?
                }
            }
            _ => Type::Any,
        };
        let first = match kind {
            Type::Boolean => Item::Bool(false),
            Type::Integer => Item::Int(0),
            Type::ByteString => Item::bytes(&[]),
            _ => Item::Null,
        };
        let items = vec![first; len];
        let item = match instruction.op {
            NEWSTRUCT => self.heap.new_struct(items),
            _ => self.heap.new_array(items),
        };
        self.push_new(item, len + 1);
        Ok(())
    }

    fn pack(&mut self, op: u8) -> Result<(), Fault> {
        let len = self.pop_size("OPACK: invalid length")?;
        if len > self.depth() {
            return Err(Fault::Rule("OPACK: invalid length"));
        }
        let mut items = self.stack.split_off(self.stack.len() - len);
        items.reverse();
        let item = match op {
            PACK => self.heap.new_array(items),
            _ => self.heap.new_struct(items),
        };
        self.push_new(item, 1);
        Ok(())
    }

    fn pack_map(&mut self) -> Result<(), Fault> {
        let len = self.pop_size("invalid length")?;
        if len * 2 > self.depth() {
            return Err(Fault::Rule("invalid length"));
        }
        let mut entries = Entries::with_capacity(len);
        for _ in 0..len {
            let key = self.pop_counted()?;
            let value = self.pop_counted()?;
            key.check_key()?;
            if let Some(old) = entries.insert(Key(key), value) {
                self.heap.count_less(1);
                self.heap.remove(&old);
            }
        }
        let item = self.heap.new_map(entries);
        self.push_new(item, 1);
        Ok(())
    }

    /// Pops a compound. Returns whether it is still referenced, so that its items stay counted.
    fn take_compound(&mut self, other: &'static str) -> Result<(Item, Ref, bool), Fault> {
        let item = self.pop_counted()?;
        let place = item.place().ok_or(Fault::Rule(other))?;
        self.heap.decrement(place);
        let shared = self.heap.is_referenced(place);
        Ok((item, place, shared))
    }

    fn unpack(&mut self) -> Result<(), Fault> {
        let other = "element is not an array/struct/map";
        let (item, place, shared) = self.take_compound(other)?;
        self.heap.count_less(1);
        let mut parts = Vec::new();
        if matches!(item, Item::Map(_)) {
            for (key, value) in self.heap.map(place)? {
                parts.push(key.0.clone());
                parts.push(value.clone());
            }
        } else {
            parts.extend_from_slice(self.heap.list(place));
        }
        let len = self.heap.len(place) as i64;
        for part in parts.into_iter().rev() {
            if shared {
                self.push(part);
            } else {
                self.push_counted(part);
            }
        }
        self.push(Item::Int(len));
        Ok(())
    }

    fn expect_argument(&self) -> Result<(), Fault> {
        if self.depth() == 0 { Err(Fault::Rule("no argument")) } else { Ok(()) }
    }

    fn keys(&mut self) -> Result<(), Fault> {
        self.expect_argument()?;
        let item = self.pop()?;
        let Item::Map(place) = item else { return Err(Fault::NotMap) };
        let keys: Vec<Item> = self.heap.map(place)?.keys().map(|key| key.0.clone()).collect();
        let count = keys.len() + 1;
        let item = self.heap.new_array(keys);
        self.push_new(item, count);
        Ok(())
    }

    fn values(&mut self) -> Result<(), Fault> {
        self.expect_argument()?;
        let (item, place, shared) = self.take_compound("not a Map, Array or Struct")?;
        let mut values = if matches!(item, Item::Map(_)) {
            let values: Vec<Item> = self.heap.map(place)?.values().cloned().collect();
            if !shared {
                // the keys are dropped
                self.heap.count_less(values.len());
            }
            values
        } else {
            self.heap.list(place).to_vec()
        };
        for value in &mut values {
            if !matches!(value, Item::Struct(_)) {
                continue;
            }
            let copy = copy::value_of(&mut self.heap, value)?;
            if !shared {
                self.heap.remove(value);
                self.heap.add(&copy);
            }
            *value = copy;
        }
        if shared {
            self.heap.add_all(&values);
        }
        // the array counts in place of the popped compound
        let item = self.heap.new_array(values);
        self.push_new(item, 0);
        Ok(())
    }
}
