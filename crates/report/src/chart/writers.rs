//! Charts of RLP writers over the number of objects.

use pipeline::writer_record::{WriterLine, WriterRecord};

use super::axis::Axis;
use super::lines::{LineChart, Panel};
use super::series::Series;
use super::{Chart, Kind, shortened, time_axis};
use crate::format;
use crate::writers::{Figures, kind_and_count};

/// What one panel shows.
struct Shown<'a> {
    op: &'a str,
    /// Cases of this kind: `block`, `transactions` or `headers`.
    kind: &'a str,
    caption: &'a str,
    figure: fn(&WriterLine) -> f64,
    /// What stands at the end of a line, made of its last value.
    name: fn(f64) -> String,
}

/// Median time of one operation for each of its objects.
fn ns_per_object(line: &WriterLine) -> f64 {
    line.median_ns() / kind_and_count(&line.case).1.max(1) as f64
}

impl Chart {
    /// Time to encode a block, for each of its transactions, over their number: one line for each
    /// writer. None without such measurements, as all charts here.
    pub fn writers_encode(record: &WriterRecord) -> Option<Self> {
        let shown = |op, caption| time_of("block", op, caption);
        over_objects(
            record,
            "Encoding a block",
            "lower is faster",
            "transactions in the block",
            &[
                shown("encode", "nanoseconds for each transaction, into a fresh buffer"),
                shown("encode-reused", "nanoseconds for each transaction, into memory kept"),
            ],
        )
    }

    /// The same for the hash of a block.
    pub fn writers_hash(record: &WriterRecord) -> Option<Self> {
        let shown = |op, caption| time_of("block", op, caption);
        over_objects(
            record,
            "Hashing a block",
            "Keccak-256 of its encoding; lower is faster",
            "transactions in the block",
            &[
                shown("hash", "nanoseconds for each transaction, keeping nothing"),
                shown("hash-reused", "nanoseconds for each transaction, with memory kept"),
            ],
        )
    }

    /// Time for the hash of each transaction and of each header of a list.
    pub fn writers_hash_each(record: &WriterRecord) -> Option<Self> {
        over_objects(
            record,
            "Hashing each object of a list",
            "encoded and hashed one by one, or several at once; lower is faster",
            "objects in the list",
            &[
                time_of("transactions", "hash-each", "nanoseconds for each transaction"),
                time_of("headers", "hash-each", "nanoseconds for each header"),
            ],
        )
    }

    /// Heap allocations of encoding and of hashing a block.
    pub fn writers_allocations(record: &WriterRecord) -> Option<Self> {
        let shown = |op, caption| Shown {
            op,
            kind: "block",
            caption,
            figure: |line| line.allocations,
            name: format::average,
        };
        over_objects(
            record,
            "Heap allocations",
            "counted, for one block; lower is better",
            "transactions in the block",
            &[
                shown("encode", "allocations to encode into a fresh buffer"),
                shown("hash", "allocations to hash, keeping nothing"),
            ],
        )
    }
}

fn time_of<'a>(kind: &'a str, op: &'a str, caption: &'a str) -> Shown<'a> {
    Shown { op, kind, caption, figure: ns_per_object, name: format::nanoseconds }
}

/// A chart of `panels` over the number of objects; panels without a line are left out.
fn over_objects(
    record: &WriterRecord,
    title: &str,
    hint: &str,
    x_name: &str,
    panels: &[Shown<'_>],
) -> Option<Chart> {
    let panels: Vec<Panel> = panels.iter().filter_map(|shown| panel(record, shown)).collect();
    let points = panels.iter().flat_map(|panel| &panel.series).flat_map(|s| &s.points);
    let mut counts: Vec<u64> = points.map(|(count, _)| *count as u64).collect();
    counts.sort_unstable();
    counts.dedup();
    let cpu = record.machine.cpu.split_whitespace().collect::<Vec<_>>().join(" ");
    let subtitle = [hint, cpu.as_str()].join(" · ");
    Some(Chart(Kind::Lines(LineChart {
        title: title.to_owned(),
        subtitle: format::printable(subtitle.trim_end_matches(" · ")),
        x: Axis::of_counts(&counts)?,
        x_name: format!("{x_name}, logarithmic scale"),
        panels,
    })))
}

fn panel(record: &WriterRecord, shown: &Shown<'_>) -> Option<Panel> {
    let figures = Figures(record);
    let cases = figures.cases(shown.op);
    // the first writer, ours, is drawn last: it stays visible where lines lie on each other
    let series = figures.engines(shown.op).into_iter().rev().map(|(place, engine)| {
        let point = |case: &&str| {
            let (kind, count) = kind_and_count(case);
            let spread = figures.spread((shown.op, case, &engine.name), shown.figure)?;
            (kind == shown.kind).then_some((count as f64, spread.median))
        };
        let mut points: Vec<(f64, f64)> = cases.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { label: format::printable(&engine.label), place, points }
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let names = series.iter().map(|series| {
        let value = series.points.last().map_or_else(String::new, |point| (shown.name)(point.1));
        format!("{}  {value}", shortened(&series.label))
    });
    let y = match time_axis(&series) {
        Some(axis) => axis,
        None if series.is_empty() => return None,
        // nothing is above zero, which is worth to be shown
        None => Axis::from_zero(1.0, 1),
    };
    let scale = if y.log { ", logarithmic scale" } else { "" };
    Some(Panel {
        caption: format!("{}{scale}", shown.caption),
        y,
        names: names.collect(),
        scattered: true,
        height: 260.0,
        series,
    })
}
