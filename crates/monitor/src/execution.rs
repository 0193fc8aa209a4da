//! Counts and times of executed blocks so far.

use blockmill_pipeline::record::{
    BLOCK, FIRST, MGAS_PER_S, Percentiles, RunRecord, SLOWEST_BLOCK, Series,
};
use blockmill_verdict::{BLOCK_BOUNDS, BLOCK_PHASES, Counts};
use serde::Serialize;
use std::time::Duration;

/// Blocks that were executed, all together. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Execution {
    /// Counts by name.
    #[serde(flatten)]
    pub counts: Counts,
    /// Million gas a second since the beginning.
    pub mgas_per_s: f64,
    /// What a block took in all phases.
    pub all: Times,
    /// Time of a block in each phase, by name.
    pub phases: Vec<(&'static str, Times)>,
    /// The last blocks.
    pub recent: Recent,
    /// Number of the block that took longest.
    pub slowest: u64,
    /// Time of that block.
    pub slowest_s: f64,
}

/// How long blocks took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    /// Summed over blocks and threads.
    pub busy_s: f64,
    /// A histogram: blocks that took at most the bound at the same index of [`BLOCK_BOUNDS`], and
    /// more than the bound before it; the last count is of longer ones.
    pub counts: Vec<u64>,
}

impl Times {
    fn new(times: &blockmill_verdict::BlockTimes) -> Self {
        Self { busy_s: times.busy.as_secs_f64(), counts: times.counts.to_vec() }
    }

    /// Bounds in seconds and the counts of blocks; the last bound is infinite.
    pub(crate) fn at_most(&self) -> Vec<(f64, u64)> {
        let bounds = BLOCK_BOUNDS.into_iter().chain([f64::MAX]);
        bounds.zip(self.counts.iter().copied()).collect()
    }
}

/// Times of the last few hundred blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recent {
    /// How many they are.
    pub blocks: usize,
    /// The median of their times.
    pub p50_s: f64,
    /// 95 of 100 are not above this one.
    pub p95_s: f64,
    /// 99 of 100 are not above this one.
    pub p99_s: f64,
    /// The longest.
    pub max_s: f64,
}

impl Recent {
    fn new(recent: &blockmill_verdict::Recent) -> Self {
        let mut seconds: Vec<f64> = recent.seconds().iter().map(|time| f64::from(*time)).collect();
        let found = Percentiles::from_values(&mut seconds);
        let Percentiles { p50: p50_s, p95: p95_s, p99: p99_s, max: max_s } = found;
        Self { blocks: seconds.len(), p50_s, p95_s, p99_s, max_s }
    }
}

impl Execution {
    pub(crate) fn new(all: &blockmill_verdict::Execution, elapsed_s: f64) -> Self {
        let rate = if elapsed_s > 0.0 { all.counts.gas as f64 / 1e6 / elapsed_s } else { 0.0 };
        Self {
            counts: all.counts,
            mgas_per_s: rate,
            all: Times::new(&all.all),
            phases: BLOCK_PHASES.into_iter().zip(all.phases.iter().map(Times::new)).collect(),
            recent: Recent::new(&all.recent),
            slowest: all.slowest.0,
            slowest_s: all.slowest.1.as_secs_f64(),
        }
    }

    /// The counts and times of a run that has ended. If its record has a sample of the blocks only,
    /// the times are those of the sample.
    pub(crate) fn of_record(record: &RunRecord) -> Option<Self> {
        let blocks = record.series(BLOCK).filter(|blocks| !blocks.values("gas").is_empty())?;
        let mut all = blockmill_verdict::Execution::default();
        times(blocks).for_each(|(number, phases)| all.took(number, phases));
        let slowest = record.series(SLOWEST_BLOCK).and_then(|slowest| times(slowest).next());
        let slowest = slowest.map(|(number, phases)| (number, phases.iter().sum()));
        all.slowest = slowest.unwrap_or(all.slowest);
        all.counts = Counts::from_values(|name| record.facts.count_of(name));
        Some(Self { mgas_per_s: record.facts.value(MGAS_PER_S), ..Self::new(&all, 0.0) })
    }
}

/// Numbers of the blocks of a series, and what they took in each phase.
fn times(series: &Series) -> impl Iterator<Item = (u64, [Duration; BLOCK_PHASES.len()])> {
    let phases = BLOCK_PHASES.map(|phase| series.values(phase));
    let time = move |row: usize| {
        phases.map(|times| times.get(row).copied().unwrap_or(0.0)).map(|seconds| {
            // a record may hold any number
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        })
    };
    series.values(FIRST).iter().enumerate().map(move |(row, number)| (*number as u64, time(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::record::Program;

    #[test]
    fn a_record_says_what_the_run_said() {
        let mut record = RunRecord::new(Program::default(), "x");
        assert_eq!(Execution::of_record(&record), None);
        let blocks = |row, numbers: [f64; 2]| {
            Series::new(row)
                .index(FIRST, "block", numbers.to_vec())
                .index("gas", "gas", vec![5.0, 6.0])
                .measured("execute", "s", vec![0.002, 0.05])
                .measured("root", "s", vec![0.0005, 0.5])
        };
        record.series = vec![blocks(BLOCK, [1.0, 2.0]), blocks(SLOWEST_BLOCK, [7.0, 8.0])];
        record.facts.count("gas", 11);
        record.facts.set(MGAS_PER_S, 2.5);
        let found = Execution::of_record(&record).unwrap();
        assert_eq!((found.counts.gas, found.mgas_per_s, found.slowest), (11, 2.5, 7));
        let some = |times: &Times| {
            let at_most = times.at_most();
            assert_eq!(at_most.len(), BLOCK_BOUNDS.len() + 1);
            at_most.into_iter().filter(|(_, blocks)| *blocks > 0).collect::<Vec<_>>()
        };
        assert_eq!(some(&found.all), [(0.003, 1), (1.0, 1)]);
        assert!((found.all.busy_s - 0.5525).abs() < 1e-9, "{}", found.all.busy_s);
        assert!((found.slowest_s - 0.0025).abs() < 1e-9, "{}", found.slowest_s);
        let names: Vec<_> = found.phases.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, BLOCK_PHASES);
        assert_eq!(some(&found.phases[0].1), [(0.003, 1), (0.1, 1)]);
        assert_eq!(some(&found.phases[3].1), [(0.0001, 2)]);
        assert_eq!(found.recent.blocks, 2);
        assert!((found.recent.p50_s - 0.0025).abs() < 1e-6, "{:?}", found.recent);
        assert!((found.recent.p99_s - 0.55).abs() < 1e-6, "{:?}", found.recent);
    }
}
