//! Adds a record to the tree as a block: checks the header rules after its parent.

use super::{Linker, Record, UNPROVEN};
use crate::header::Claims;
use crate::header::rules::{
    Known, MEDIAN_BLOCKS, Parent, Violation, begins_period, median, real_bits, verify_after,
    verify_known, verify_work,
};
use crate::index::tree::{Anchor, Block, GENESIS, RefusalReason};

impl Linker<'_> {
    /// Adds `record` as a child of the block `parent`, if the rules allow it.
    #[inline]
    pub(super) fn link(&mut self, record: u32, parent: u32) {
        let before = self.tree.blocks[parent as usize];
        let Record { claims, block: proven, .. } = self.records[record as usize];
        // numbers of records have 32 bits, so heights fit
        let height = before.height + 1;
        let verdict = if proven == UNPROVEN {
            verify_work(self.params, claims.bits, &self.tree.found[record as usize].hash)
        } else if let Some(anchor) = self.tree.anchor {
            self.verify_known(anchor, &before, &claims)
        } else {
            verify_after(self.params, &self.context(&before), &claims, self.now)
        };
        if let Err(violation) = verdict {
            return self.refuse(record, RefusalReason::Rule(height, violation));
        }
        let Claims { time, bits, .. } = claims;
        let base = self.tree.base();
        let block = self.tree.blocks.len() as u32;
        let block_work = self.works.work(bits);
        self.tree.blocks.push(Block {
            work: before.work.saturating_add(block_work),
            parent,
            height,
            time,
            bits,
            median_time: self.median_time(parent, time),
            real_bits: real_bits(self.params, height + base, bits, before.real_bits),
            first: if self.begins_period(height) { block } else { before.first },
            record,
        });
        self.records[record as usize].block = block;
    }

    /// Returns whether a difficulty period begins at this height, counted from the first block.
    #[inline]
    fn begins_period(&self, height: u32) -> bool {
        match self.tree.anchor {
            None => begins_period(self.params, height),
            Some(Anchor { height: Some(base), .. }) => begins_period(self.params, base + height),
            Some(Anchor { height: None, .. }) => false,
        }
    }

    /// Checks the rules for which enough earlier blocks are known.
    #[cold]
    fn verify_known(
        &self,
        anchor: Anchor,
        before: &Block,
        claims: &Claims,
    ) -> Result<(), Violation> {
        let known = Known {
            height: anchor.height.is_some(),
            period: before.first != GENESIS || self.begins_period(0),
            within: anchor.height.is_some() && !self.begins_period(before.height + 1),
            times: before.height as usize + 1 >= MEDIAN_BLOCKS,
        };
        verify_known(self.params, &self.context(before), claims, self.now, known)
    }

    /// The properties of the parent that the rules need.
    #[inline]
    fn context(&self, before: &Block) -> Parent {
        let first = &self.tree.blocks[before.first as usize];
        Parent {
            height: before.height + self.tree.base(),
            time: before.time,
            bits: before.bits,
            median_time: before.median_time,
            real_bits: before.real_bits,
            first_time: first.time,
            first_bits: first.bits,
        }
    }

    /// The median of `time` and the times of `parent` and the nine before it.
    #[inline]
    fn median_time(&self, parent: u32, time: u32) -> u32 {
        let mut times = [time; MEDIAN_BLOCKS];
        let mut at = parent;
        let mut free = MEDIAN_BLOCKS - 1;
        while free > 0 {
            let block = &self.tree.blocks[at as usize];
            free -= 1;
            times[free] = block.time;
            if at == GENESIS {
                break;
            }
            at = block.parent;
        }
        median(&mut times[free..]).unwrap_or(time)
    }
}
