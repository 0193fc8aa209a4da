//! Which blocks are accepted, and which wait for which parent.

use blockmill_bitcoin::BlockHash;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// No block.
const NONE: u32 = u32::MAX;

/// Blocks by position; positions with the same parent are linked in the order of their waiting.
pub(super) struct Waiting {
    states: HashMap<BlockHash, State>,
    next: Vec<u32>,
}

#[derive(Clone, Copy)]
enum State {
    Accepted,
    Awaited { first: u32, last: u32 },
}

impl Waiting {
    /// `known` are accepted from the start, as is the parent of a genesis block.
    pub fn new(known: &[BlockHash], blocks: usize) -> Self {
        let mut states = HashMap::with_capacity(blocks + known.len() + 1);
        let none = BlockHash::default();
        states.extend(known.iter().chain(&[none]).map(|hash| (*hash, State::Accepted)));
        Self { states, next: Vec::with_capacity(blocks) }
    }

    pub fn is_accepted(&self, hash: &BlockHash) -> bool {
        matches!(self.states.get(hash), Some(State::Accepted))
    }

    /// Lets the block at `position` wait for `parent`, which is not accepted.
    pub fn wait(&mut self, position: u32, parent: &BlockHash) {
        if self.next.len() <= position as usize {
            self.next.resize(position as usize + 1, NONE);
        }
        match self.states.entry(*parent) {
            Entry::Vacant(entry) => {
                entry.insert(State::Awaited { first: position, last: position });
            }
            Entry::Occupied(mut entry) => {
                if let State::Awaited { last, .. } = entry.get_mut() {
                    self.next[*last as usize] = position;
                    *last = position;
                }
            }
        }
    }

    /// Marks a block as accepted; returns the first of those that wait for it.
    pub fn accept(&mut self, hash: &BlockHash) -> Option<u32> {
        match self.states.insert(*hash, State::Accepted) {
            Some(State::Awaited { first, .. }) => Some(first),
            Some(State::Accepted) | None => None,
        }
    }

    /// The block that waits for the same parent as the one at `position`, after it.
    pub fn after(&self, position: u32) -> Option<u32> {
        self.next.get(position as usize).copied().filter(|next| *next != NONE)
    }

    /// All that still wait, in their order.
    pub fn left(&self) -> Vec<u32> {
        let mut left = vec![];
        for state in self.states.values() {
            let State::Awaited { first, .. } = state else { continue };
            left.extend(std::iter::successors(Some(*first), |position| self.after(*position)));
        }
        left.sort_unstable();
        left
    }
}
