//! Two variants compared block by block: how the ratios of single blocks are distributed, and the
//! percentiles of the block times of both.
//!
//! Blocks differ from each other far more than runs do, so a sum of all says little of most. The
//! intervals are those of a bootstrap over both causes of chance, which blocks there are and which
//! runs were made of them: blocks and pairs of runs are drawn with replacement (Efron 1979;
//! clusters: Davison and Hinkley 1997, 3.8).

use crate::comparison::{AGAIN, BASELINE, Run};
use blockmill_pipeline::record::{BLOCK, BLOCKS, END_S, FIRST, RunRecord};
use serde::{Deserialize, Serialize};

/// Percentiles of block times and of ratios.
pub const PERCENTILES: [u32; 4] = [50, 90, 95, 99];
/// Draws of the bootstrap; fewer where there are very many blocks.
const DRAWS: usize = 1_000;
/// Values that all draws together may read.
const MOST_VALUES: usize = 40_000_000;
/// Fewer blocks have no distribution.
const LEAST_BLOCKS: usize = 5;
/// Seed of the draws: the same runs give the same interval.
const SEED: u64 = 1;

/// A value, and its interval of 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its estimate.
    pub value: f64,
    /// The interval begins here.
    pub low: f64,
    /// It ends here.
    pub high: f64,
}

/// A variant compared with the baseline, block by block. All ratios say how many times as long as
/// the baseline the variant takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByBlock {
    /// The place of the variant in the list.
    pub variant: usize,
    /// Blocks of a run.
    pub blocks: usize,
    /// Pairs of runs.
    pub pairs: usize,
    /// Percentiles of the ratios of single blocks, of each of [`PERCENTILES`].
    pub ratios: Vec<Interval>,
    /// Percentiles of the baseline's block times, in seconds.
    pub ours: Vec<f64>,
    /// Those of the variant.
    pub theirs: Vec<f64>,
    /// The ratios of these percentiles.
    pub of_percentiles: Vec<Interval>,
    /// The share of blocks for which the variant takes longer.
    pub faster: Interval,
}

/// Compares every variant with the baseline. Nothing of runs without times of blocks.
pub fn compare(runs: &[Run], variants: usize) -> Vec<ByBlock> {
    (AGAIN + 1..variants).filter_map(|variant| ByBlock::of(runs, variant)).collect()
}

/// Logarithms of the block times of a pair of runs: of the baseline, and of the variant.
type Pair = (Vec<f64>, Vec<f64>);

impl ByBlock {
    fn of(runs: &[Run], variant: usize) -> Option<Self> {
        let pairs = pairs(runs, variant);
        let blocks = pairs.first()?.0.len();
        if blocks < LEAST_BLOCKS {
            return None;
        }
        let (all_pairs, all_blocks): (Vec<_>, Vec<_>) =
            ((0..pairs.len()).collect(), (0..blocks).collect());
        let whole = Figures::of(&pairs, &all_pairs, &all_blocks);
        let draws = DRAWS.min(MOST_VALUES / (blocks * pairs.len())).max(DRAWS / 10);
        let mut chance = fastrand::Rng::with_seed(SEED);
        let mut draw =
            |count: usize| -> Vec<usize> { (0..count).map(|_| chance.usize(..count)).collect() };
        let drawn: Vec<Figures> =
            (0..draws).map(|_| Figures::of(&pairs, &draw(pairs.len()), &draw(blocks))).collect();
        let interval = |of: &dyn Fn(&Figures) -> f64| {
            let mut values: Vec<f64> = drawn.iter().map(of).collect();
            values.sort_unstable_by(f64::total_cmp);
            let at = |share: f64| values[((draws - 1) as f64 * share).round() as usize];
            Interval { value: of(&whole), low: at(0.025), high: at(0.975) }
        };
        let each = |of: &dyn Fn(&Figures, usize) -> f64| -> Vec<Interval> {
            (0..PERCENTILES.len()).map(|at| interval(&|figures| of(figures, at))).collect()
        };
        Some(Self {
            variant,
            blocks,
            pairs: pairs.len(),
            ratios: each(&|figures, at| figures.ratios[at]),
            of_percentiles: each(&|figures, at| figures.theirs[at] / figures.ours[at]),
            ours: whole.ours.to_vec(),
            theirs: whole.theirs.to_vec(),
            faster: interval(&|figures| figures.faster),
        })
    }
}

/// The figures of some blocks in some pairs of runs.
struct Figures {
    ratios: [f64; PERCENTILES.len()],
    ours: [f64; PERCENTILES.len()],
    theirs: [f64; PERCENTILES.len()],
    faster: f64,
}

impl Figures {
    fn of(pairs: &[Pair], chosen: &[usize], blocks: &[usize]) -> Self {
        let mean = |block: usize, of: &dyn Fn(&Pair) -> &[f64]| {
            let sum: f64 = chosen.iter().map(|pair| of(&pairs[*pair])[block]).sum();
            sum / chosen.len() as f64
        };
        let of_all = |of: &dyn Fn(&Pair) -> &[f64]| -> Vec<f64> {
            blocks.iter().map(|block| mean(*block, of)).collect()
        };
        let (ours, theirs) = (of_all(&|pair| &pair.0), of_all(&|pair| &pair.1));
        let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, other)| other - ours).collect();
        let faster = ratios.iter().filter(|log| **log > 0.0).count() as f64 / blocks.len() as f64;
        let (ratios, ours, theirs) = (percentiles(ratios), percentiles(ours), percentiles(theirs));
        Self { ratios, ours, theirs, faster }
    }
}

/// The percentiles of numbers that are given by their logarithms (nearest rank).
fn percentiles(mut logs: Vec<f64>) -> [f64; PERCENTILES.len()] {
    logs.sort_unstable_by(f64::total_cmp);
    PERCENTILES.map(|percent| {
        let rank = (logs.len() * percent as usize).div_ceil(100);
        logs.get(rank.saturating_sub(1)).map_or(f64::NAN, |log| log.exp())
    })
}

/// The pairs of runs in which both have the times of the same blocks: undisturbed ones if there are
/// any, or else all.
fn pairs(runs: &[Run], variant: usize) -> Vec<Pair> {
    let (mut calm, mut all) = (vec![], vec![]);
    let last = runs.iter().map(|run| run.block).max().unwrap_or(0);
    for block in 1..=last {
        let of =
            |variant| runs.iter().filter(move |run| (run.block, run.variant) == (block, variant));
        for (ours, other) in of(BASELINE).zip(of(variant)) {
            let (Some(a), Some(b)) = (times(&ours.record), times(&other.record)) else { continue };
            if a.0 != b.0 {
                continue;
            }
            let pair = (a.1, b.1);
            if !ours.disturbed && !other.disturbed {
                calm.push(pair.clone());
            }
            all.push(pair);
        }
    }
    if calm.is_empty() { all } else { calm }
}

/// The numbers of the blocks of a run, and the logarithms of their times; without the genesis
/// block, which nobody executes. `None` without such times.
fn times(record: &RunRecord) -> Option<(Vec<u64>, Vec<f64>)> {
    let series = record.series(BLOCK)?;
    let is_time = |name: &str, unit: &str| unit == "s" && ![FIRST, BLOCKS, END_S].contains(&name);
    let columns = || series.columns.iter().filter(|one| is_time(&one.name, &one.unit));
    let numbers = series.values(FIRST).iter().map(|number| *number as u64).enumerate();
    let executed: Vec<(usize, u64)> = numbers.filter(|(_, number)| *number > 0).collect();
    // a record of a peer may lack values
    let value = |values: &[f64], at: usize| values.get(at).copied().unwrap_or(f64::NAN);
    let log = |at: usize| columns().map(|column| value(&column.values, at)).sum::<f64>().ln();
    let logs: Vec<f64> = executed.iter().map(|(at, _)| log(*at)).collect();
    let numbers = executed.into_iter().map(|(_, number)| number).collect();
    logs.iter().all(|log| log.is_finite()).then_some((numbers, logs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::record::{Program, Series};

    /// Runs of a baseline and a variant that takes `ratio(block)` times as long.
    fn runs(blocks: usize, pairs: u32, ratio: impl Fn(usize) -> f64) -> Vec<Run> {
        let mut chance = fastrand::Rng::with_seed(7);
        let mut all = vec![];
        for pair in 1..=pairs {
            for variant in [BASELINE, AGAIN, AGAIN + 1] {
                let wobble = 1.0 + chance.f64() * 0.02;
                let time = |at: usize| {
                    let own = if variant > AGAIN { ratio(at) } else { 1.0 };
                    (at + 1) as f64 * 1e-3 * own * wobble
                };
                let mut record = RunRecord::new(Program::default(), "");
                let rows = || (0..blocks).map(|at| (at + 1) as f64);
                record.series.push(
                    Series::new(BLOCK)
                        .index(FIRST, "block", rows().collect())
                        .index(BLOCKS, "", vec![1.0; blocks])
                        .measured("decode", "s", (0..blocks).map(|at| time(at) / 4.0).collect())
                        .measured("execute", "s", (0..blocks).map(|at| time(at) * 0.75).collect()),
                );
                all.push(Run { variant, block: pair, disturbed: false, record });
            }
        }
        all
    }

    /// Whether the interval has the value, but for the 1 % by which runs differ.
    fn holds(interval: Interval, value: f64) -> bool {
        let Interval { value: found, low, high } = interval;
        low * 0.99 <= value && value <= high * 1.01 && low <= found && found <= high
    }

    #[test]
    fn ratios_of_blocks_and_of_percentiles_are_found_with_their_intervals() {
        let all = compare(&runs(100, 6, |_| 3.0), 3);
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.variant, found.blocks, found.pairs), (2, 100, 6));
        assert!(found.ratios.iter().all(|ratio| holds(*ratio, 3.0)), "{found:?}");
        assert!(found.of_percentiles.iter().all(|ratio| holds(*ratio, 3.0)), "{found:?}");
        assert_eq!((found.faster.value, found.faster.low), (1.0, 1.0));
        // blocks of 1 to 100 ms
        for (at, percent) in PERCENTILES.into_iter().enumerate() {
            assert!((found.ours[at] * 1e3 / f64::from(percent) - 1.0).abs() < 0.03, "{found:?}");
        }
    }

    #[test]
    fn a_sum_can_hide_what_most_blocks_say() {
        // most blocks take half as long, and the largest ten times as long
        let found = compare(&runs(50, 6, |at| if at < 45 { 0.5 } else { 10.0 }), 3).remove(0);
        assert!(holds(found.ratios[0], 0.5) && found.ratios[0].high < 1.0, "{found:?}");
        assert!(holds(found.faster, 0.1) && found.faster.high < 0.3, "{found:?}");
        assert!(found.of_percentiles[3].value > 5.0);
        // the interval knows that there might have been other blocks
        assert!(found.ratios[2].high - found.ratios[2].low > 1.0, "{found:?}");
    }

    #[test]
    fn nothing_is_said_of_other_blocks_few_blocks_and_none() {
        let mut other = runs(20, 2, |_| 2.0);
        for run in other.iter_mut().filter(|run| run.variant == 2) {
            run.record.series[0].columns[0].values[3] = 77.0;
        }
        assert!(compare(&other, 3).is_empty());
        assert!(compare(&runs(4, 2, |_| 2.0), 3).is_empty());
        let mut none = runs(20, 2, |_| 2.0);
        none.iter_mut().for_each(|run| run.record.series.clear());
        assert!(compare(&none, 3).is_empty());
    }
}
