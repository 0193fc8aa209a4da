//! The chain with the most work, and the next one when a body of it turns out bad.

use super::tree::{GENESIS, Tree};
use std::cmp::Reverse;

/// The end of a list of children.
const NONE: u32 = u32::MAX;

/// What choosing again needs, made when the first block is marked invalid. All marks and choices
/// together then cost no more than a few passes over the tree, however many there are.
pub(super) struct Choice {
    is_invalid: Vec<bool>,
    /// The last child of each block, and the child of the same parent before it.
    child: Vec<u32>,
    sibling: Vec<u32>,
    /// All blocks, the most work first.
    order: Vec<u32>,
    /// Those before this index in `order` are invalid.
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

    /// Marks `block` and its descendants, none of them twice.
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
    /// The tip of the chain with the most work; of equal ones that which was complete first in the
    /// order of the files, as Core chooses.
    pub fn best_tip(&self) -> u32 {
        if let Some(choice) = &self.choice {
            return choice.order.get(choice.next).copied().unwrap_or(GENESIS);
        }
        let mut best = GENESIS;
        for block in 0..self.len() {
            // a lower number was complete earlier, and wins
            if self.chain_work(block) > self.chain_work(best) {
                best = block;
            }
        }
        best
    }

    /// The blocks of the chain with the most work by height, the first block included.
    pub fn best_chain(&self) -> Vec<u32> {
        let mut chain = Vec::new();
        self.choose_again(&mut chain);
        chain
    }

    /// Takes the next record with the block's header in place of the present one, whose body turned
    /// out bad. False when there is none; then the present one stays.
    pub fn use_copy(&mut self, block: u32) -> bool {
        let next = self.next_copies(block).first().map(|(_, record)| *record);
        if let Some(record) = next {
            self.blocks[block as usize].record = record;
        }
        next.is_some()
    }

    /// Takes `block` and everything that descends from it out of the choice. The first block
    /// cannot be taken out.
    pub fn mark_invalid(&mut self, block: u32) {
        if block == GENESIS || block >= self.len() {
            return;
        }
        let mut choice = self.choice.take().unwrap_or_else(|| Choice::new(self));
        choice.mark(block);
        self.choice = Some(choice);
    }

    /// Was the block or one before it marked invalid?
    pub fn is_invalid(&self, block: u32) -> bool {
        self.choice.as_ref().is_some_and(|choice| choice.is_invalid[block as usize])
    }

    /// Makes `chain`, blocks by height, the best chain again. Returns the height of the last block
    /// that stays: what was connected above it must be disconnected.
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

    /// The ancestor of `block` at `height`; `None` when the block is not so high.
    pub fn ancestor(&self, block: u32, height: u32) -> Option<u32> {
        if height > self.height(block) {
            return None;
        }
        let mut at = block;
        while self.height(at) != height {
            let first = self.blocks[at as usize].first;
            // a whole period at once, where that is not too far
            let jump = first != at && self.height(first) >= height;
            at = if jump { first } else { self.parent(at) };
        }
        Some(at)
    }

    /// The last block that is in both chains.
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
