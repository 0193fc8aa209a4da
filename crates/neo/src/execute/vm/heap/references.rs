//! Counts references to compounds and items on all stacks, and frees what is no longer referenced.

use super::{Content, Heap};
use crate::execute::vm::{Item, item::Ref};

impl Heap {
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
