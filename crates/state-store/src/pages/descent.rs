//! Finding cells: from the top of a trie down the branches in memory, and then those in pages. On
//! its way down a key waits for memory at each branch; some keys go down together, a step each in
//! turn, so that they wait for it together.

use blockmill_platform::memory::prefetch;
use blockmill_trie::nibbles::nibble;

use blockmill_store::Result;

use super::{
    Pages,
    branches::{Arena, Below, Child},
    cell::{ACCOUNTS, Place},
    key::StateKey,
    read::{CellPart, Found},
    update::Leaf,
};

/// Number of lookups interleaved to hide memory latency; a core has about as many cache misses in
/// flight.
const LOOKUP_BATCH: usize = 12;

/// Prefetches every cache line of `bytes`.
pub(super) fn prefetch_all(bytes: &[u8]) {
    bytes.chunks(64).for_each(|line| prefetch(&line[0]));
}

/// A key on its way down.
#[derive(Clone, Copy)]
struct Descent<'a> {
    key: &'a [u8; 32],
    trie: u32,
    part: CellPart,
    /// The child that it reached; `None` if the trie has nothing for the key.
    child: Option<&'a Child>,
    depth: usize,
}

impl<'a> Descent<'a> {
    fn begin(pages: &'a Pages, key: &'a StateKey) -> Self {
        let slot = key.slot.as_ref();
        let trie = slot.and_then(|slot| Some((*pages.storage.get(&key.account)?, slot)));
        let (trie, part, key) = match trie {
            Some((trie, slot)) => (trie, CellPart::Slot, slot),
            None if slot.is_some() => (ACCOUNTS, CellPart::Nested, &key.account),
            None => (ACCOUNTS, CellPart::Account, &key.account),
        };
        Self::at_top(pages, trie, key, part)
    }

    fn at_top(pages: &'a Pages, trie: u32, key: &'a [u8; 32], part: CellPart) -> Self {
        Self { key, trie, part, child: pages.tries[trie as usize].top.as_ref(), depth: 0 }
    }

    /// Comes to the child below the branch where it is, which is on its way then; false where it is
    /// at the end.
    fn step(&mut self, arena: &'a Arena) -> bool {
        let Some(at) = self.child.and_then(Child::branch_at) else { return false };
        let branch = arena.get(at);
        let parting = self.depth + branch.path.len();
        if parting >= 64 {
            // the trie changed during the descent
            self.child = None;
            return false;
        }
        let is_on_path =
            (self.depth..).zip(&branch.path).all(|(at, half)| nibble(self.key, at) == *half);
        self.child = branch.get(nibble(self.key, parting)).filter(|_| is_on_path);
        self.depth = parting + 1;
        self.child.is_some_and(|child| {
            prefetch(child);
            true
        })
    }

    fn found(&self) -> Option<(Found, CellPart)> {
        let child = *self.child?;
        let place = Place { trie: self.trie, key: *self.key, depth: self.depth };
        Some((Found { place, child }, self.part))
    }
}

/// Leaves of a trie to be changed that nobody has looked for yet.
pub(super) struct Upcoming<'a> {
    pub trie: u32,
    pub rest: &'a [Leaf<'a>],
}

impl Pages {
    /// The cell that may have a key, and how to search it; `None` if there is no such cell.
    pub(super) fn find(&self, key: &StateKey) -> Result<Option<(Found, CellPart)>> {
        let mut descent = Descent::begin(self, key);
        while descent.step(&self.arena) {}
        let Some((found, part)) = descent.found() else { return Ok(None) };
        Ok(self.below_evicted(found)?.map(|found| (found, part)))
    }

    /// The cell of a trie that may have a key.
    pub(super) fn cell_of(&self, trie: u32, key: &[u8; 32]) -> Result<Option<Found>> {
        let found = self.first_of(trie, key);
        found.map_or(Ok(None), |found| self.below_evicted(found))
    }

    /// The first child on the way to a key that is not a branch in memory.
    pub(super) fn first_of(&self, trie: u32, key: &[u8; 32]) -> Option<Found> {
        let mut descent = Descent::at_top(self, trie, key, CellPart::Slot);
        while descent.step(&self.arena) {}
        descent.found().map(|(found, _)| found)
    }

    /// Prefetches what the next changes need, when changes reach a key that was not prefetched yet.
    pub(super) fn prefetch_upcoming(&self, upcoming: &mut Upcoming<'_>, key: &[u8; 32]) {
        if upcoming.rest.first().is_none_or(|next| next.key > *key) {
            return;
        }
        let skipped = upcoming.rest.partition_point(|leaf| leaf.key < *key);
        let (now, rest) =
            upcoming.rest[skipped..].split_at(LOOKUP_BATCH.min(upcoming.rest.len() - skipped));
        upcoming.rest = rest;
        let mut descents = vec![];
        for Leaf { key, .. } in now {
            descents.push(Descent::at_top(self, upcoming.trie, key, CellPart::Slot));
        }
        self.descend(&mut descents);
        for child in descents.iter().filter_map(|descent| descent.child) {
            match child.below() {
                Below::Page(page) | Below::Evicted(page) => {
                    if let Some(bytes) = self.files.held.get(&page) {
                        self.files.prefetch_record(child, bytes);
                    }
                }
                Below::Buffer(at) => self.buffer.prefetch(at),
                Below::Branch(_) => {}
            }
        }
    }

    /// Moves several keys down to their cells, interleaved.
    fn descend<'a>(&'a self, descents: &mut [Descent<'a>]) {
        loop {
            let mut is_under_way = false;
            for descent in &mut *descents {
                is_under_way |= descent.step(&self.arena);
            }
            if !is_under_way {
                return;
            }
            descents
                .iter()
                .filter_map(|descent| descent.child)
                .for_each(|child| self.arena.prefetch(child));
        }
    }

    /// Finds for each key the first child on its way that is not a branch in memory: a cell, or a
    /// branch in a page. Calls `each` with the index of the key, the child and how to search it, in
    /// order.
    pub(super) fn find_many<'a>(
        &'a self,
        keys: impl Iterator<Item = &'a StateKey>,
        mut each: impl FnMut(usize, Option<(Found, CellPart)>),
    ) {
        let mut keys = keys.map(|key| Descent::begin(self, key));
        let (mut descents, mut at) = (Vec::with_capacity(LOOKUP_BATCH), 0);
        loop {
            descents.clear();
            descents.extend(keys.by_ref().take(LOOKUP_BATCH));
            if descents.is_empty() {
                return;
            }
            self.descend(&mut descents);
            for descent in &descents {
                each(at, descent.found());
                at += 1;
            }
        }
    }
}
