//! Opcodes that read arrays, structs, maps, byte strings and buffers.

use super::super::{Fault, Item, Key, MAX_SIZE, Vm};

/// The catchable exception for an index out of range.
pub(super) fn out_of_range(index: i32) -> Item {
    Item::bytes(format!("The value {index} is out of range.").as_bytes())
}

impl Vm {
    pub(super) fn size(&mut self) -> Result<(), Fault> {
        let item = self.pop()?;
        let size = match item.place() {
            Some(place) => self.heap.len(place),
            None => item.with_bytes(<[u8]>::len)?,
        };
        self.push(Item::Int(size as i64));
        Ok(())
    }

    /// Pops a key of a map or an index.
    pub(super) fn pop_key(&mut self) -> Result<Item, Fault> {
        let key = self.pop()?;
        key.check_key()?;
        Ok(key)
    }

    pub(super) fn has_key(&mut self) -> Result<(), Fault> {
        if self.depth() < 2 {
            return Err(Fault::Rule("not enough arguments"));
        }
        let key = self.pop_key()?;
        let item = self.pop()?;
        let len = match &item {
            Item::Map(place) => {
                let found = self.heap.map(*place)?.contains_key(&Key(key));
                self.push(Item::Bool(found));
                return Ok(());
            }
            Item::Array(place) | Item::Struct(place) => self.heap.len(*place),
            Item::Short(..) | Item::Bytes(_) | Item::Buffer(_) => item.with_bytes(<[u8]>::len)?,
            _ => return Err(Fault::Rule("wrong collection type")),
        };
        let index = key.to_integer()?.to_i32()?;
        let index =
            usize::try_from(index).map_err(|_| Fault::Rule("negative or too large index"))?;
        if self.rules.gorgon && index >= MAX_SIZE {
            return Err(Fault::Rule("negative or too large index"));
        }
        self.push(Item::Bool(index < len));
        Ok(())
    }

    pub(super) fn pick_item(&mut self) -> Result<(), Fault> {
        let key = self.pop_key()?;
        let item = self.pop()?;
        let found = match &item {
            Item::Map(place) => {
                let found = self.heap.map(*place)?.get(&Key(key)).cloned();
                found.ok_or_else(|| Item::bytes(b"Key not found in Map"))
            }
            other => {
                let index = key.to_integer()?.to_i32()?;
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                let found = match other.place() {
                    Some(place) => self.heap.list(place).get(at).cloned(),
                    None => other.with_bytes(|bytes| {
                        bytes.get(at).map(|byte| Item::Int(i64::from(*byte)))
                    })?,
                };
                found.ok_or_else(|| out_of_range(index))
            }
        };
        match found {
            Ok(item) => {
                self.push(item);
                Ok(())
            }
            Err(exception) => self.throw(exception),
        }
    }
}
