//! What the link phase leaves of a batch: the new blocks of the chain.

use super::{BlockId, Tip};
use crate::U256;
use crate::verify::{Checked, Verdict};
use std::ops::Range;

/// The new blocks of a batch; only [`Link::extend`](super::Link::extend) fills it. It keeps its
/// memory from batch to batch.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub(super) range: Range<usize>,
    /// Total difficulty after each block of `range`; zero where unknown.
    pub(super) totals: Vec<U256>,
    pub(super) anchor: Option<BlockId>,
    pub(super) has_total: bool,
    pub(super) ends_era: bool,
}

impl Linked {
    /// The new blocks that have passed every check so far, checks of later phases included.
    #[inline]
    pub fn range(&self, verdict: &Verdict) -> Range<usize> {
        self.range.start.min(verdict.good)..self.range.end.min(verdict.good)
    }

    /// Total difficulty after each new block; zero where unknown.
    pub fn totals(&self) -> &[U256] {
        &self.totals
    }

    /// The block that was believed without a parent.
    pub fn anchor(&self) -> Option<BlockId> {
        self.anchor
    }

    /// Is the last block under an accumulator that was found as published?
    pub fn ends_era(&self) -> bool {
        self.ends_era
    }

    /// The last of the new blocks.
    pub fn tip(&self, checked: Checked<'_>, verdict: &Verdict) -> Option<Tip> {
        let range = self.range(verdict);
        let last = range.clone().last()?;
        let number = checked.blocks.number(last);
        Some(Tip {
            id: BlockId { number, hash: checked.blocks.hashes[last] },
            header: checked.encoded(last),
            total_difficulty: self.has_total.then(|| self.totals[range.len() - 1]),
        })
    }

    /// Linked new blocks, for tests of later phases.
    #[cfg(test)]
    pub fn new_blocks(range: Range<usize>) -> Self {
        let totals = vec![U256::ZERO; range.len()];
        Self { range, totals, ..Self::default() }
    }
}
