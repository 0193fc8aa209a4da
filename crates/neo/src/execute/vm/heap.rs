//! The arrays, structs and maps of an execution, with reference counts.
//!
//! The protocol limits the number of items on all stacks: each stack entry and slot counts as one,
//! and so does each element of a compound that is reachable from them. The reference counts also
//! show when a slot can be reused. Unreachable cycles stay counted (and below the limit) until the
//! execution ends and the heap is cleared.

mod key;
mod references;

pub use key::Key;

use indexmap::IndexMap;

use super::{Fault, Item, item::Ref};

/// Limit of items on all stacks.
pub const MAX_ITEMS: usize = 2_048;

/// The entries of a map in order of insertion.
pub type Entries = IndexMap<Key, Item>;

#[derive(Debug)]
enum Content {
    List(Vec<Item>),
    Map(Entries),
    Free,
}

#[derive(Debug)]
struct Slot {
    content: Content,
    /// References from stacks, slots and referenced compounds.
    references: u32,
    read_only: bool,
    /// Pinned by the host until the execution ends.
    pinned: bool,
}

/// The compounds of one execution.
#[derive(Debug, Default)]
pub struct Heap {
    slots: Vec<Slot>,
    free: Vec<Ref>,
    /// Slots that had no references at some time since the last sweep.
    candidates: Vec<Ref>,
    work: Vec<Ref>,
    count: usize,
}

impl Heap {
    /// Clears the heap.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.candidates.clear();
        self.work.clear();
        self.count = 0;
    }

    /// The number of items on all stacks, as the protocol counts them.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    fn allocate(&mut self, content: Content) -> Ref {
        let slot = Slot { content, references: 0, read_only: false, pinned: false };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place.0 as usize] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                Ref((self.slots.len() - 1) as u32)
            }
        };
        self.candidates.push(place);
        place
    }

    /// A new array.
    pub fn new_array(&mut self, items: Vec<Item>) -> Item {
        Item::Array(self.allocate(Content::List(items)))
    }

    /// A new struct.
    pub fn new_struct(&mut self, items: Vec<Item>) -> Item {
        Item::Struct(self.allocate(Content::List(items)))
    }

    /// A new map.
    pub fn new_map(&mut self, entries: Entries) -> Item {
        Item::Map(self.allocate(Content::Map(entries)))
    }

    fn slot(&self, place: Ref) -> &Slot {
        &self.slots[place.0 as usize]
    }

    fn slot_mut(&mut self, place: Ref) -> &mut Slot {
        &mut self.slots[place.0 as usize]
    }

    /// The items of an array or a struct; empty for a map.
    #[must_use]
    pub fn list(&self, place: Ref) -> &[Item] {
        match &self.slot(place).content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// The mutable items of an array or a struct.
    ///
    /// # Errors
    ///
    /// Returns a fault if it is read only or a map.
    pub fn list_mut(&mut self, place: Ref) -> Result<&mut Vec<Item>, Fault> {
        let slot = self.slot_mut(place);
        match &mut slot.content {
            Content::List(_) if slot.read_only => Err(Fault::ReadOnly),
            Content::List(items) => Ok(items),
            _ => Err(Fault::NotList),
        }
    }

    /// The entries of a map.
    ///
    /// # Errors
    ///
    /// Returns a fault if it is an array or a struct.
    pub fn map(&self, place: Ref) -> Result<&Entries, Fault> {
        match &self.slot(place).content {
            Content::Map(entries) => Ok(entries),
            _ => Err(Fault::NotMap),
        }
    }

    /// The mutable entries of a map.
    ///
    /// # Errors
    ///
    /// Returns a fault if it is read only or not a map.
    pub fn map_mut(&mut self, place: Ref) -> Result<&mut Entries, Fault> {
        let slot = self.slot_mut(place);
        match &mut slot.content {
            Content::Map(_) if slot.read_only => Err(Fault::ReadOnly),
            Content::Map(entries) => Ok(entries),
            _ => Err(Fault::NotMap),
        }
    }

    /// The number of items of an array, a struct or a map.
    #[must_use]
    pub fn len(&self, place: Ref) -> usize {
        match &self.slot(place).content {
            Content::List(items) => items.len(),
            Content::Map(entries) => entries.len(),
            Content::Free => 0,
        }
    }

    /// Makes a compound read only.
    pub fn set_read_only(&mut self, place: Ref) {
        self.slot_mut(place).read_only = true;
    }

    /// Reports whether a compound is read only.
    #[must_use]
    pub fn is_read_only(&self, place: Ref) -> bool {
        self.slot(place).read_only
    }

    /// Pins a slot until the execution ends, because the host refers to it.
    pub fn pin(&mut self, place: Ref) {
        self.slot_mut(place).pinned = true;
    }
}
