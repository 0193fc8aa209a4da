//! What executed blocks did and took so far.

use chain::BLOCK_BOUNDS;
use pipeline::record::{BLOCK, FIRST, MGAS_PER_S, RunRecord, SLOWEST_BLOCK, Series};
use serde::Serialize;
use std::time::Duration;

/// Blocks that were executed, all together. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Execution {
    /// Gas that their transactions used.
    pub gas: u64,
    /// Million gas a second since the beginning.
    pub mgas_per_s: f64,
    /// Their transactions.
    pub transactions: u64,
    /// Accounts that were looked up in the state.
    pub account_reads: u64,
    /// Slots that were looked up in it.
    pub slot_reads: u64,
    /// Instructions whose slot the machine had read before.
    pub slot_hits: u64,
    /// Accounts and slots that they changed.
    pub changed: u64,
    /// What the blocks took, summed over blocks and threads.
    pub busy_s: f64,
    /// How many of them took at most the time in the same place of [`BLOCK_BOUNDS`], and more than
    /// the one before it; the last ones took longer than all.
    pub by_time: Vec<u64>,
    /// Number of the block that took longest.
    pub slowest: u64,
    /// What it took.
    pub slowest_s: f64,
}

impl Execution {
    pub(crate) fn of(all: &chain::Execution, elapsed_s: f64) -> Self {
        let rate = if elapsed_s > 0.0 { all.gas as f64 / 1e6 / elapsed_s } else { 0.0 };
        Self {
            gas: all.gas,
            mgas_per_s: rate,
            transactions: all.transactions,
            account_reads: all.account_reads,
            slot_reads: all.slot_reads,
            slot_hits: all.slot_hits,
            changed: all.changed,
            busy_s: all.busy.as_secs_f64(),
            by_time: all.by_time.to_vec(),
            slowest: all.slowest.0,
            slowest_s: all.slowest.1.as_secs_f64(),
        }
    }

    /// Of a run that has ended. Where its record does not keep all blocks, neither do the times.
    pub(crate) fn of_record(record: &RunRecord) -> Option<Self> {
        let blocks = record.series(BLOCK).filter(|blocks| !blocks.values("gas").is_empty())?;
        let mut all = chain::Execution::default();
        times(blocks).for_each(|(number, time)| all.took(number, time));
        let slowest = record.series(SLOWEST_BLOCK).and_then(|slowest| times(slowest).next());
        all.slowest = slowest.unwrap_or(all.slowest);
        let count = |name| record.facts.count_of(name);
        all.gas = count("gas");
        all.transactions = count("transactions");
        all.account_reads = count("account_reads");
        all.slot_reads = count("slot_reads");
        all.slot_hits = count("slot_hits");
        all.changed = count("changed");
        Some(Self { mgas_per_s: record.facts.of(MGAS_PER_S), ..Self::of(&all, 0.0) })
    }

    /// How many blocks took at most so many seconds; the last ones any time.
    pub(crate) fn at_most(&self) -> Vec<(f64, u64)> {
        let bounds = BLOCK_BOUNDS.into_iter().chain([f64::MAX]);
        bounds.zip(self.by_time.iter().copied()).collect()
    }
}

/// Numbers and times of the blocks of a series.
fn times(series: &Series) -> impl Iterator<Item = (u64, Duration)> {
    let seconds = |row: usize| {
        let phases = series.measurements().filter(|column| column.unit == "s");
        phases.filter_map(|phase| phase.values.get(row)).sum::<f64>()
    };
    let time = move |row| Duration::try_from_secs_f64(seconds(row)).unwrap_or_default();
    series.values(FIRST).iter().enumerate().map(move |(row, number)| (*number as u64, time(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::record::Program;

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
        assert_eq!((found.gas, found.mgas_per_s, found.slowest), (11, 2.5, 7));
        let at_most = found.at_most();
        assert_eq!(at_most.len(), BLOCK_BOUNDS.len() + 1);
        let some: Vec<_> = at_most.into_iter().filter(|(_, blocks)| *blocks > 0).collect();
        assert_eq!(some, [(0.003, 1), (1.0, 1)]);
        assert!((found.busy_s - 0.5525).abs() < 1e-9 && (found.slowest_s - 0.0025).abs() < 1e-9);
    }
}
