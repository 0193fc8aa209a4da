//! Counts references to compounds and items on all stacks, and frees what is no longer referenced.

use super::{Content, Heap};
use crate::execute::vm::{Item, item::Ref};

impl Heap {
    /// Reports whether a compound is referenced.
    #[must_use]
    pub fn is_referenced(&self, place: Ref) -> bool {
        self.slot(place).references > 0
    }

    /// Adds a reference without counting items.
    pub fn increment(&mut self, place: Ref) {
        self.slot_mut(place).references += 1;
    }

    /// Removes a reference without counting items.
    pub fn decrement(&mut self, place: Ref) {
        let slot = self.slot_mut(place);
        slot.references = slot.references.saturating_sub(1);
        if slot.references == 0 {
            self.candidates.push(place);
        }
    }

    /// Adds to the item count.
    pub fn count_more(&mut self, items: usize) {
        self.count += items;
    }

    /// Subtracts from the item count.
    pub fn count_less(&mut self, items: usize) {
        self.count = self.count.saturating_sub(items);
    }

    /// Adds a reference to an item and counts it.
    #[inline]
    pub fn add(&mut self, item: &Item) {
        self.count += 1;
        if let Some(place) = item.place() {
            self.add_place(place);
        }
    }

    /// Adds a reference to each item and counts them.
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
            self.retain_from(&mut work, start, Self::first_reference);
        }
        self.work = work;
    }

    /// Removes a reference to an item and stops counting it.
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
            self.retain_from(&mut work, start, Self::last_reference);
        }
        self.work = work;
    }

    /// Adds a reference. Returns true if it is the first one.
    fn first_reference(&mut self, place: Ref) -> bool {
        let slot = self.slot_mut(place);
        slot.references += 1;
        slot.references == 1
    }

    /// Removes a counted reference, if there is one. Returns true if it was the last one.
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

    /// Appends the compounds inside a compound. Returns the number of its other items, including
    /// the keys of a map.
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

    /// Removes the slots from `start` on for which `wanted` is false.
    fn retain_from(
        &mut self,
        places: &mut Vec<Ref>,
        start: usize,
        wanted: fn(&mut Self, Ref) -> bool,
    ) {
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

    /// The number of sweep candidates.
    #[inline]
    #[must_use]
    pub fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Frees unreferenced slots. `held` is an item outside of the stacks (the exception in flight);
    /// everything reachable from it is kept.
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
