//! Opcodes that modify arrays, structs, maps and buffers.

use super::{
    super::{Fault, Item, Key, Vm, copy},
    collection::out_of_range,
};

impl Vm {
    pub(super) fn append(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        let list = self.pop()?;
        let value = copy::value_of(&mut self.heap, &item)?;
        let (Item::Array(place) | Item::Struct(place)) = list else {
            return Err(Fault::Rule("APPEND: not of underlying type Array"));
        };
        self.heap.list_mut(place)?.push(value.clone());
        if self.heap.is_referenced(place) {
            self.heap.add(&value);
        }
        Ok(())
    }

    pub(super) fn set_item(&mut self) -> Result<(), Fault> {
        let item = self.pop_counted()?;
        let value = copy::value_of(&mut self.heap, &item)?;
        if matches!(item, Item::Struct(_)) {
            self.heap.remove(&item);
            self.heap.add(&value);
        }
        let key = self.pop_key()?;
        let target = self.pop()?;
        match &target {
            Item::Array(place) | Item::Struct(place) => {
                let index = key.to_integer()?.to_i32()?;
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                if at >= self.heap.len(*place) {
                    self.heap.remove(&value);
                    return self.throw(out_of_range(index));
                }
                if self.heap.is_read_only(*place) {
                    return Err(Fault::ReadOnly);
                }
                if self.heap.is_referenced(*place) {
                    let old = self.heap.list(*place)[at].clone();
                    self.heap.remove(&old);
                } else {
                    self.heap.remove(&value);
                }
                self.heap.list_mut(*place)?[at] = value;
                Ok(())
            }
            Item::Map(place) => {
                if self.heap.is_read_only(*place) {
                    return Err(Fault::ReadOnly);
                }
                let key = Key(key);
                if self.heap.is_referenced(*place) {
                    match self.heap.map(*place)?.get(&key).cloned() {
                        Some(old) => self.heap.remove(&old),
                        None => self.heap.add(&key.0),
                    }
                } else {
                    self.heap.remove(&value);
                }
                self.heap.map_mut(*place)?.insert(key, value);
                Ok(())
            }
            Item::Buffer(buffer) => {
                self.heap.remove(&value);
                let index = key.to_integer()?.to_i32()?;
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                if at >= buffer.borrow().len() {
                    return self.throw(out_of_range(index));
                }
                buffer.borrow_mut()[at] = byte(&value)?;
                Ok(())
            }
            other => Err(Fault::Message(format!("SETITEM: invalid item type {}", other.shown()))),
        }
    }

    pub(super) fn reverse_items(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        match &item {
            Item::Array(place) | Item::Struct(place) => self.heap.list_mut(*place)?.reverse(),
            Item::Buffer(buffer) => buffer.borrow_mut().reverse(),
            other => return Err(Fault::Message(format!("invalid item type {}", other.shown()))),
        }
        Ok(())
    }

    pub(super) fn remove_item(&mut self) -> Result<(), Fault> {
        let key = self.pop_key()?;
        let item = self.pop()?;
        match &item {
            Item::Array(place) | Item::Struct(place) => {
                let index = key.to_integer()?.to_i32()?;
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                if at >= self.heap.len(*place) {
                    return Err(Fault::Rule("REMOVE: invalid index"));
                }
                let old = self.heap.list_mut(*place)?.remove(at);
                if self.heap.is_referenced(*place) {
                    self.heap.remove(&old);
                }
                Ok(())
            }
            Item::Map(place) => {
                let key = Key(key);
                if !self.heap.map(*place)?.contains_key(&key) {
                    return Ok(());
                }
                let old = self.heap.map_mut(*place)?.shift_remove(&key);
                if self.heap.is_referenced(*place) {
                    self.heap.count_less(1);
                    if let Some(old) = old {
                        self.heap.remove(&old);
                    }
                }
                Ok(())
            }
            _ => Err(Fault::Rule("REMOVE: invalid type")),
        }
    }

    pub(super) fn clear_items(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        let place = item.place().ok_or(Fault::Rule("CLEARITEMS: invalid type"))?;
        let (keys, items) = if matches!(item, Item::Map(_)) {
            let entries = std::mem::take(self.heap.map_mut(place)?);
            (entries.len(), entries.into_values().collect())
        } else {
            (0, std::mem::take(self.heap.list_mut(place)?))
        };
        if self.heap.is_referenced(place) {
            self.heap.count_less(keys);
            for item in &items {
                self.heap.remove(item);
            }
        }
        Ok(())
    }

    pub(super) fn pop_item(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        let (Item::Array(place) | Item::Struct(place)) = item else {
            return Err(item.value_is_no("[]stackitem.Item"));
        };
        let last = self.heap.list(place).last().cloned().ok_or(Fault::EmptyStack)?;
        self.push(last.clone());
        self.heap.list_mut(place)?.pop();
        if self.heap.is_referenced(place) {
            self.heap.remove(&last);
        }
        Ok(())
    }
}

/// The byte of an item for a buffer: -128 to 255.
fn byte(item: &Item) -> Result<u8, Fault> {
    // the reference client continues without a number
    const NONE: &str = "runtime error: invalid memory address or nil pointer dereference";
    let number = item.to_integer().map_err(|_| Fault::Rule(NONE))?;
    match number.to_i32()? {
        value @ -128..=255 => Ok(value as u8),
        _ => Err(Fault::Rule("invalid value")),
    }
}
