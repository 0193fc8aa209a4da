//! Branches in pages. If references have a budget, a checkpoint writes branches as records of pages
//! until those in memory fit it. Their parents refer to them as to cells: by page, place and
//! reference. A reader below such a branch reads its record first; a change below it loads it into
//! memory again.
//!
//! # Order
//!
//! Eviction is a clock sweep over all tries at each checkpoint, in three passes, until the branches
//! in memory fit the budget: (1) unchanged branches whose children are cells, (2) changed ones, (3)
//! branches whose children were evicted. So a trie has at most one level in pages, unless the
//! budget is less than a sixteenth of all references, and branches that change often stay in
//! memory.

use std::borrow::Cow;

use super::{
    Pages,
    batch::Wanting,
    branch_record::{self, places},
    branches::{Below, Branch, Child, Parent},
    cell::Place,
    checkpoint::Next,
    read::{CellPart, Found},
};
use blockmill_store::Result;

/// The memory budget of branches.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Most bytes of branches in memory; `None`: no limit.
    most: Option<usize>,
    /// Bytes of those that came into memory since the last checkpoint.
    pub loaded: usize,
    /// Branches that went into pages so far.
    pub evicted: u64,
    /// Where the next ones are looked for.
    hand: Next,
}

impl Budget {
    pub fn new(most: Option<usize>) -> Self {
        Self { most, ..Self::default() }
    }
}

/// Branches that are to go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eviction {
    /// Bytes that have to go yet.
    excess: usize,
    round: Round,
    /// Where the round began, and whether the hand has come past the last trie since.
    start: Next,
    turned: bool,
}

/// Which branches go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Round {
    Unchanged,
    OverCells,
    All,
}

impl Pages {
    /// The branch at a place, from memory or from its page; `None` if there is a cell.
    pub(super) fn branch<'a>(&'a self, found: &Found) -> Result<Option<Cow<'a, Branch>>> {
        match found.child.below() {
            Below::Branch(at) => Ok(Some(Cow::Borrowed(self.arena.get(at)))),
            Below::Evicted(page) => {
                let record = self.files.record(&found.place, page, &found.child)?;
                branch_record::decode(&record).map(|branch| Some(Cow::Owned(branch)))
            }
            Below::Page(_) | Below::Buffer(_) => Ok(None),
        }
    }

    /// The children of the branch at a place; `None` if there is a cell.
    pub(super) fn children(&self, found: &Found) -> Result<Option<Vec<Found>>> {
        Ok(self.branch(found)?.map(|branch| places(&found.place, &branch)))
    }

    /// Follows branches in pages to the cell on the way to the key of the place; `None` if there is
    /// none.
    pub(super) fn below_evicted(&self, mut found: Found) -> Result<Option<Found>> {
        while let Below::Evicted(page) = found.child.below() {
            let record = self.files.record(&found.place, page, &found.child)?;
            match branch_record::step(&record, &found.place)? {
                Some(below) => found = below,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// Follows branches in pages for many keys, whose pages are read together. Calls `each` with
    /// the index of a key, the cell and how to search it.
    pub(super) fn below_evicted_many(
        &self,
        mut waiting: Vec<Wanting>,
        mut each: impl FnMut(usize, Option<(Found, CellPart)>),
    ) -> Result<()> {
        while !waiting.is_empty() {
            let mut below = vec![];
            self.fetch_records(waiting, |record, Wanting { at, found, part, .. }| {
                match branch_record::step(record, &found.place)? {
                    Some(found) if found.child.is_evicted() => {
                        below.extend(Wanting::new(at, found, part));
                    }
                    found => each(at, found.map(|found| (found, part))),
                }
                Ok(())
            })?;
            waiting = below;
        }
        Ok(())
    }

    /// Loads a child into memory if it is a branch in a page.
    pub(super) fn load(&mut self, place: &Place, child: Child) -> Result<Child> {
        let Below::Evicted(page) = child.below() else { return Ok(child) };
        let record = self.files.record(place, page, &child)?;
        let branch = branch_record::decode(&record)?;
        self.files.release(page, child.bytes());
        self.budget.loaded += branch.all_bytes();
        Ok(self.add(branch)?.with(*child.reference()))
    }

    /// The child that hangs somewhere.
    pub(super) fn child_mut(&mut self, parent: Parent) -> Option<&mut Child> {
        match parent {
            Parent::Trie(number) => self.tries.get_mut(number as usize)?.top.as_mut(),
            Parent::Branch(at, nibble) => self.arena.get_mut(at).get_mut(nibble),
        }
    }

    /// The eviction that makes branches fit their budget; `None` if they do.
    pub(super) fn eviction(&mut self) -> Option<Eviction> {
        self.budget.loaded = 0;
        let excess = self.arena.used_bytes().checked_sub(self.budget.most?)?;
        let (round, start) = (Round::Unchanged, self.budget.hand);
        (excess > 0).then_some(Eviction { excess, round, start, turned: false })
    }

    /// Writes some branches to pages. Returns the eviction that is left.
    pub(super) fn evict(&mut self, mut now: Eviction) -> Result<Option<Eviction>> {
        let Next { trie, piece } = self.budget.hand;
        if self.tries.get(trie as usize).is_none() {
            self.budget.hand = Next::default();
            now.turned = true;
        } else {
            self.budget.hand = self.evict_piece(&mut now)?;
        }
        let hand = self.budget.hand;
        let is_round = now.turned
            && (hand.trie, hand.piece) >= (now.start.trie, now.start.piece)
            && (hand.trie, hand.piece) != (trie, piece);
        if is_round {
            now.start = hand;
            now.turned = false;
            now.round = match now.round {
                Round::Unchanged => Round::OverCells,
                Round::OverCells => Round::All,
                // only the topmost branches are left
                Round::All => return Ok(None),
            };
        }
        Ok((now.excess > 0).then_some(now))
    }

    /// Puts branches of the piece under the hand into pages; where the hand goes then.
    fn evict_piece(&mut self, now: &mut Eviction) -> Result<Next> {
        let Next { trie, piece } = self.budget.hand;
        let next_trie = Next { trie: trie + 1, piece: 0 };
        let (high, low) = (piece >> 4, piece & 15);
        let Some(top) = self.tries.get(trie as usize).and_then(|trie| trie.top) else {
            return Ok(next_trie);
        };
        let Below::Branch(at) = top.below() else { return Ok(next_trie) };
        let place = Place { trie, key: [0; 32], depth: 0 };
        let mut went = false;
        let children = places(&place, self.arena.get(at));
        let child = children.iter().find(|found| half_of(found) == high);
        let mut low_is_last = true;
        if let Some(found) = child
            && let Below::Branch(below) = found.child.below()
        {
            let parent = Parent::Branch(at, high);
            let children = places(&found.place, self.arena.get(below));
            if let Some(found) = children.iter().find(|found| half_of(found) == low) {
                went = self.evict_below(Parent::Branch(below, low), found, now)?;
            }
            low_is_last = low == 15;
            if low_is_last {
                went |= self.evict_one(parent, &found.place, now)?;
            }
            if went && let Some(child) = self.child_mut(parent) {
                child.touch();
            }
        }
        let is_last = high == 15 && low_is_last;
        if is_last {
            went |= self.evict_one(Parent::Trie(trie), &place, now)?;
        }
        if went && let Some(top) = self.child_mut(Parent::Trie(trie)) {
            top.touch();
        }
        Ok(match (is_last, low_is_last) {
            (true, _) => next_trie,
            (false, true) => Next { trie, piece: (high + 1) << 4 },
            (false, false) => Next { trie, piece: piece + 1 },
        })
    }

    /// Writes branches at and below a place to pages, the lowest first. Returns whether any was
    /// written.
    fn evict_below(&mut self, parent: Parent, found: &Found, now: &mut Eviction) -> Result<bool> {
        let Below::Branch(at) = found.child.below() else { return Ok(false) };
        let mut went = false;
        let has_branches = self.arena.get(at).children().any(|(_, child)| child.count() == 0);
        for below in if has_branches { places(&found.place, self.arena.get(at)) } else { vec![] } {
            if now.excess == 0 {
                break;
            }
            went |= self.evict_below(Parent::Branch(at, half_of(&below)), &below, now)?;
        }
        went |= self.evict_one(parent, &found.place, now)?;
        if went && let Some(child) = self.child_mut(parent) {
            child.touch();
        }
        Ok(went)
    }

    /// Puts a branch into a page, if it is one that goes now; whether it was.
    fn evict_one(&mut self, parent: Parent, place: &Place, now: &mut Eviction) -> Result<bool> {
        let Some(child) = self.child_mut(parent).copied() else { return Ok(false) };
        let Below::Branch(at) = child.below() else { return Ok(false) };
        let may_go = |below: &Child| match below.below() {
            Below::Page(_) => true,
            Below::Evicted(_) => now.round == Round::All,
            Below::Branch(_) | Below::Buffer(_) => false,
        };
        let goes = now.excess > 0
            && (now.round > Round::Unchanged || !child.is_changed())
            && self.arena.get(at).children().all(|(_, below)| may_go(below));
        if !goes {
            return Ok(false);
        }
        let record = branch_record::encode(place, self.arena.get(at))?;
        let evicted = Child::evicted(0, Child::length_units_of(record.len()), 0);
        let (page, offset_units) = self.files.append(&record, evicted.bytes())?;
        let branch = self.arena.take(at);
        now.excess = now.excess.saturating_sub(branch.all_bytes());
        self.budget.evicted += 1;
        if let Some(place) = self.child_mut(parent) {
            *place = evicted.in_page(page, offset_units).with(*child.reference());
        }
        Ok(true)
    }
}

/// The nibble under which a child hangs.
fn half_of(found: &Found) -> u8 {
    blockmill_trie::nibbles::nibble(&found.place.key, found.place.depth - 1)
}
