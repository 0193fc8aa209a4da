//! Iterators over storage, and over lists of native contracts.

use std::{cell::RefCell, collections::VecDeque};

use super::Interop;
use crate::{
    execute::{
        engine::Engine,
        vm::{Fault, Item, serialize},
    },
    state::{Find, StorageKey, Value},
};

/// Options of an iteration over storage.
pub mod options {
    /// Keys without values.
    pub const KEYS_ONLY: i64 = 1 << 0;
    /// Keys without the prefix.
    pub const REMOVE_PREFIX: i64 = 1 << 1;
    /// Values without keys.
    pub const VALUES_ONLY: i64 = 1 << 2;
    /// Values are serialized items.
    pub const DESERIALIZE: i64 = 1 << 3;
    /// The first field of a value.
    pub const PICK_0: i64 = 1 << 4;
    /// The second field of a value.
    pub const PICK_1: i64 = 1 << 5;
    /// The greatest key first.
    pub const BACKWARDS: i64 = 1 << 7;
    /// All of them.
    pub const ALL: i64 = 0xbf;
}

/// Selects the pairs of an iteration.
pub type Filter = fn(&Engine<'_>, &StorageKey, &Value) -> bool;

/// An iteration.
#[derive(Debug)]
pub enum Iteration {
    /// Over storage.
    Storage {
        /// The remaining elements.
        find: Box<Find>,
        /// The current pair.
        current: Option<(StorageKey, Value)>,
        /// Length of the prefix.
        prefix: usize,
        /// The options that determine the value.
        options: i64,
        /// Skips pairs for which it is false.
        filter: Option<Filter>,
    },
    /// Over serialized items.
    List {
        /// The remaining elements.
        items: VecDeque<Vec<u8>>,
        /// The current item.
        current: Option<Vec<u8>>,
    },
}

impl Iteration {
    /// An iteration over serialized items.
    #[must_use]
    pub fn list(items: Vec<Vec<u8>>) -> Item {
        let iteration = Self::List { items: items.into(), current: None };
        Item::interop(Interop::Iterator(RefCell::new(iteration)))
    }

    /// An iteration over storage.
    #[must_use]
    pub fn storage(find: Find, prefix: usize, options: i64, filter: Option<Filter>) -> Item {
        let find = Box::new(find);
        let iteration = Self::Storage { find, current: None, prefix, options, filter };
        Item::interop(Interop::Iterator(RefCell::new(iteration)))
    }

    fn next(&mut self, engine: &Engine<'_>) -> bool {
        match self {
            Self::List { items, current } => {
                *current = items.pop_front();
                current.is_some()
            }
            Self::Storage { find, current, filter, .. } => loop {
                *current = engine.state.next(find);
                match (&*current, &*filter) {
                    (Some((key, value)), Some(keeps)) if !keeps(engine, key, value) => {}
                    (pair, _) => return pair.is_some(),
                }
            },
        }
    }

    fn value(&self, engine: &mut Engine<'_>) -> Result<Item, Fault> {
        let heap = &mut engine.vm.heap;
        let (pair, prefix, options) = match self {
            Self::List { current, .. } => {
                let bytes = current.as_ref().ok_or(Fault::Range("iterator"))?;
                return serialize::deserialize(heap, bytes);
            }
            Self::Storage { current, prefix, options, .. } => (current, *prefix, *options),
        };
        let (key, value) = pair.as_ref().ok_or(Fault::Range("iterator"))?;
        let cut = if options & options::REMOVE_PREFIX == 0 { 0 } else { prefix };
        let key = Item::bytes(&key.key()[cut..]);
        if options & options::KEYS_ONLY != 0 {
            return Ok(key);
        }
        let mut item = Item::bytes(value);
        if options & options::DESERIALIZE != 0 {
            item = serialize::deserialize(heap, value)?;
        }
        let field = match options & (options::PICK_0 | options::PICK_1) {
            0 => None,
            options::PICK_0 => Some(0),
            _ => Some(1),
        };
        if let Some(field) = field {
            let (Item::Array(place) | Item::Struct(place)) = item else {
                return Err(Fault::ItemType(item.kind()));
            };
            item = heap.list(place).get(field).cloned().ok_or(Fault::Range("field"))?;
        }
        if options & options::VALUES_ONLY != 0 {
            return Ok(item);
        }
        Ok(heap.new_struct(vec![key, item]))
    }
}

fn pop(engine: &mut Engine<'_>) -> Result<std::rc::Rc<Interop>, Fault> {
    match engine.vm.pop()? {
        Item::Interop(interop) => Ok(interop),
        // neo-go panics
        _ => Err(Fault::Panicked("element is not an interop".into())),
    }
}

/// `System.Iterator.Next`.
pub(super) fn next(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let interop = pop(engine)?;
    let Interop::Iterator(iteration) = &*interop else { return Err(Fault::Rule("no iterator")) };
    let found = iteration.borrow_mut().next(engine);
    engine.vm.push(Item::Bool(found));
    Ok(())
}

/// `System.Iterator.Value`.
pub(super) fn value(engine: &mut Engine<'_>) -> Result<(), Fault> {
    let interop = pop(engine)?;
    let Interop::Iterator(iteration) = &*interop else { return Err(Fault::Rule("no iterator")) };
    let item = iteration.borrow().value(engine)?;
    engine.vm.push(item);
    Ok(())
}
