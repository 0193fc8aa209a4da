//! Total difficulty along the chain, and the merge, which it decides on.

use super::Link;
use crate::U256;
use crate::fault::Cause;
use crate::header::{HeaderView, rules};
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::verify::{Checked, Checks, Verdict};
use blockmill_archive::Part;

impl Link {
    /// Sums difficulties, compares them with the archive's, and checks on which side of the merge
    /// each block is. `totals` gets the total difficulty after each block.
    pub(super) fn add_difficulties(
        &mut self,
        checks: &Checks<'_>,
        checked: Checked<'_>,
        verdict: &mut Verdict,
        start: usize,
        totals: &mut Vec<U256>,
    ) {
        totals.clear();
        let (blocks, difficulties) = (checked.blocks, checked.headers.difficulties());
        let stated =
            |i: usize| blocks.chunk.total_difficulties.get(i).map(|t| U256::from_be_bytes(*t));
        let mut total = match &self.tip {
            Some(tip) => tip.total_difficulty,
            // the genesis block begins the sum; an anchor is believed
            None if blocks.first_number == 0 => Some(U256::ZERO),
            None => stated(0).zip(difficulties.first()).map(|(t, d)| t.wrapping_sub(*d)),
        };
        if !self.has_begun {
            self.passed.before = total;
        }
        let mut sum = self.passed.sum;
        let mut failure = None;
        for (i, difficulty) in difficulties.iter().enumerate().take(verdict.good).skip(start) {
            let Some(before) = total else {
                self.passed.note_side(checked, i, sum);
                sum = sum.saturating_add(*difficulty);
                totals.push(U256::ZERO);
                continue;
            };
            let side = (blocks.number(i), *difficulty);
            if let Err(violation) = check_merge(checks.spec, side, before, || checked.header(i)) {
                failure = Some((i, Part::Header, violation));
                break;
            }
            let after = before.saturating_add(*difficulty);
            if let Some(stated) = stated(i).filter(|stated| *stated != after) {
                let violation = Violation::new(Rule::TotalDifficulty, after, stated);
                failure = Some((i, Part::TotalDifficulty, violation));
                break;
            }
            totals.push(after);
            total = Some(after);
        }
        self.total = total;
        if let Some((i, part, violation)) = failure {
            verdict.refuse(blocks, i, part, Cause::Rule(violation));
        }
    }
}

/// Checks on which side of the merge a block of this number and difficulty is. The other fields of
/// its header matter only if its difficulty does not agree with the total difficulty before it.
#[inline]
pub(super) fn check_merge<'h>(
    spec: &ChainSpec,
    (number, difficulty): (u64, U256),
    before: U256,
    header: impl FnOnce() -> HeaderView<'h>,
) -> Result<(), Violation> {
    let Some(merge) = spec.merge else { return Ok(()) };
    let reached = before >= merge.terminal_total_difficulty;
    if number == 0 || reached == difficulty.is_zero() {
        return Ok(());
    }
    rules::verify_merge(spec, before, &header())
}
