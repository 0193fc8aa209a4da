//! The accumulators of era1 and ere files, computed again.

use crate::rule::{Rule, Violation};
use crate::verify::Checked;
use crate::{Hash, U256};
use blockmill_archive::era1::Accumulator;
use blockmill_archive::{Accumulates, EraEnd};
use blockmill_verdict::Hex;
use std::ops::Range;

/// The blocks of a file so far.
#[derive(Default)]
pub(super) struct OpenEra {
    accumulator: Accumulator,
    /// Number of blocks, whether the accumulator covers them or not.
    blocks: u64,
}

/// How a file ended.
pub(super) enum EraVerdict {
    /// It did not end, or it states no accumulator.
    Open,
    /// It states an accumulator, and the run began inside of the file.
    Part,
    /// Its accumulator was computed again and is equal.
    Equal,
    /// Its accumulator cannot be computed: total difficulties are unknown.
    Unknown,
}

impl OpenEra {
    /// Whether it has blocks that an accumulator covers.
    pub fn has_blocks(&self) -> bool {
        self.accumulator.count() > 0
    }

    /// Adds the blocks in `range` with their total difficulties, unless these are unknown, and
    /// compares the accumulator at the end of the file.
    pub fn add(
        &mut self,
        checked: Checked<'_>,
        range: &Range<usize>,
        totals: Option<&[U256]>,
    ) -> Result<EraVerdict, Violation> {
        let chunk = &checked.blocks.chunk;
        let Some(accumulates) = chunk.accumulates else { return Ok(EraVerdict::Open) };
        self.blocks += range.len() as u64;
        let covered = |i: &usize| match accumulates {
            Accumulates::AllBlocks => true,
            Accumulates::BlocksBeforeMerge => !checked.difficulty(*i).is_zero(),
        };
        for i in range.clone().filter(covered) {
            let total =
                totals.and_then(|totals| totals.get(i - range.start)).unwrap_or(&U256::ZERO);
            self.accumulator.push(&checked.blocks.hashes[i], &total.to_be_bytes());
        }
        let Some(end) = &chunk.era_end else { return Ok(EraVerdict::Open) };
        let era = std::mem::take(self);
        if range.end != chunk.blocks() || era.blocks != end.blocks {
            // the run began inside of the file, unless an earlier one had all of its blocks
            let is_part = era.accumulator.count() > 0 && end.accumulator.is_some();
            return Ok(if is_part { EraVerdict::Part } else { EraVerdict::Open });
        }
        era.compare(end, totals.is_some())
    }

    fn compare(&self, end: &EraEnd, has_totals: bool) -> Result<EraVerdict, Violation> {
        let Some(stated) = &end.accumulator else { return Ok(EraVerdict::Open) };
        if self.accumulator.count() == 0 {
            let expected = "none, as no block is from before the merge";
            return Err(Violation::new(Rule::Accumulator, expected, Hex(stated)));
        }
        if !has_totals {
            return Ok(EraVerdict::Unknown);
        }
        let root: Hash = self.accumulator.root();
        if root != *stated {
            return Err(Violation::new(Rule::Accumulator, Hex(&root), Hex(stated)));
        }
        Ok(EraVerdict::Equal)
    }
}
