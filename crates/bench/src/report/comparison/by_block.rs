//! Block by block: the percentiles of the block times, and how many times as long each other
//! variant takes for a block; and the slowest blocks.

use super::name;
use crate::by_block::{Interval, PERCENTILES};
use crate::comparison::{AGAIN, BASELINE};
use crate::findings::Comparison;
use blockmill_pipeline::record::{BLOCK, BLOCKS, END_S, FIRST, Series};
use blockmill_report::format::{self, NONE, percent, times};
use blockmill_report::table::{Cell, Mark, Table};

/// How many of the slowest blocks have a row.
const SLOWEST: usize = 8;

/// Headings and tables about blocks; none if the runs have no times of blocks.
pub(crate) fn block_tables(comparison: &Comparison) -> Vec<(&'static str, Table)> {
    let compared = percentile_table(comparison)
        .map(|table| ("Times of a block, and how many times as long", table));
    let slowest = slowest(comparison).map(|table| ("The slowest blocks", table));
    compared.into_iter().chain(slowest.filter(|_| !comparison.by_block.is_empty())).collect()
}

/// The percentiles of all variants, and the ratios to the baseline; none if the runs have no times
/// of blocks.
pub(crate) fn percentile_table(comparison: &Comparison) -> Option<Table> {
    let first = comparison.by_block.first()?;
    let mut table = Table::new(&["program"]);
    table.heads.extend(PERCENTILES.map(|percent| format!("p{percent}")));
    table.heads.extend(PERCENTILES.map(|percent| format!("ratio of blocks, p{percent}")));
    table.heads.push("blocks that take longer".to_owned());
    let time = |seconds: f64| Cell::from(format::duration(seconds)).sorted(seconds);
    let mut ours = vec![Cell::from(name(comparison, BASELINE)).marked(Mark::Strong)];
    ours.extend(first.ours.iter().map(|seconds| time(*seconds)));
    ours.resize_with(table.heads.len(), || NONE.into());
    table.rows.push(ours);
    for one in &comparison.by_block {
        let mut row = vec![Cell::from(name(comparison, one.variant))];
        let percentiles = one.theirs.iter().zip(&one.of_percentiles);
        row.extend(percentiles.map(|(seconds, ratio)| {
            let small = Some(format!("{} ({})", times(ratio.value), bounds(ratio)));
            Cell { small, ..time(*seconds) }
        }));
        row.extend(one.ratios.iter().map(|ratio| {
            let cell = Cell::from(times(ratio.value)).sorted(ratio.value);
            Cell { small: Some(bounds(ratio)), ..cell }
        }));
        let Interval { value, low, high } = one.faster;
        let small = Some(format!("{}..{}", percent(low), percent(high)));
        row.push(Cell { small, ..Cell::from(percent(value)).sorted(value) });
        table.rows.push(row);
    }
    let blocks = format::counted(first.blocks as u64, "block");
    let pairs = format::counted(first.pairs as u64, "pair");
    table.notes.push(format!(
        "{blocks} in {pairs} of runs. The time of a block is the work of all threads on it. \
         Intervals of 95 % by a bootstrap over blocks and runs."
    ));
    Some(table)
}

fn bounds(interval: &Interval) -> String {
    format!("{}..{}", times(interval.low), times(interval.high))
}

/// The slowest blocks of the baseline's typical run, with the times of the peers.
fn slowest(comparison: &Comparison) -> Option<Table> {
    let series = |at: usize| comparison.typical(at)?.series(BLOCK);
    let ours = series(BASELINE)?;
    let same = |other: &&Series| other.values(FIRST) == ours.values(FIRST);
    let others: Vec<(usize, &Series)> = (AGAIN + 1..comparison.variants.len())
        .filter_map(|at| Some((at, series(at).filter(same)?)))
        .collect();
    let mut order: Vec<usize> = (0..ours.len()).collect();
    order.sort_by(|a, b| total(ours, *b).total_cmp(&total(ours, *a)));
    let mut table = Table::new(&["block", "gas", "ours", "most of it in"]);
    table.left.push(3);
    table.heads.extend(others.iter().map(|(at, _)| name(comparison, *at)));
    for at in order.into_iter().take(SLOWEST) {
        let value = |name: &str| ours.values(name).get(at).copied().unwrap_or_default();
        let (number, gas) = (value(FIRST), value("gas"));
        let seconds = total(ours, at);
        let longest = phases(ours, at).max_by(|a, b| a.1.total_cmp(&b.1));
        let mut row = vec![
            Cell::from(format::count(number as u64)).sorted(number),
            Cell::from(format::count(gas as u64)).sorted(gas),
            Cell::from(format::duration(seconds)).sorted(seconds),
            longest.map_or(NONE.into(), |(phase, _)| Cell::from(phase)),
        ];
        row.extend(others.iter().map(|(_, other)| {
            let theirs = total(other, at);
            let small = Some(format!("{} times as long", times(theirs / seconds)));
            Cell { small, ..Cell::from(format::duration(theirs)).sorted(theirs) }
        }));
        table.rows.push(row);
    }
    Some(table)
}

/// The phases of a block, with their seconds.
fn phases(series: &Series, at: usize) -> impl Iterator<Item = (&str, f64)> {
    let is_time = |name: &str, unit: &str| unit == "s" && ![FIRST, BLOCKS, END_S].contains(&name);
    let columns = series.columns.iter().filter(move |one| is_time(&one.name, &one.unit));
    columns.map(move |one| (one.name.as_str(), one.values.get(at).copied().unwrap_or_default()))
}

fn total(series: &Series, at: usize) -> f64 {
    phases(series, at).map(|(_, seconds)| seconds).sum()
}
