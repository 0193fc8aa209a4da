//! The requirements on blocks: on all of them, and on each at its height.

use crate::BlockHash;
use crate::body::{Bodies, Checked};
use crate::fault::Cause;
use crate::header::rules::MEDIAN_BLOCKS;
use crate::index::Tree;
use crate::index::path::Path;
use crate::multiset::MultisetHash;
use crate::params::{Params, Rules};
use crate::script::{self, Scripts};
use crate::types::Block;
use blockmill_hashes::ManySha256;
use blockmill_signatures::Signatures;

/// The requirements on all blocks of a run.
pub(crate) struct Terms<'a> {
    pub params: &'a Params,
    /// Whether coins are verified, or only bodies.
    pub connects: bool,
    /// For each height, the median of the times of the block and the ten before it. Relative locks
    /// count from it.
    pub median_times: &'a [u32],
    /// Scripts run above this height only.
    pub assumed_valid: u32,
    pub hasher: ManySha256,
    pub signatures: Signatures,
    pub scripts: Scripts,
    /// The multiset hash that proves the chain instead of a set of coins.
    pub multiset: Option<&'a MultisetHash<'a>>,
}

/// The requirements on a body at its position in the chain.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The header's hash.
    pub hash: BlockHash,
    /// The rules in force, with the height.
    pub rules: Rules,
    /// The median time past.
    pub median_time_past: u32,
}

impl Place {
    /// Checks a parsed and hashed block by all rules that need no coins.
    pub fn check(
        &self,
        block: &Block,
        params: &Params,
        bodies: &mut Bodies,
    ) -> Result<Checked, Cause> {
        let expected = self.hash;
        if block.hash != expected {
            return Err(Cause::Changed { expected, found: block.hash });
        }
        let past = self.median_time_past;
        let checked = bodies.check(block, &self.rules, past).map_err(Cause::Rule)?;
        // blocks of a signet carry a solution of this script
        if let Some(challenge) = params.signet_challenge.as_deref() {
            script::check_solution(block, challenge).map_err(Cause::Solution)?;
        }
        Ok(checked)
    }
}

/// A chain and its rules. Heights count from its first block.
pub(crate) struct Chain<'a> {
    pub tree: &'a Tree,
    pub path: &'a Path,
    pub params: &'a Params,
}

impl Chain<'_> {
    /// The requirements on the block at `height`.
    pub fn place(&self, height: u32) -> Place {
        Place {
            hash: *self.tree.hash(self.path.nodes[height as usize]),
            rules: self.rules(height),
            median_time_past: self.median_time_past(height),
        }
    }

    /// The height of a block in the whole chain, if known.
    pub fn height(&self, height: u32) -> Option<u32> {
        match self.tree.anchor().map(|anchor| anchor.height) {
            None => Some(height),
            Some(base) => base.map(|base| base + height),
        }
    }

    /// The rules for the block at `height`.
    fn rules(&self, height: u32) -> Rules {
        let params = self.params;
        match self.tree.anchor().map(|anchor| anchor.height) {
            None => self.path.rules(height, self.tree, params),
            Some(None) => Rules::of_no_place(),
            Some(Some(base)) => {
                let hash = self.tree.hash(self.path.nodes[height as usize]);
                params.rules(base + height, hash, None)
            }
        }
    }

    /// The median time past of the block at `height`. If too few earlier blocks are available, the
    /// highest time, so that every lock time has passed.
    pub fn median_time_past(&self, height: u32) -> u32 {
        let needed = if self.tree.anchor().is_some() { MEDIAN_BLOCKS } else { 1 };
        let before = (height as usize).checked_sub(1).filter(|_| height as usize >= needed);
        before.map_or(u32::MAX, |before| self.path.median_times[before])
    }
}
