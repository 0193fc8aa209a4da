//! What a person reads of blocks that were executed one by one: how much work they were, how long
//! one takes, and why the slowest were slow.

use crate::format;
use crate::table::{Cell, Table};
use blockmill_pipeline::record::{BLOCK, Column, FIRST, MGAS_PER_S, Percentiles, RunRecord};
use blockmill_pipeline::record::{SLOWEST_BLOCK, Series};

/// From this many times the mean on, the work of a block explains its time.
const MORE: f64 = 1.5;

/// The blocks of `record`; `None` if no gas of blocks was measured.
pub(crate) fn blocks(record: &RunRecord) -> Option<&Series> {
    record.series(BLOCK).filter(|series| !series.values("gas").is_empty())
}

/// Names and values of the work and time of executed blocks; empty if there were none.
pub fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    if blocks(record).is_none() {
        return vec![];
    }
    let count = |name| record.facts.count_of(name);
    // a run that executes blocks alone counts less than an import
    let is_counted = |name: &str| record.facts.get(name).is_some();
    let of = is_counted("transactions");
    let of = of.then(|| format::counted(count("transactions"), "transaction"));
    let work = match (count("gas"), of) {
        (0, of) => of.unwrap_or_default(),
        (gas, of) => {
            let of = of.map_or(String::new(), |of| format!(" of {of}"));
            let speed = format::rate(record.facts.value(MGAS_PER_S));
            format!("{} gas{of}, {speed} Mgas/s", format::count(gas))
        }
    };
    let mut facts = vec![("executed", work), ("block times", block_times(record))];
    if is_counted("account_reads") {
        let mut reads = format::counted(count("account_reads"), "account");
        let (slots, hits) = (count("slot_reads"), count("slot_hits"));
        if slots + hits > 0 {
            let hits = blockmill_pipeline::record::rate(hits, (slots + hits) as f64);
            let (hits, slots) = (format::percent(hits), format::counted(slots, "slot"));
            reads += &format!(" and {slots}; the machine had {hits} of the slots it asked for");
        }
        facts.push(("state reads", reads));
    }
    facts.extend(slowest(record).map(|text| ("slowest", text)));
    facts
}

/// Percentiles of what a block took in all.
fn block_times(record: &RunRecord) -> String {
    let all = ["p50", "p95", "p99", "max"].map(|name| {
        let time = record.facts.value(&format!("block_{name}_s"));
        format!("{name} {}", format::duration(time))
    });
    all.join(", ")
}

fn slowest(record: &RunRecord) -> Option<String> {
    let series = record.series(SLOWEST_BLOCK).filter(|series| !series.is_empty())?;
    let all: f64 = phases(series).map(|phase| at(&phase.values, 0)).sum();
    let number = format::number(at(series.values(FIRST), 0), 0);
    let why = reason(record, series, 0)?;
    Some(format!("{number}, {}, most of it in {why}", format::duration(all)))
}

/// Why a block took long, in few words: the phase that took most of it, and how many times as much
/// of that phase's work it had as the mean block. `None` if blocks were not executed.
pub(crate) fn reason(record: &RunRecord, series: &Series, row: usize) -> Option<String> {
    let blocks = blocks(record)?;
    let phase = phases(series).max_by(|a, b| at(&a.values, row).total_cmp(&at(&b.values, row)))?;
    let work: &[&'static str] = match phase.name.as_str() {
        "execute" => &["gas", "account_reads", "slot_reads", "transactions"],
        "receipts" => &["transactions"],
        _ => &["changed"],
    };
    let times = |name: &'static str| {
        let mean = mean(blocks.values(name));
        (name, if mean > 0.0 { at(series.values(name), row) / mean } else { 0.0 })
    };
    let most = work.iter().copied().map(times).max_by(|a, b| a.1.total_cmp(&b.1));
    let name = &phase.name;
    Some(match most.filter(|(_, times)| *times >= MORE) {
        Some((what, times)) => {
            let what = match what {
                "account_reads" => "accounts read",
                "slot_reads" => "slots read",
                "changed" => "changes",
                other => other,
            };
            format!("{name}: {} {what}", format::ratio(times))
        }
        None => format!("{name}: usual work"),
    })
}

/// What a block takes in each phase, and in all of them: a row for each.
pub fn table(record: &RunRecord) -> Option<Table> {
    let blocks = blocks(record)?;
    let mut table = Table::new(&["phase", "p50", "p95", "p99", "max", "of the time"]);
    let sums: Vec<f64> = phases(blocks).map(Column::sum).collect();
    let whole: f64 = sums.iter().sum();
    let row = |name: &str, found: Percentiles, sum: f64| {
        let Percentiles { p50, p95, p99, max } = found;
        let times = [p50, p95, p99, max].map(Cell::of_seconds);
        [Cell::from(name)].into_iter().chain(times).chain([Cell::of_share(sum / whole)])
    };
    let fact = |name: &str| record.facts.value(name);
    let all = Percentiles {
        p50: fact("block_p50_s"),
        p95: fact("block_p95_s"),
        p99: fact("block_p99_s"),
        max: fact("block_max_s"),
    };
    for (phase, sum) in phases(blocks).zip(&sums) {
        let found = phase.percentiles.unwrap_or_default();
        table.rows.push(row(&phase.name, found, *sum).collect());
    }
    table.rows.push(row("all", all, whole).collect());
    Some(table)
}

/// The times of the phases.
pub(crate) fn phases(series: &Series) -> impl Iterator<Item = &Column> {
    series.measurements().filter(|column| column.unit == "s")
}

/// A value of a row; 0 where there is none.
pub(crate) fn at(values: &[f64], row: usize) -> f64 {
    values.get(row).copied().unwrap_or(0.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn says_what_was_executed_and_why_the_slowest_was_slow() {
        let record = sample::executed("import");
        let values: Vec<_> =
            facts(&record).into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected = [
            "executed: 630,000,000 gas of 2,100 transactions, 315 Mgas/s",
            "block times: p50 2.00 ms, p95 6.00 ms, p99 12 ms, max 12 ms",
            "state reads: 6,300 accounts and 4,200 slots; the machine had 75 % of the slots it \
             asked for",
            "slowest: 7, 12 ms, most of it in execute: 11.0x slots read",
        ];
        assert_eq!(values, expected);
        assert!(facts(&sample::full("x", 1.0)).is_empty());
        assert!(table(&sample::full("x", 1.0)).is_none());
    }

    #[test]
    fn blocks_without_transactions_have_no_speed_and_no_slots() {
        let mut record = sample::executed("import");
        for name in ["gas", "transactions", "slot_reads", "slot_hits"] {
            record.facts.count(name, 0);
        }
        let values: Vec<_> = facts(&record).into_iter().map(|(_, value)| value).collect();
        assert_eq!([&values[0], &values[2]], ["0 transactions", "6,300 accounts"]);
    }

    #[test]
    fn a_block_without_more_work_is_distinguished() {
        let record = sample::executed("import");
        let series = record.series(SLOWEST_BLOCK).unwrap();
        let text = |row| reason(&record, series, row).unwrap();
        assert_eq!(text(1), "root: usual work");
        assert_eq!(text(2), "execute: usual work");
    }

    #[test]
    fn percentiles_have_a_row_for_each_phase_and_one_for_all() {
        let text = table(&sample::executed("import")).unwrap().markdown();
        let rows: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(rows.len(), 3, "{text}");
        assert!(rows[0].starts_with("| execute | 1.00 ms | 2.00 ms | 10 ms | 10 ms | "), "{text}");
        assert!(rows[2].starts_with("| all | 2.00 ms | 6.00 ms | 12 ms | 12 ms | 100 % |"));
    }
}
