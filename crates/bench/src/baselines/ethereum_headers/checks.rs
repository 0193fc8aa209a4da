//! How earlier designs checked headers.

use super::{Baseline, Waste, big_integers};
use blockmill_ethereum::Hash;
use blockmill_ethereum::difficulty::Parent;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::import::{ChainRules, HeaderChecks};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::rule::Violation;
use blockmill_pipeline::Cancel;
use std::hint::black_box;
use std::time::Instant;

/// The rules of the product, and with them what a baseline wastes at each header.
pub struct Earlier {
    baseline: Baseline,
    cancel: Cancel,
}

impl Earlier {
    /// Whether headers are checked in another way than by [`ChainRules`].
    pub fn is_described_by(baseline: &Baseline) -> bool {
        let wastes = [Waste::AskToStop, Waste::ReadClock, Waste::BigIntegers, Waste::OwnHeaders];
        baseline.has_any(&wastes)
    }

    /// The checks of `baseline`, in a run that `cancel` may stop.
    pub fn new(baseline: Baseline, cancel: Cancel) -> Self {
        Self { baseline, cancel }
    }

    /// Checks the second header of `pair` against the first, which has the hash `parent_hash`.
    fn check_pair(
        &self,
        spec: &ChainSpec,
        pair: &[HeaderView<'_>],
        parent_hash: Hash,
    ) -> Result<(), Violation> {
        let clock = self.baseline.has(Waste::ReadClock).then(Instant::now);
        if self.baseline.has(Waste::AskToStop) {
            // asked at each header, obeyed at the end of the chunk
            black_box(self.cancel.is_cancelled());
        }
        if self.baseline.has(Waste::BigIntegers) {
            waste_difficulty(spec, &pair[0], &pair[1]);
        }
        let verdict = ChainRules.check(spec, pair, &[parent_hash]).map_err(|(_, broken)| broken);
        if let Some(clock) = clock {
            black_box(clock.elapsed());
        }
        verdict
    }
}

/// Computes the difficulty in big integers, under proof of work. The verdict comes from the rules,
/// which compute it in 256 bits: some nanoseconds against hundreds.
fn waste_difficulty(spec: &ChainSpec, parent: &HeaderView<'_>, header: &HeaderView<'_>) {
    let rules = spec.rules_of(header);
    if !rules.proof_of_stake && header.timestamp > parent.timestamp {
        black_box(big_integers::next(rules.difficulty, header.timestamp, &Parent::from(parent)));
    }
}

impl HeaderChecks for Earlier {
    fn check(
        &self,
        spec: &ChainSpec,
        run: &[HeaderView<'_>],
        hashes: &[Hash],
    ) -> Result<(), (usize, Violation)> {
        let (mut owned, mut views) = (vec![], vec![]);
        if self.baseline.has(Waste::OwnHeaders) {
            owned.extend(run.iter().map(HeaderView::to_owned));
            let raw = run.iter().map(|header| header.raw);
            views.extend(owned.iter().zip(raw).map(|(header, raw): (&Header, _)| header.view(raw)));
        }
        let run = if views.is_empty() { run } else { &views };
        for (i, (pair, parent_hash)) in run.windows(2).zip(hashes).enumerate() {
            self.check_pair(spec, pair, *parent_hash).map_err(|broken| (i + 1, broken))?;
        }
        Ok(())
    }
}
