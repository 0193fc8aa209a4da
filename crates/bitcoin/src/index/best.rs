//! The chain with the most work, and the next best one after a block is marked invalid.

use super::tree::{GENESIS, Tree};
use std::cmp::Reverse;

/// The end of a list of children.
const NONE: u32 = u32::MAX;

/// State for choosing another best chain, built when the first block is marked invalid. The cost of
/// all marks and choices together is a few passes over the tree, for any number of them.
pub(super) struct Choice {
    is_invalid: Vec<bool>,
    /// The last child of each block, and the previous sibling of each block.
    child: Vec<u32>,
    sibling: Vec<u32>,
    /// All blocks, by decreasing work.
    order: Vec<u32>,
    /// All blocks before this index in `order` are invalid.
    next: usize,
}

impl Choice {
    fn new(tree: &Tree) -> Choice {
        let count = tree.blocks.len();
        let (mut child, mut sibling) = (vec![NONE; count], vec![NONE; count]);
        for block in GENESIS + 1..tree.len() {
            let last = &mut child[tree.parent(block) as usize];
            sibling[block as usize] = std::mem::replace(last, block);
        }
        let mut order: Vec<u32> = (0..tree.len()).collect();
        order.sort_unstable_by_key(|block| (Reverse(tree.chain_work(*block)), *block));
        Choice { is_invalid: vec![false; count], child, sibling, order, next: 0 }
    }

    /// Marks `block` and its descendants, each once.
    fn mark(&mut self, block: u32) {
        let mut to_mark = vec![block];
        while let Some(block) = to_mark.pop() {
            if std::mem::replace(&mut self.is_invalid[block as usize], true) {
                continue;
            }
            let mut child = self.child[block as usize];
            while child != NONE {
                to_mark.push(child);
                child = self.sibling[child as usize];
            }
        }
        while self.order.get(self.next).is_some_and(|block| self.is_invalid[*block as usize]) {
            self.next += 1;
        }
    }
}

impl Tree {
    /// The tip of the chain with the most work. Of equal chains, the one that was complete first in
    /// the order of the files, as in Core.
    pub fn best_tip(&self) -> u32 {
        if let Some(choice) = &self.choice {
            return choice.order.get(choice.next).copied().unwrap_or(GENESIS);
        }
        let mut best = GENESIS;
        for block in 0..self.len() {
            // on a tie, the lower number wins: it was complete earlier
            if self.chain_work(block) > self.chain_work(best) {
                best = block;
            }
        }
        best
    }

    /// The blocks of the chain with the most work, by height, with the first block.
    pub fn best_chain(&self) -> Vec<u32> {
        let mut chain = Vec::new();
        self.choose_again(&mut chain);
        chain
    }

    /// Replaces the record of a block with a bad body by the next record with the same header.
    /// Returns false, and keeps the record, if there is none.
    pub fn use_copy(&mut self, block: u32) -> bool {
        let next = self.next_copies(block).first().map(|(_, record)| *record);
        if let Some(record) = next {
            self.blocks[block as usize].record = record;
        }
        next.is_some()
    }

    /// Excludes `block` and its descendants from the choice. The first block cannot be excluded.
    pub fn mark_invalid(&mut self, block: u32) {
        if block == GENESIS || block >= self.len() {
            return;
        }
        let mut choice = self.choice.take().unwrap_or_else(|| Choice::new(self));
        choice.mark(block);
        self.choice = Some(choice);
    }

    /// Returns whether the block or one of its ancestors is marked invalid.
    pub fn is_invalid(&self, block: u32) -> bool {
        self.choice.as_ref().is_some_and(|choice| choice.is_invalid[block as usize])
    }

    /// Sets `chain`, blocks by height, to the best chain. Returns the height of the last unchanged
    /// block: connected blocks above it must be disconnected.
    pub fn choose_again(&self, chain: &mut Vec<u32>) -> u32 {
        let tip = self.best_tip();
        let length = self.height(tip) as usize + 1;
        chain.resize(length.max(1), u32::MAX);
        let mut at = tip;
        while chain[self.height(at) as usize] != at {
            chain[self.height(at) as usize] = at;
            if at == GENESIS {
                break;
            }
            at = self.parent(at);
        }
        self.height(at)
    }

    /// The ancestor of `block` at `height`. `None` if the block is lower.
    pub fn ancestor(&self, block: u32, height: u32) -> Option<u32> {
        if height > self.height(block) {
            return None;
        }
        let mut at = block;
        while self.height(at) != height {
            let first = self.blocks[at as usize].first;
            // jump a whole period, unless that is too far
            let jump = first != at && self.height(first) >= height;
            at = if jump { first } else { self.parent(at) };
        }
        Some(at)
    }

    /// The last common block of two chains.
    pub fn fork(&self, a: u32, b: u32) -> u32 {
        let height = self.height(a).min(self.height(b));
        let (mut a, mut b) = (self.walk_to(a, height), self.walk_to(b, height));
        while a != b {
            (a, b) = (self.parent(a), self.parent(b));
        }
        a
    }

    fn walk_to(&self, block: u32, height: u32) -> u32 {
        self.ancestor(block, height).unwrap_or(block)
    }
}
