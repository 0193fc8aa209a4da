//! How long a comparison takes: announced after the first run, and held to its budget.

use super::{AGAIN, BASELINE, Rules, Runner};
use anyhow::Result;
use blockmill_report::format::{counted, duration};
use std::fmt;
use std::time::Duration;

/// A budget is exceeded by no more than this share, and by the run that began before its end.
const TOLERANCE: f64 = 0.1;
/// How many labels a message names.
const NAMED: usize = 6;

/// The budget has no room for a single block.
#[derive(Debug)]
pub struct NoTime {
    budget_s: f64,
    needed_s: f64,
}

impl fmt::Display for NoTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget_s, needed_s } = *self;
        write!(
            f,
            "two pairs take about {} at the speed of the runs so far, the budget is {}: --budget \
             {}, or fewer variants with --only",
            rough(needed_s),
            rough(budget_s),
            flag(needed_s)
        )
    }
}

impl std::error::Error for NoTime {}

/// A time that is estimated or given, without more digits than are known: `8 s`, `170 s`, `12 min`.
pub(crate) fn rough(seconds: f64) -> String {
    match seconds {
        s if s < 0.95 => duration(s),
        s if s < 299.5 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => duration(s),
    }
}

/// A budget with room for so many seconds, as `--budget` takes it.
fn flag(seconds: f64) -> String {
    let seconds = seconds * (1.0 + TOLERANCE);
    match seconds {
        s if s <= 90.0 => format!("{}s", (s / 10.0).ceil().max(1.0) * 10.0),
        s => format!("{}m", (s / 60.0).ceil()),
    }
}

/// The variants that run, and what their runs take.
pub(super) struct Time<'a> {
    labels: &'a [String],
    rules: &'a Rules,
    /// The variants that still run.
    pub active: Vec<usize>,
    /// Seconds of the last run of each variant.
    seconds: Vec<Option<f64>>,
}

impl<'a> Time<'a> {
    pub fn new(labels: &'a [String], rules: &'a Rules) -> Self {
        let active = (0..labels.len()).collect();
        Self { labels, rules, active, seconds: vec![None; labels.len()] }
    }

    /// A run began and ended.
    pub fn ran(&mut self, variant: usize, began: Duration, ended: Duration) {
        self.seconds[variant] = Some(ended.saturating_sub(began).as_secs_f64());
    }

    /// What a run of a variant takes: as its last one, or as the baseline's.
    fn of(&self, variant: usize) -> f64 {
        let others = || self.seconds.iter().flatten().next().copied();
        self.seconds[variant].or(self.seconds[BASELINE]).or_else(others).unwrap_or(0.0)
    }

    /// Seconds of so many blocks, and of the warm-up runs before them.
    fn needed(&self, blocks: usize) -> f64 {
        let warm_up =
            |one: &&usize| self.rules.warm_up && **one != AGAIN && self.seconds[**one].is_none();
        let warm_up: f64 = self.active.iter().filter(warm_up).map(|one| self.of(*one)).sum();
        let block: f64 = self.active.iter().map(|one| 2.0 * self.of(*one)).sum();
        warm_up + block * blocks as f64
    }

    /// Blocks that give the least number of pairs; where the number of pairs is given, that.
    fn blocks(&self) -> usize {
        let pairs =
            if self.rules.is_counted() { self.rules.most_pairs } else { self.rules.least_pairs };
        pairs.div_ceil(2)
    }

    fn left(&self, elapsed: Duration) -> f64 {
        self.rules.budget.saturating_sub(elapsed).as_secs_f64()
    }

    /// Reports what will run and how long that takes, as the first run shows. Variants for which
    /// the budget has no room are left out, from the end.
    ///
    /// # Errors
    /// When the budget has no room for a block.
    pub fn announce(&mut self, runner: &mut impl Runner) -> Result<()> {
        let (all, pairs) = (self.active.len(), 2 * self.blocks());
        let needed = self.needed(self.blocks());
        let what = format!(
            "{} x {} = about {} at the speed of the first run",
            counted(all as u64, "variant"),
            counted(pairs as u64, "pair"),
            rough(needed)
        );
        if self.rules.is_counted() {
            runner.progress(&what);
            return Ok(());
        }
        let (left, budget) = (self.left(runner.elapsed()), self.rules.budget.as_secs_f64());
        let budget = rough(budget);
        if needed <= left {
            let precision = self.rules.precision.max(0.0) * 100.0;
            runner.progress(&format!(
                "{what}; the budget is {budget}: more pairs until ratios are known to within \
                 {precision} %"
            ));
            return Ok(());
        }
        let only = if all > AGAIN + 2 { ", or some of them with --only A,B" } else { "" };
        let whole = flag(needed + runner.elapsed().as_secs_f64());
        runner.progress(&format!("{what}; the budget is {budget}: --budget {whole}{only}"));
        let mut gone = vec![];
        while self.rules.may_leave
            && self.active.len() > AGAIN + 2
            && self.needed(self.blocks()) > left
            && self.active.last().is_some_and(|last| self.seconds[*last].is_none())
        {
            gone.extend(self.active.pop());
        }
        gone.reverse();
        self.report(&gone, "no time", runner);
        self.ensure_room(runner)
    }

    /// After the warm-up: the slowest leave while the budget has no room for a block.
    ///
    /// # Errors
    /// When the budget has no room for a block of those that stay.
    pub fn begin(&mut self, runner: &mut impl Runner) -> Result<()> {
        let left = self.left(runner.elapsed());
        let gone = self.without_slowest(|time| time.needed(1) > left);
        self.report(&gone, "no time", runner);
        self.ensure_room(runner)
    }

    fn ensure_room(&self, runner: &impl Runner) -> Result<()> {
        let (needed_s, elapsed) = (self.needed(1), runner.elapsed());
        // a budget is kept to within a fifth
        let budget_s = self.rules.budget.as_secs_f64();
        let all = elapsed.as_secs_f64() + needed_s;
        if self.rules.is_counted() || all <= budget_s * (1.0 + TOLERANCE) {
            return Ok(());
        }
        Err(NoTime { budget_s, needed_s: all }.into())
    }

    /// Who leaves after `block` blocks, so that the time that is left is enough for an interval of
    /// the rest: the slowest first, because a large ratio needs an interval the least. At least one
    /// variant stays with the baseline.
    pub fn leave(&mut self, block: usize, runner: &mut impl Runner) {
        let left = self.left(runner.elapsed());
        let blocks = self.rules.least_pairs.div_ceil(2).saturating_sub(block);
        let gone = self.without_slowest(|time| blocks > 0 && time.needed(blocks) > left);
        self.report(&gone, "no time for more pairs", runner);
    }

    /// Removes the slowest while there is `too_little` time for all.
    fn without_slowest(&mut self, too_little: impl Fn(&Self) -> bool) -> Vec<usize> {
        let mut gone = vec![];
        while self.rules.may_leave && self.active.len() > AGAIN + 2 && too_little(self) {
            let others = self.active.iter().filter(|one| **one > AGAIN);
            let slowest = others.max_by(|a, b| self.of(**a).total_cmp(&self.of(**b))).copied();
            self.active.retain(|one| Some(*one) != slowest);
            gone.extend(slowest);
        }
        gone
    }

    fn report(&self, gone: &[usize], why: &str, runner: &mut impl Runner) {
        if gone.is_empty() {
            return;
        }
        let labels = gone.iter().take(NAMED).map(|one| self.labels[*one].as_str());
        let more = match gone.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let labels = labels.collect::<Vec<_>>().join(", ");
        runner.progress(&format!("{labels}{more}: {why}"));
    }

    /// Is there room for another block?
    pub fn has_room(&self, elapsed: Duration) -> bool {
        self.needed(1) <= self.left(elapsed)
    }

    /// Is the budget exceeded by more than a tolerance?
    pub fn is_over(&self, elapsed: Duration) -> bool {
        !self.rules.is_counted()
            && elapsed.as_secs_f64() > self.rules.budget.as_secs_f64() * (1.0 + TOLERANCE)
    }
}
