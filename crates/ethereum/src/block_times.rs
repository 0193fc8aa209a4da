//! What each executed block took, for run records.

use chain::grouped;
use pipeline::record::{BLOCKS, FIRST, Facts, Percentiles, Series};
use std::time::Duration;

/// Most rows of a record. Of a longer chain every second block is kept, of a yet longer one every
/// fourth, and so on; percentiles are those of the blocks that are kept.
const MOST_ROWS: usize = 1 << 14;
/// The slowest blocks, which are all kept.
const SLOWEST: usize = 16;

/// The columns of times, in the order of [`BlockTime::busy`].
const PHASES: [&str; 3] = ["execute", "root", "receipts"];

/// One block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockTime {
    /// Its number.
    pub number: u64,
    /// Its transactions.
    pub transactions: u64,
    /// The gas that they used.
    pub gas: u64,
    /// Executing it; putting its changes into the tries and hashing them; its receipts.
    pub busy: [Duration; 3],
}

impl BlockTime {
    fn all(&self) -> Duration {
        self.busy.iter().sum()
    }

    /// Which phase took most of it.
    fn reason(&self) -> (&'static str, Duration) {
        let phases = PHASES.into_iter().zip(self.busy);
        phases.max_by_key(|(_, busy)| *busy).unwrap_or_default()
    }
}

/// All blocks of a run.
#[derive(Debug, Default)]
pub struct BlockTimes {
    /// Those whose number in the run is a multiple of the stride.
    rows: Vec<BlockTime>,
    /// Log2 of the stride.
    doublings: u32,
    /// Slowest first.
    slowest: Vec<BlockTime>,
    blocks: u64,
    /// Gas of all blocks.
    pub gas: u64,
}

impl BlockTimes {
    pub(crate) fn add(&mut self, block: BlockTime) {
        self.gas += block.gas;
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

    /// Gas, and what a block took in all; nothing where nothing was executed.
    pub(crate) fn facts(&self, wall_s: f64, facts: &mut Facts) {
        if self.blocks == 0 {
            return;
        }
        facts.count("gas", self.gas);
        facts.set("gas_per_s", self.gas as f64 / wall_s);
        let mut all: Vec<f64> = self.rows.iter().map(|block| block.all().as_secs_f64()).collect();
        let found = Percentiles::of(&mut all);
        facts.set("block_p50_s", found.p50);
        facts.set("block_p95_s", found.p95);
        facts.set("block_p99_s", found.p99);
        facts.set("block_max_s", self.slowest.first().map_or(0.0, |b| b.all().as_secs_f64()));
    }

    /// The rows `block` and `slowest block`; none where nothing was executed.
    pub(crate) fn series(&self) -> Vec<Series> {
        let all = [("block", &self.rows), ("slowest block", &self.slowest)];
        let some = all.into_iter().filter(|(_, rows)| !rows.is_empty());
        some.map(|(row, rows)| series(row, rows)).collect()
    }

    /// Gas a second and the slowest block, for whoever reads the record; none where nothing was
    /// executed.
    pub(crate) fn notes(&self, wall_s: f64) -> Vec<String> {
        let Some(slowest) = self.slowest.first() else { return vec![] };
        let speed = self.gas as f64 / wall_s.max(1e-9) / 1e6;
        let (phase, busy) = slowest.reason();
        let (number, count, gas) =
            (grouped(slowest.number), grouped(slowest.transactions), grouped(slowest.gas));
        let [all, busy] = [slowest.all(), busy].map(|time| time.as_secs_f64() * 1e3);
        vec![
            format!("{} gas executed, {speed:.1} million a second of the run", grouped(self.gas)),
            format!(
                "the slowest block is {number}: {all:.2} ms, {busy:.2} ms of it in {phase}, with \
                 {count} transactions and {gas} gas"
            ),
        ]
    }
}

fn series(row: &str, rows: &[BlockTime]) -> Series {
    let of = |figure: fn(&BlockTime) -> f64| rows.iter().map(figure).collect::<Vec<f64>>();
    let mut series = Series::new(row)
        .index(FIRST, "block", of(|block| block.number as f64))
        .index(BLOCKS, "", of(|_| 1.0))
        .index("transactions", "", of(|block| block.transactions as f64))
        .index("gas", "gas", of(|block| block.gas as f64));
    for (at, phase) in PHASES.into_iter().enumerate() {
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
        let busy = [execute, Duration::from_nanos(5), Duration::ZERO];
        BlockTime { number, transactions: 2, gas: 10, busy }
    }

    #[test]
    fn long_chains_are_thinned_evenly_and_keep_their_slowest_blocks() {
        let mut times = BlockTimes::default();
        let count = 5 * MOST_ROWS as u64;
        (0..count).for_each(|number| times.add(block(number)));
        assert_eq!(times.gas, 10 * count);
        let series = times.series();
        assert_eq!((&*series[0].row, &*series[1].row), ("block", "slowest block"));
        let numbers = series[0].values(FIRST);
        assert!((MOST_ROWS / 2..=MOST_ROWS).contains(&numbers.len()), "{}", numbers.len());
        assert!(numbers.iter().enumerate().all(|(at, number)| *number == 8.0 * at as f64));
        let mut all: Vec<Duration> = (0..count).map(|number| block(number).all()).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |at: usize| PHASES.iter().map(|phase| series[1].values(phase)[at]).sum::<f64>();
        for (at, expected) in all[..SLOWEST].iter().enumerate() {
            assert!((sum(at) - expected.as_secs_f64()).abs() < 1e-12, "{at}");
        }
        let mut facts = Facts::default();
        times.facts(2.0, &mut facts);
        assert_eq!(facts.get("gas_per_s"), Some(5.0 * count as f64));
        assert_eq!(facts.get("block_max_s"), Some(all[0].as_secs_f64()));
        assert!(facts.of("block_p50_s") < facts.of("block_p99_s"));
        assert_eq!(series[0].column("gas").unwrap().percentiles, None);
        assert!(series[0].column("execute").unwrap().percentiles.is_some());
    }

    #[test]
    fn the_slowest_block_is_told_with_its_reason() {
        let mut times = BlockTimes::default();
        assert!(times.series().is_empty() && times.notes(1.0).is_empty());
        let ms = Duration::from_millis;
        for (number, busy) in [(1, [ms(1), ms(2), ms(0)]), (2, [ms(1), ms(7), ms(1)])] {
            times.add(BlockTime { number, transactions: 3, gas: 2_000_000, busy });
        }
        let notes = times.notes(0.5);
        assert_eq!(notes[0], "4,000,000 gas executed, 8.0 million a second of the run");
        let words = "block is 2: 9.00 ms, 7.00 ms of it in root, with 3 transactions";
        assert!(notes[1].contains(words), "{}", notes[1]);
    }
}
