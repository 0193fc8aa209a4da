//! Paired runs: which variant runs next, and when a comparison ends.
//!
//! All variants run in one session, each run in a process of its own, in blocks: each variant once
//! in a random order, and then each once more in the reverse order (A B B A). A machine that
//! becomes slower or faster does so for all of them, and in both directions. The k-th run of a
//! variant in a block and the k-th of another are a pair.
//!
//! The first variant is the baseline, and the second is the baseline again: their difference is the
//! noise floor, and no smaller difference is reported.

mod time;

use crate::definition::Settings;
use crate::report::Unit;
use crate::statistics::{Estimate, LEAST_PAIRS, median};
use anyhow::{Result, ensure};
use blockmill_pipeline::record::RunRecord;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;
pub use time::NoTime;
use time::Time;
pub(crate) use time::rough;

/// Index of the baseline in the list of variants.
pub const BASELINE: usize = 0;
/// Index of the second copy of the baseline.
pub const AGAIN: usize = 1;

/// When a comparison ends, and which of its runs count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// A variant runs no more when half of the interval of its ratio is narrower than this.
    pub precision: f64,
    /// How long all runs together may take.
    pub budget: Duration,
    /// Where the budget has no room for the least number of pairs of everybody, the slowest leave
    /// after the first block. Not where each is compared with the one before.
    pub may_leave: bool,
    /// Least number of pairs, so that they bound anything at all.
    pub least_pairs: usize,
    /// Most pairs.
    pub most_pairs: usize,
    /// A run is disturbed when others took more than this share of the machine.
    pub disturbed: f64,
    /// Does each variant run once before runs count? Not where each run begins with making what
    /// it then reads.
    pub warm_up: bool,
    /// Chooses the orders.
    pub seed: u64,
}

impl Rules {
    /// Does the number of pairs end a comparison, and not the time?
    fn is_counted(&self) -> bool {
        self.budget == Duration::MAX
    }

    /// Runs of so many variants; `None` if the time decides.
    pub fn runs(&self, variants: usize) -> Option<usize> {
        let warm_up = if self.warm_up { variants.saturating_sub(1) } else { 0 };
        self.is_counted().then(|| warm_up + 2 * variants * self.most_pairs.div_ceil(2))
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            precision: 0.02,
            budget: Duration::from_secs(60),
            may_leave: true,
            least_pairs: LEAST_PAIRS,
            most_pairs: 200,
            disturbed: 0.05,
            warm_up: true,
            seed: 1,
        }
    }
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The place of the variant in the list.
    pub variant: usize,
    /// The block, counted from 1; 0 for the runs that only warm up.
    pub block: u32,
    /// Others took so much of the machine that the run counts only if there are too few without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    /// What the run recorded.
    pub record: RunRecord,
}

/// What the comparison needs from outside; tests have a clock and runs of their own.
pub trait Runner {
    /// Time since the comparison began.
    fn elapsed(&self) -> Duration;

    /// One run of a variant.
    ///
    /// # Errors
    /// When the run fails.
    fn run(&mut self, variant: usize) -> Result<RunRecord>;

    /// Reports the progress of the comparison.
    fn progress(&mut self, line: &str);

    /// Reports what the last pairs were, until the next ones are there.
    fn passed(&mut self, line: &str) {
        self.progress(line);
    }
}

/// Runs a comparison of `labels.len()` variants over the fact `figure`. The answers of all runs
/// must equal `expected`. Variants with the same number in `works` must have the same answers.
///
/// # Errors
/// When a run fails, or when two runs do not find the same.
pub fn compare(
    labels: &[String],
    figure: &str,
    expected: &Settings,
    works: &[usize],
    rules: &Rules,
    runner: &mut impl Runner,
) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = vec![];
    let mut chance = fastrand::Rng::with_seed(rules.seed);
    let mut time = Time::new(labels, rules);
    for block in u32::from(!rules.warm_up).. {
        let mut turns = turns(&time.active, block, &mut chance);
        while let Some(variant) = turns.pop_front() {
            let began = runner.elapsed();
            let record = runner.run(variant)?;
            time.ran(variant, began, runner.elapsed());
            let first = runs.iter().find(|run| works[run.variant] == works[variant]);
            agree(labels, expected, first.map(|run| &run.record), &record)?;
            let disturbed = record.load.is_some_and(|load| load.share() > rules.disturbed);
            runs.push(Run { variant, block, disturbed, record });
            if runs.len() == 1 {
                time.announce(runner)?;
                turns.retain(|one| time.active.contains(one));
            }
            if block > 1 && time.is_over(runner.elapsed()) {
                return Ok(runs);
            }
        }
        let line = line(labels, figure, &runs, block);
        runner.passed(&line);
        if block == 0 {
            time.begin(runner)?;
            continue;
        }
        time.active.retain(|one| *one <= AGAIN || !is_known(&runs, *one, figure, rules));
        time.leave(block as usize, runner);
        let known = time.active.iter().all(|one| is_known(&runs, *one, figure, rules));
        if known || !time.has_room(runner.elapsed()) {
            break;
        }
    }
    Ok(runs)
}

/// Who runs in a block, in which order.
fn turns(active: &[usize], block: u32, chance: &mut fastrand::Rng) -> VecDeque<usize> {
    let mut turns = active.to_vec();
    if block == 0 {
        // the same as the baseline
        turns.retain(|variant| *variant != AGAIN);
    } else {
        chance.shuffle(&mut turns);
        turns.extend(turns.clone().into_iter().rev());
    }
    turns.into()
}

/// Is enough known about a variant?
fn is_known(runs: &[Run], variant: usize, figure: &str, rules: &Rules) -> bool {
    if variant == BASELINE {
        return true;
    }
    let pairs = Pairs::of(runs, variant, BASELINE, figure);
    if pairs.all.len() >= rules.most_pairs {
        return true;
    }
    let estimate = Estimate::of(&pairs.calm);
    pairs.calm.len() >= rules.least_pairs
        && estimate.is_some_and(|estimate| estimate.half_width() <= rules.precision)
}

/// Two variants, pair by pair: how many times as much the first one's fact is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Ratios of undisturbed runs.
    pub calm: Vec<f64>,
    /// Ratios of all runs.
    pub all: Vec<f64>,
}

impl Pairs {
    /// The pairs of variants `one` and `other`.
    pub fn of(runs: &[Run], one: usize, other: usize, figure: &str) -> Self {
        let mut pairs = Self::default();
        let blocks = runs.iter().map(|run| run.block).max().unwrap_or(0);
        for block in 1..=blocks {
            let of = |variant| {
                runs.iter().filter(move |run| (run.block, run.variant) == (block, variant))
            };
            for (a, b) in of(one).zip(of(other)) {
                let ratio = figure_of(&a.record, figure) / figure_of(&b.record, figure);
                pairs.all.push(ratio);
                if !a.disturbed && !b.disturbed {
                    pairs.calm.push(ratio);
                }
            }
        }
        pairs
    }

    /// The estimate from undisturbed pairs if they give a finite interval, otherwise from all
    /// pairs.
    pub fn estimate(&self) -> Option<Estimate> {
        let calm = Estimate::of(&self.calm).filter(|estimate| estimate.high.is_finite());
        calm.or_else(|| Estimate::of(&self.all))
    }
}

/// A fact that is compared. CPU time is the sum of two.
pub fn figure_of(record: &RunRecord, figure: &str) -> f64 {
    if figure == CPU_S { record.cpu_s() } else { record.facts.value(figure) }
}

/// CPU time of the process, user and system.
pub const CPU_S: &str = "cpu_s";

/// Checks that the answers of a run equal `expected` and the answers of the first run.
fn agree(
    labels: &[String],
    expected: &Settings,
    first: Option<&RunRecord>,
    record: &RunRecord,
) -> Result<()> {
    let found = record.answers();
    let answer = |name: &str| found.get(name).filter(|value| !value.is_empty());
    for (name, value) in expected {
        if let Some(found) = answer(name) {
            let label = &record.label;
            ensure!(value == found, "{label}: expected {name} {value}, found {found}");
        }
    }
    let all = labels.join(", ");
    for (name, value) in first.map(RunRecord::answers).unwrap_or_default() {
        if let (Some(found), Some(first)) = (answer(name), first) {
            let (one, other) = (&first.label, &record.label);
            ensure!(
                value == *found,
                "{one} and {other} do not agree (of {all}): {name} is {value} for the one, {found} \
                 for the other"
            );
        }
    }
    Ok(())
}

/// What a block measured: the median of each variant, of many only the first.
fn line(labels: &[String], figure: &str, runs: &[Run], block: u32) -> String {
    const SHOWN: usize = 4;
    let of_block = runs.iter().filter(|run| run.block == block);
    let mut words = vec![];
    for (at, label) in labels.iter().enumerate() {
        let values: Vec<f64> = of_block
            .clone()
            .filter(|run| run.variant == at)
            .map(|run| figure_of(&run.record, figure))
            .collect();
        words.extend(
            median(&values).map(|value| format!("{label} {}", Unit::of(figure).show(value))),
        );
    }
    let more = words.len().saturating_sub(SHOWN);
    words.truncate(SHOWN);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    let disturbed = of_block.filter(|run| run.disturbed).count();
    if disturbed > 0 {
        words.push(format!("{disturbed} runs disturbed"));
    }
    let what = match block {
        0 => "warm-up".to_owned(),
        block => format!("pairs {} and {}", 2 * block - 1, 2 * block),
    };
    format!("{what}: {}", words.join(", "))
}

#[cfg(test)]
mod tests;
