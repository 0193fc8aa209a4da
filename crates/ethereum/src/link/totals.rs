//! Total difficulty along the chain, and the merge, which it decides on.

use super::Link;
use crate::U256;
use crate::batch::{Batch, Checks};
use crate::error::{Rule, Violation};
use crate::fault::Cause;
use crate::header::{HeaderView, rules};
use crate::params::ChainSpec;
use blockmill_archive::Part;

impl Link {
    /// Sums difficulties, compares them with what the archive states, and holds each header to
    /// its side of the merge.
    pub(super) fn add_difficulties(
        &mut self,
        checks: &Checks<'_>,
        batch: &mut Batch,
        start: usize,
    ) {
        self.totals.clear();
        let stated = |i: usize| {
            batch.blocks.chunk.total_difficulties.get(i).map(|t| U256::from_be_bytes(*t))
        };
        let mut total = match &self.tip {
            Some(tip) => tip.total_difficulty,
            // the genesis block begins the sum; an anchor is believed
            None if batch.blocks.first_number == 0 => Some(U256::ZERO),
            None => {
                stated(0).zip(batch.headers.difficulties.first()).map(|(t, d)| t.wrapping_sub(*d))
            }
        };
        if !self.has_begun {
            self.passed.before = total;
        }
        let mut sum = self.passed.sum;
        let mut failure = None;
        for i in start..batch.verdict.good {
            let difficulty = batch.headers.difficulties[i];
            let Some(before) = total else {
                self.passed.note_side(batch, i, sum);
                sum = sum.saturating_add(difficulty);
                self.totals.push(U256::ZERO);
                continue;
            };
            let header = || batch.blocks.header(i).ok();
            let side = (batch.blocks.number(i), difficulty);
            if let Err(violation) = check_merge(checks.spec, side, before, header) {
                failure = Some((i, Part::Header, violation));
                break;
            }
            let after = before.saturating_add(difficulty);
            if let Some(stated) = stated(i).filter(|stated| *stated != after) {
                let violation = Violation::new(Rule::TotalDifficulty, after, stated);
                failure = Some((i, Part::TotalDifficulty, violation));
                break;
            }
            self.totals.push(after);
            total = Some(after);
        }
        self.total = total;
        if let Some((i, part, violation)) = failure {
            batch.refuse(i, part, Cause::Rule(violation));
        }
    }
}

/// Holds a block of this number and difficulty to its side of the merge. The header is decoded only
/// when its difficulty does not already agree with the total difficulty before it.
pub(super) fn check_merge<'h>(
    spec: &ChainSpec,
    (number, difficulty): (u64, U256),
    before: U256,
    header: impl FnOnce() -> Option<HeaderView<'h>>,
) -> Result<(), Violation> {
    let Some(merge) = spec.merge else { return Ok(()) };
    let reached = before >= merge.terminal_total_difficulty;
    if number == 0 || reached == difficulty.is_zero() {
        return Ok(());
    }
    // it was decoded before
    header().map_or(Ok(()), |header| rules::verify_merge(spec, before, &header))
}
