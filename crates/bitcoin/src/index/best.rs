//! The chain with the most work, and the next one when a body of it turns out bad.

use super::tree::{GENESIS, Tree};

impl Tree {
    /// The tip of the chain with the most work; of equal ones that which was complete first in the
    /// order of the files, as Core chooses.
    pub fn best_tip(&self) -> u32 {
        let mut best = GENESIS;
        for block in 0..self.len() {
            // a lower number was complete earlier, and wins
            if self.chain_work(block) > self.chain_work(best) && !self.is_invalid(block) {
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
    /// out bad. Returns whether there is one.
    pub fn use_copy(&mut self, block: u32) -> bool {
        let Some(at) = self.copies.iter().position(|(of, _)| *of == block) else { return false };
        let (_, record) = self.copies.remove(at);
        self.blocks[block as usize].record = record;
        true
    }

    /// Takes `block` and everything that descends from it out of the choice. The first block
    /// cannot be taken out. Goes once over the blocks after it.
    pub fn mark_invalid(&mut self, block: u32) {
        if block == GENESIS || self.is_invalid(block) {
            return;
        }
        self.invalid.resize(self.blocks.len(), false);
        self.invalid[block as usize] = true;
        // parents come before children
        for (at, entry) in self.blocks.iter().enumerate().skip(block as usize + 1) {
            if self.invalid[entry.parent as usize] {
                self.invalid[at] = true;
            }
        }
    }

    /// Was the block or one before it marked invalid?
    pub fn is_invalid(&self, block: u32) -> bool {
        self.invalid.get(block as usize).is_some_and(|invalid| *invalid)
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
