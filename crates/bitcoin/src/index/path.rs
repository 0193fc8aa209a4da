//! The blocks of a chain by height.

use crate::BlockHash;
use crate::index::Tree;
use crate::params::{Params, Rules};

/// A chain: its blocks by height.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// Numbers of the blocks in the tree.
    pub nodes: Vec<u32>,
    /// Median of the times of each block and the ten before it (BIP113).
    pub median_times: Vec<u32>,
}

impl Path {
    /// The best chain of `tree`.
    pub fn best(tree: &Tree) -> Self {
        let nodes = tree.best_chain();
        let median_times = nodes.iter().map(|node| tree.median_time(*node)).collect();
        Self { nodes, median_times }
    }

    /// Number of blocks that another chain (hashes by height) shares from the beginning.
    pub fn shared(&self, other: &[BlockHash], tree: &Tree) -> usize {
        let own = self.nodes.iter().map(|node| tree.hash(*node));
        own.zip(other).take_while(|(own, other)| own == other).count()
    }

    /// The hashes of all blocks.
    pub fn hashes(&self, tree: &Tree) -> Vec<BlockHash> {
        self.nodes.iter().map(|node| *tree.hash(*node)).collect()
    }

    /// The rules for the block at `height`.
    pub fn rules(&self, height: u32, tree: &Tree, params: &Params) -> Rules {
        let hash = |height: u32| self.nodes.get(height as usize).map(|node| tree.hash(*node));
        let own = hash(height).unwrap_or(&params.genesis_hash);
        params.rules(height, own, hash(params.bip34_height))
    }
}
