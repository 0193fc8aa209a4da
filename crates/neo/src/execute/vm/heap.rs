//! Where arrays, structs and maps of an execution live, and how often each is referred to.
//!
//! The protocol counts the items on all stacks: every place on a stack or in a slot counts one,
//! and everything inside an array, struct or map counts for as long as that is referred to from
//! something that counts. The number of references also tells when a place can be used again; what
//! is left of cycles counts (and so stays below the limit) until the execution ends, when all of
//! the heap is emptied at once.

mod key;
mod references;

pub use key::Key;

use indexmap::IndexMap;

use super::{Fault, Item, item::Ref};

/// The most items on all stacks.
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
    /// How many stacks, slots and referred compounds refer to it.
    references: u32,
    read_only: bool,
    /// Held by the host until the execution ends.
    pinned: bool,
}

/// The compounds of one execution.
#[derive(Debug, Default)]
pub struct Heap {
    slots: Vec<Slot>,
    free: Vec<Ref>,
    /// Places that nothing referred to at some time since the last sweep.
    candidates: Vec<Ref>,
    work: Vec<Ref>,
    count: usize,
}

impl Heap {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
        self.candidates.clear();
        self.work.clear();
        self.count = 0;
    }

    /// How many items there are on all stacks, as the protocol counts them.
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

    /// The items of an array or a struct; none for a map.
    #[must_use]
    pub fn list(&self, place: Ref) -> &[Item] {
        match &self.slot(place).content {
            Content::List(items) => items,
            _ => &[],
        }
    }

    /// The items of an array or a struct that can change.
    ///
    /// # Errors
    ///
    /// It is read only, or a map.
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
    /// It is an array or a struct.
    pub fn map(&self, place: Ref) -> Result<&Entries, Fault> {
        match &self.slot(place).content {
            Content::Map(entries) => Ok(entries),
            _ => Err(Fault::NotMap),
        }
    }

    /// The entries of a map that can change.
    ///
    /// # Errors
    ///
    /// It is read only, or no map.
    pub fn map_mut(&mut self, place: Ref) -> Result<&mut Entries, Fault> {
        let slot = self.slot_mut(place);
        match &mut slot.content {
            Content::Map(_) if slot.read_only => Err(Fault::ReadOnly),
            Content::Map(entries) => Ok(entries),
            _ => Err(Fault::NotMap),
        }
    }

    /// How many items an array, a struct or a map has.
    #[must_use]
    pub fn len(&self, place: Ref) -> usize {
        match &self.slot(place).content {
            Content::List(items) => items.len(),
            Content::Map(entries) => entries.len(),
            Content::Free => 0,
        }
    }

    /// Nothing more can change it.
    pub fn set_read_only(&mut self, place: Ref) {
        self.slot_mut(place).read_only = true;
    }

    /// Whether nothing can change it.
    #[must_use]
    pub fn is_read_only(&self, place: Ref) -> bool {
        self.slot(place).read_only
    }

    /// Keeps a place until the execution ends: the host refers to it.
    pub fn pin(&mut self, place: Ref) {
        self.slot_mut(place).pinned = true;
    }
}
