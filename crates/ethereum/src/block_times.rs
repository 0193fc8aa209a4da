//! Counts and times of each executed block, for run records and live views.

use crate::execute::Reads;
use crate::execute::evm::Tally;
use blockmill_pipeline::record::{
    BLOCK, BLOCKS, FIRST, Facts, MGAS_PER_S, Percentiles, SLOWEST_BLOCK, Series,
};
use blockmill_verdict::{BLOCK_PHASES, Execution};
use std::time::Duration;

/// Most rows of a record. A longer chain is thinned out to every second block, a yet longer one to
/// every fourth, and so on; percentiles are of the rows.
const MOST_ROWS: usize = 1 << 14;
/// How many of the slowest blocks have rows of their own.
const SLOWEST: usize = 16;

/// One block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BlockTime {
    /// Its number.
    pub number: u64,
    /// Its transactions.
    pub transactions: u64,
    /// The gas that they used.
    pub gas: u64,
    /// Reads of the state.
    pub reads: Reads,
    /// Accounts and slots that it changed.
    pub changed: u64,
    /// Its committed and aborted speculations.
    pub speculation: Tally,
    /// Busy time in each of [`BLOCK_PHASES`].
    pub busy: [Duration; BLOCK_PHASES.len()],
}

impl BlockTime {
    fn all(&self) -> Duration {
        self.busy.iter().sum()
    }
}

/// All blocks of a run.
#[derive(Debug, Default)]
pub(crate) struct BlockTimes {
    /// Every block with an index in the run that is a multiple of the stride.
    rows: Vec<BlockTime>,
    /// Log2 of the stride.
    doublings: u32,
    /// Slowest first.
    slowest: Vec<BlockTime>,
    blocks: u64,
    /// The sums over all blocks.
    sum: Execution,
}

impl BlockTimes {
    pub(crate) fn add(&mut self, block: BlockTime) {
        let counts = &mut self.sum.counts;
        counts.transactions += block.transactions;
        counts.gas += block.gas;
        counts.account_reads += block.reads.accounts;
        counts.slot_reads += block.reads.slots;
        counts.slot_hits += block.reads.slot_hits();
        counts.changed += block.changed;
        counts.speculations_committed += block.speculation.committed;
        counts.speculations_aborted += block.speculation.aborted;
        self.sum.took(block.number, block.busy);
        if self.blocks.is_multiple_of(1 << self.doublings) {
            self.rows.push(block);
        }
        self.blocks += 1;
        if self.rows.len() > MOST_ROWS {
            let mut keep = false;
            self.rows.retain(|_| {
                keep = !keep;
                keep
            });
            self.doublings += 1;
        }
        let at = self.slowest.partition_point(|slow| slow.all() >= block.all());
        if at < SLOWEST {
            self.slowest.truncate(SLOWEST - 1);
            self.slowest.insert(at, block);
        }
    }

    /// The sums over all blocks; `None` if nothing was executed.
    pub(crate) fn sum(&self) -> Option<Execution> {
        (self.blocks > 0).then_some(self.sum)
    }

    /// Adds the sums, and the percentiles of the times of blocks, if blocks were executed.
    pub(crate) fn facts(&self, wall_s: f64, facts: &mut Facts) {
        let Some(sum) = self.sum() else { return };
        sum.counts.iter().for_each(|count| facts.count(count.name, count.value));
        facts.set(MGAS_PER_S, sum.counts.gas as f64 / 1e6 / wall_s);
        let mut all: Vec<f64> = self.rows.iter().map(|block| block.all().as_secs_f64()).collect();
        let found = Percentiles::from_values(&mut all);
        facts.set("block_p50_s", found.p50);
        facts.set("block_p95_s", found.p95);
        facts.set("block_p99_s", found.p99);
        facts.set("block_max_s", self.slowest.first().map_or(0.0, |b| b.all().as_secs_f64()));
    }

    /// The rows [`BLOCK`] and [`SLOWEST_BLOCK`]; empty if nothing was executed.
    pub(crate) fn series(&self) -> Vec<Series> {
        let all = [(BLOCK, &self.rows), (SLOWEST_BLOCK, &self.slowest)];
        let some = all.into_iter().filter(|(_, rows)| !rows.is_empty());
        some.map(|(row, rows)| series(row, rows)).collect()
    }
}

fn series(row: &str, rows: &[BlockTime]) -> Series {
    let of = |figure: fn(&BlockTime) -> u64| rows.iter().map(|b| figure(b) as f64).collect();
    let mut series = Series::new(row)
        .index(FIRST, "block", of(|block| block.number))
        .index(BLOCKS, "", of(|_| 1))
        .index("transactions", "", of(|block| block.transactions))
        .index("gas", "gas", of(|block| block.gas))
        .index("account_reads", "", of(|block| block.reads.accounts))
        .index("slot_reads", "", of(|block| block.reads.slots))
        .index("slot_hits", "", of(|block| block.reads.slot_hits()))
        .index("changed", "", of(|block| block.changed));
    for (at, phase) in BLOCK_PHASES.into_iter().enumerate() {
        let busy = |block: &BlockTime| block.busy[at].as_secs_f64();
        series = series.measured(phase, "s", rows.iter().map(busy).collect());
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u64) -> BlockTime {
        // in an order of its own: the slowest are not the last
        let execute = Duration::from_nanos(number.wrapping_mul(7_919) % 100_003);
        let busy = [execute, Duration::from_nanos(5), Duration::ZERO, Duration::from_nanos(1)];
        let reads = Reads { accounts: 3, slots: 4, asked: 9 };
        let speculation = Tally { committed: 1, aborted: 2, ..Tally::default() };
        BlockTime { number, transactions: 2, gas: 10, reads, changed: 6, speculation, busy }
    }

    #[test]
    fn long_chains_are_thinned_evenly_and_keep_their_slowest_blocks() {
        let mut times = BlockTimes::default();
        let count = 5 * MOST_ROWS as u64;
        (0..count).for_each(|number| times.add(block(number)));
        let sum = times.sum().unwrap();
        assert_eq!(
            (sum.counts.gas, sum.counts.transactions, sum.counts.changed),
            (10 * count, 2 * count, 6 * count)
        );
        assert_eq!(
            (sum.counts.account_reads, sum.counts.slot_reads, sum.counts.slot_hits),
            (3 * count, 4 * count, 5 * count)
        );
        assert_eq!(
            (sum.counts.speculations_committed, sum.counts.speculations_aborted),
            (count, 2 * count)
        );
        let series = times.series();
        assert_eq!((&*series[0].row, &*series[1].row), (BLOCK, SLOWEST_BLOCK));
        let numbers = series[0].values(FIRST);
        assert!((MOST_ROWS / 2..=MOST_ROWS).contains(&numbers.len()), "{}", numbers.len());
        assert!(numbers.iter().enumerate().all(|(at, number)| *number == 8.0 * at as f64));
        let mut all: Vec<Duration> = (0..count).map(|number| block(number).all()).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let sum =
            |at: usize| BLOCK_PHASES.iter().map(|phase| series[1].values(phase)[at]).sum::<f64>();
        for (at, expected) in all[..SLOWEST].iter().enumerate() {
            assert!((sum(at) - expected.as_secs_f64()).abs() < 1e-12, "{at}");
        }
        let mut facts = Facts::default();
        BlockTimes::default().facts(2.0, &mut facts);
        assert_eq!(facts, Facts::default(), "nothing was executed");
        times.facts(2.0, &mut facts);
        assert_eq!(facts.get(MGAS_PER_S), Some(5e-6 * count as f64));
        assert_eq!(facts.get("block_max_s"), Some(all[0].as_secs_f64()));
        assert!(facts.value("block_p50_s") < facts.value("block_p99_s"));
        for (name, value) in [("account_reads", 3.0), ("slot_reads", 4.0), ("slot_hits", 5.0)] {
            assert_eq!(facts.get(name), Some(value * count as f64), "{name}");
            assert!(series.iter().all(|series| series.values(name).iter().all(|v| *v == value)));
        }
        assert_eq!(series[0].column("gas").unwrap().percentiles, None);
        assert!(series[0].column("execute").unwrap().percentiles.is_some());
    }
}
