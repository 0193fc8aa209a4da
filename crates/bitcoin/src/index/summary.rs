//! Summary of an archive: tip, stale branches, gaps, and the order of blocks.

use super::tree::{GENESIS, Tree};
use crate::BlockHash;
use std::collections::HashMap;

/// A branch that is not in the best chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its last block.
    pub tip: u32,
    /// The height of the last block that it shares with the best chain.
    pub fork_height: u32,
    /// Number of its blocks above that. Blocks that two branches share count in both.
    pub length: u32,
    /// Whether one of them is marked invalid.
    pub invalid: bool,
}

/// A missing block that other blocks follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The hash of the missing block.
    pub missing: BlockHash,
    /// Index of the first record that follows it in [`Tree::found`].
    pub first: u32,
    /// Number of records that cannot be linked because of it.
    pub records: u32,
}

/// Summary of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Records found, with repetitions.
    pub records: u32,
    /// Blocks in the tree, with the first one even if no file has it.
    pub blocks: u32,
    /// Records of a block that an earlier record has, too.
    pub repeated: u32,
    /// Records that break a header rule, or descend from such a record.
    pub refused: u32,
    /// Records after gaps.
    pub unlinked: u32,
    /// Records that precede their parents.
    pub parents_later: u32,
    /// Records read before their parent was linked: Core reports them as out of order.
    pub held_back: u32,
    /// The last block of the best chain.
    pub tip: u32,
    /// Its height.
    pub height: u32,
    /// Branches other than the best chain, by the number of their last block.
    pub branches: Vec<Branch>,
    /// Missing blocks, in the order of the first records that follow them.
    pub gaps: Vec<Gap>,
}

impl Summary {
    /// Share of records that precede their parents, from 0 to 1.
    pub fn out_of_order_rate(&self) -> f64 {
        f64::from(self.parents_later) / f64::from(self.records.max(1))
    }
}

impl Tree {
    /// Computes the summary in one pass over the tree.
    pub fn summary(&self) -> Summary {
        let tip = self.best_tip();
        Summary {
            records: self.found.len() as u32,
            blocks: self.len(),
            repeated: self.repeated,
            refused: self.refused.len() as u32,
            unlinked: self.orphans.len() as u32,
            parents_later: self.parents_later,
            held_back: self.held_back,
            tip,
            height: self.height(tip),
            branches: self.branches(),
            gaps: self.gaps(),
        }
    }

    fn branches(&self) -> Vec<Branch> {
        let chain = self.best_chain();
        let in_chain = |block| chain.get(self.height(block) as usize) == Some(&block);
        let mut is_tip = vec![true; self.blocks.len()];
        let mut fork_heights = vec![0; self.blocks.len()];
        for block in GENESIS + 1..self.len() {
            let parent = self.parent(block) as usize;
            is_tip[parent] = false;
            let forked = if in_chain(block) { self.height(block) } else { fork_heights[parent] };
            fork_heights[block as usize] = forked;
        }
        let tips = (0..self.len()).filter(|tip| is_tip[*tip as usize] && !in_chain(*tip));
        let branch = |tip| {
            let fork_height = fork_heights[tip as usize];
            let length = self.height(tip) - fork_height;
            Branch { tip, fork_height, length, invalid: self.is_invalid(tip) }
        };
        tips.map(branch).collect()
    }

    /// Missing blocks that other blocks follow. Cheap if there are none.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        let mut indexes = HashMap::new();
        let mut gaps: Vec<Gap> = Vec::new();
        for &(root, _) in &self.orphans {
            let missing = self.found[root as usize].header().previous();
            let index = *indexes.entry(missing).or_insert(gaps.len());
            match gaps.get_mut(index) {
                Some(gap) => gap.records += 1,
                None => gaps.push(Gap { missing, first: root, records: 1 }),
            }
        }
        gaps
    }
}
