//! Finding cells: from the top of a trie down the branches in memory, and then those in pages. On
//! its way down a key waits for memory at each branch; some keys go down together, a step each in
//! turn, so that they wait for it together.

use blockmill_platform::memory::prefetch;
use blockmill_trie::nibbles::nibble;

use blockmill_store::Result;

use super::{
    Pages,
    cell::{ACCOUNTS, Place},
    key::StateKey,
    read::{Found, Part},
    update::Leaf,
    upper::{Arena, Below, Child},
};

/// Keys that go down together: about as many lines as a core has on their way at a time.
const TOGETHER: usize = 12;

/// Has all lines of some bytes brought near.
pub(super) fn bring_near(bytes: &[u8]) {
    bytes.chunks(64).for_each(|line| prefetch(&line[0]));
}

/// A key on its way down.
#[derive(Clone, Copy)]
struct Walk<'a> {
    key: &'a [u8; 32],
    trie: u32,
    part: Part,
    /// Where it is; none where there is nothing for it.
    child: Option<&'a Child>,
    depth: usize,
}

impl<'a> Walk<'a> {
    fn begin(pages: &'a Pages, key: &'a StateKey) -> Self {
        let slot = key.slot.as_ref();
        let trie = slot.and_then(|slot| Some((*pages.storage.get(&key.account)?, slot)));
        let (trie, part, key) = match trie {
            Some((trie, slot)) => (trie, Part::Slot, slot),
            None if slot.is_some() => (ACCOUNTS, Part::Nested, &key.account),
            None => (ACCOUNTS, Part::Account, &key.account),
        };
        Self::at_top(pages, trie, key, part)
    }

    fn at_top(pages: &'a Pages, trie: u32, key: &'a [u8; 32], part: Part) -> Self {
        Self { key, trie, part, child: pages.tries[trie as usize].top.as_ref(), depth: 0 }
    }

    /// Comes to the child below the branch where it is, which is on its way then; false where it is
    /// at the end.
    fn step(&mut self, arena: &'a Arena) -> bool {
        let Some(at) = self.child.and_then(Child::branch_at) else { return false };
        let branch = arena.get(at);
        let parting = self.depth + branch.path.len();
        if parting >= 64 {
            // the trie is being changed, and is not what it was on the way here
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

    fn found(&self) -> Option<(Found, Part)> {
        let child = *self.child?;
        let place = Place { trie: self.trie, key: *self.key, depth: self.depth };
        Some((Found { place, child }, self.part))
    }
}

/// Leaves of a trie to be changed that nobody has looked for yet.
pub(super) struct Ahead<'a> {
    pub trie: u32,
    pub rest: &'a [Leaf<'a>],
}

impl Pages {
    /// The cell that may have a key, and how to look there; none where there is no such cell.
    pub(super) fn find(&self, key: &StateKey) -> Result<Option<(Found, Part)>> {
        let mut walk = Walk::begin(self, key);
        while walk.step(&self.arena) {}
        let Some((found, part)) = walk.found() else { return Ok(None) };
        Ok(self.below_evicted(found)?.map(|found| (found, part)))
    }

    /// The cell of a trie that may have a key.
    pub(super) fn cell_of(&self, trie: u32, key: &[u8; 32]) -> Result<Option<Found>> {
        let found = self.first_of(trie, key);
        found.map_or(Ok(None), |found| self.below_evicted(found))
    }

    /// What comes first on the way to a key that is not a branch in memory.
    pub(super) fn first_of(&self, trie: u32, key: &[u8; 32]) -> Option<Found> {
        let mut walk = Walk::at_top(self, trie, key, Part::Slot);
        while walk.step(&self.arena) {}
        walk.found().map(|(found, _)| found)
    }

    /// Has what changes come to next brought near, where they come to a key that was not looked for
    /// yet.
    pub(super) fn look_ahead(&self, ahead: &mut Ahead<'_>, key: &[u8; 32]) {
        if ahead.rest.first().is_none_or(|next| next.key > *key) {
            return;
        }
        let skipped = ahead.rest.partition_point(|leaf| leaf.key < *key);
        let (now, rest) = ahead.rest[skipped..].split_at(TOGETHER.min(ahead.rest.len() - skipped));
        ahead.rest = rest;
        let mut walks = vec![];
        for Leaf { key, .. } in now {
            walks.push(Walk::at_top(self, ahead.trie, key, Part::Slot));
        }
        self.go_down(&mut walks);
        for child in walks.iter().filter_map(|walk| walk.child) {
            match child.below() {
                Below::Page(page) | Below::Evicted(page) => {
                    if let Some(bytes) = self.files.held.get(&page) {
                        self.files.look_ahead(child, bytes);
                    }
                }
                Below::Buffer(at) => self.buffer.look_ahead(at),
                Below::Branch(_) => {}
            }
        }
    }

    /// Takes keys down to their cells.
    fn go_down<'a>(&'a self, walks: &mut [Walk<'a>]) {
        loop {
            let mut is_under_way = false;
            for walk in &mut *walks {
                is_under_way |= walk.step(&self.arena);
            }
            if !is_under_way {
                return;
            }
            walks
                .iter()
                .filter_map(|walk| walk.child)
                .for_each(|child| self.arena.look_ahead(child));
        }
    }

    /// Tells what comes first on the way to these keys that is not a branch in memory: a cell, or a
    /// branch in a page; and how to look there, with the keys' places among them, in order.
    pub(super) fn find_many<'a>(
        &'a self,
        keys: impl Iterator<Item = &'a StateKey>,
        mut each: impl FnMut(usize, Option<(Found, Part)>),
    ) {
        let mut keys = keys.map(|key| Walk::begin(self, key));
        let (mut walks, mut at) = (Vec::with_capacity(TOGETHER), 0);
        loop {
            walks.clear();
            walks.extend(keys.by_ref().take(TOGETHER));
            if walks.is_empty() {
                return;
            }
            self.go_down(&mut walks);
            for walk in &walks {
                each(at, walk.found());
                at += 1;
            }
        }
    }
}
