//! Where arrays, structs and maps of an execution live, and how often each is referred to.
//!
//! The protocol counts the items on all stacks: every place on a stack or in a slot counts one,
//! and everything inside an array, struct or map counts for as long as that is referred to from
//! something that counts. The number of references also tells when a place can be used again; what
//! is left of cycles counts (and so stays below the limit) until the execution ends, when all of
//! the heap is emptied at once.

use indexmap::IndexMap;

use super::{Fault, Item, item::Ref};

/// The most items on all stacks.
pub const MAX_ITEMS: usize = 2_048;

/// The key of a map; equal where type and value are.
#[derive(Clone, Debug)]
pub struct Key(pub Item);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Item::Bool(a), Item::Bool(b)) => a == b,
            (Item::Int(a), Item::Int(b)) => a == b,
            (Item::Big(a), Item::Big(b)) => a == b,
            (a, b) => a.as_bytes().is_some() && a.as_bytes() == b.as_bytes(),
        }
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match &self.0 {
            Item::Bool(value) => (0u8, value).hash(state),
            Item::Int(small) => (1u8, small).hash(state),
            Item::Big(big) => (2u8, big).hash(state),
            other => (3u8, other.as_bytes()).hash(state),
        }
    }
}

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

    /// Whether something that counts refers to it.
    #[must_use]
    pub fn is_referenced(&self, place: Ref) -> bool {
        self.slot(place).references > 0
    }

    /// One more reference to a place without counting anything.
    pub fn increment(&mut self, place: Ref) {
        self.slot_mut(place).references += 1;
    }

    /// One reference less without counting anything.
    pub fn decrement(&mut self, place: Ref) {
        let slot = self.slot_mut(place);
        slot.references = slot.references.saturating_sub(1);
        if slot.references == 0 {
            self.candidates.push(place);
        }
    }

    /// Counts items that are pushed by other ways.
    pub fn count_more(&mut self, items: usize) {
        self.count += items;
    }

    /// Counts items that are taken by other ways.
    pub fn count_less(&mut self, items: usize) {
        self.count = self.count.saturating_sub(items);
    }

    /// Counts one more reference to an item.
    #[inline]
    pub fn add(&mut self, item: &Item) {
        self.count += 1;
        if let Some(place) = item.place() {
            self.add_place(place);
        }
    }

    /// Counts one more reference to each of some items.
    pub fn add_all(&mut self, items: &[Item]) {
        self.count += items.len();
        for place in items.iter().filter_map(Item::place) {
            self.add_place(place);
        }
    }

    fn add_place(&mut self, place: Ref) {
        if !self.first_reference(place) {
            return;
        }
        let mut work = std::mem::take(&mut self.work);
        work.push(place);
        while let Some(place) = work.pop() {
            let start = work.len();
            let plain = self.gather(place, &mut work);
            self.count += plain + work.len() - start;
            self.keep(&mut work, start, Self::first_reference);
        }
        self.work = work;
    }

    /// Counts one reference less to an item.
    #[inline]
    pub fn remove(&mut self, item: &Item) {
        match item.place() {
            None => self.count = self.count.saturating_sub(1),
            Some(place) => self.remove_place(place),
        }
    }

    fn remove_place(&mut self, place: Ref) {
        if !self.last_reference(place) {
            return;
        }
        let mut work = std::mem::take(&mut self.work);
        work.push(place);
        while let Some(place) = work.pop() {
            let start = work.len();
            let plain = self.gather(place, &mut work);
            self.count_less(plain);
            self.keep(&mut work, start, Self::last_reference);
        }
        self.work = work;
    }

    /// One more reference; whether it is the first.
    fn first_reference(&mut self, place: Ref) -> bool {
        let slot = self.slot_mut(place);
        slot.references += 1;
        slot.references == 1
    }

    /// One reference less, counted if there was one; whether it was the last.
    fn last_reference(&mut self, place: Ref) -> bool {
        let slot = self.slot_mut(place);
        if slot.references == 0 {
            return false;
        }
        slot.references -= 1;
        let last = slot.references == 0;
        self.count_less(1);
        if last {
            self.candidates.push(place);
        }
        last
    }

    /// Appends the arrays, structs and maps that a place holds. Returns how many items count for
    /// the others: a map has keys too.
    fn gather(&self, place: Ref, children: &mut Vec<Ref>) -> usize {
        let start = children.len();
        let all = match &self.slot(place).content {
            Content::List(items) => {
                children.extend(items.iter().filter_map(Item::place));
                items.len()
            }
            Content::Map(entries) => {
                children.extend(entries.values().filter_map(Item::place));
                entries.len() * 2
            }
            Content::Free => 0,
        };
        all - (children.len() - start)
    }

    /// Keeps the places from `start` on for which `wanted` is true, in their order.
    fn keep(&mut self, places: &mut Vec<Ref>, start: usize, wanted: fn(&mut Self, Ref) -> bool) {
        let mut kept = start;
        for index in start..places.len() {
            let place = places[index];
            if wanted(self, place) {
                places[kept] = place;
                kept += 1;
            }
        }
        places.truncate(kept);
    }

    fn child(&self, place: Ref, index: usize) -> Option<Ref> {
        match &self.slot(place).content {
            Content::List(items) => items[index].place(),
            Content::Map(entries) => entries[index].place(),
            Content::Free => None,
        }
    }

    /// Whether there is something to sweep.
    #[inline]
    #[must_use]
    pub fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Frees what nothing refers to. `held`: an item that is on no stack (the exception on its way
    /// to a handler), with all that it holds.
    pub fn sweep(&mut self, held: Option<&Item>) {
        let mut kept = Vec::new();
        let mut work: Vec<Ref> = held.and_then(Item::place).into_iter().collect();
        while let Some(place) = work.pop() {
            if self.slot(place).pinned {
                continue;
            }
            self.pin(place);
            kept.push(place);
            work.extend((0..self.len(place)).filter_map(|index| self.child(place, index)));
        }
        while let Some(place) = self.candidates.pop() {
            let slot = &mut self.slots[place.0 as usize];
            let free = matches!(slot.content, Content::Free);
            if !free && slot.references == 0 && !slot.pinned {
                slot.content = Content::Free;
                self.free.push(place);
            }
        }
        for place in kept {
            self.slot_mut(place).pinned = false;
            self.candidates.push(place);
        }
    }
}
