//! The ladder's table: one line for each rung, with its gain over the first and over the one
//! before. It is the table of the reference (holiman/headerimport), with spreads.

use pipeline::record::{RunRecord, VALIDATION, WRITE};

use crate::format::{self, NONE};
use crate::group::{Group, Spread, by_label, cautions, validate_and_write};
use crate::table::{Cell, Mark, Table};
use crate::terminal::Colour;

/// The ladder for a terminal: validation, write and whole time, speed-ups, rate and memory of each
/// label, in the order in which the labels appear. Of several runs: median, smallest and largest.
pub fn ladder_table(records: &[RunRecord], colour: Colour) -> String {
    table(records).terminal(colour)
}

/// The same as markdown.
pub fn ladder_markdown(records: &[RunRecord]) -> String {
    table(records).markdown()
}

pub(crate) fn table(records: &[RunRecord]) -> Table {
    let mut table = Table::new(&[
        "rung",
        "validation s",
        "write s",
        "total s",
        "whole run s",
        "against first",
        "against before",
        "blocks/s",
        "peak memory",
    ]);
    let groups = by_label(records);
    let totals: Vec<Option<f64>> =
        groups.iter().map(|g| g.spread(validate_and_write).map(|s| s.median)).collect();
    let fastest = totals.iter().flatten().copied().min_by(f64::total_cmp);
    for (at, group) in groups.iter().enumerate() {
        let before = at.checked_sub(1).filter(|before| same_program(&groups[*before], group));
        let before = before.and_then(|before| totals[before]);
        let best = groups.len() > 1 && totals[at].is_some() && totals[at] == fastest;
        table.rows.push(row(group, totals[0], before, best));
    }
    table.notes = notes(&groups);
    table
}

/// Only rungs of one program build on each other; a peer comes after them by chance.
fn same_program(before: &Group<'_>, group: &Group<'_>) -> bool {
    let program = |group: &Group<'_>| {
        let program = &group.any()?.program;
        Some((program.name.clone(), program.version.clone()))
    };
    program(before) == program(group)
}

fn row(group: &Group<'_>, first: Option<f64>, before: Option<f64>, best: bool) -> Vec<Cell> {
    let total = group.spread(validate_and_write);
    let gain = |than: Option<f64>| match (than, total) {
        (Some(than), Some(total)) if total.median > 0.0 => format::ratio(than / total.median),
        _ => NONE.to_owned(),
    };
    let mark = if best { Mark::Good } else { Mark::Strong };
    vec![
        Cell::from(group.label).marked(mark),
        times(group.spread(|r| r.busy_s(VALIDATION))),
        times(group.spread(|r| r.busy_s(WRITE))),
        times(total).marked(mark),
        times(group.spread(|r| r.totals.wall_s)),
        Cell::from(gain(first)).marked(mark),
        gain(before).into(),
        group
            .spread(|r| r.totals.blocks_per_s)
            .map_or_else(none, |s| format::rate(s.median))
            .into(),
        memory(group).into(),
    ]
}

fn none() -> String {
    NONE.to_owned()
}

/// The median, and the range when there is more than one run.
fn times(spread: Option<Spread>) -> Cell {
    let Some(spread) = spread else { return NONE.into() };
    let range = || format!("{}..{}", format::figure(spread.min), format::figure(spread.max));
    Cell {
        text: format::figure(spread.median),
        small: (spread.runs > 1).then(range),
        mark: Mark::Plain,
    }
}

/// The largest peak of any run: a limit on memory holds for all of them.
fn memory(group: &Group<'_>) -> String {
    match group.runs.iter().map(|record| record.totals.peak_rss_bytes).max() {
        None | Some(0) => none(),
        Some(peak) => format::bytes(peak),
    }
}

fn notes(groups: &[Group<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    let most = groups.iter().map(|group| group.runs.len()).max().unwrap_or(0);
    if most > 1 {
        notes.push(format!(
            "Median of up to {most} runs, smallest..largest; memory is the largest of all runs."
        ));
    }
    if groups.len() > 1 {
        notes.push("Total is validation and write; both speed-ups compare it.".to_owned());
    }
    notes.extend(cautions(groups));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn two_rungs() -> Vec<RunRecord> {
        let run = |label: &str, validate: f64, write: f64| {
            let mut record = sample::bare(label);
            record.totals.busy_s = vec![0.0, 0.0, validate, write];
            record.totals.wall_s = validate + write + 0.5;
            record.totals.blocks_per_s = 1_000_000.0 / record.totals.wall_s;
            record.totals.peak_rss_bytes = 123_456_789;
            record
        };
        vec![
            run("master", 12.0, 30.0),
            run("blockmill", 0.3, 0.5),
            run("blockmill", 0.2, 0.5),
            run("blockmill", 0.4, 0.5),
        ]
    }

    #[test]
    fn shows_medians_spreads_and_speed_ups() {
        let expected = "\
| rung | validation s | write s | total s | whole run s | against first | against before \
| blocks/s | peak memory |\n\
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n\
| **master** | 12.00 | 30.00 | **42.00** | 42.50 | **1.00x** | - | 23,529 | 123 MB |\n\
| **blockmill** | 0.300 (0.200..0.400) | 0.500 (0.500..0.500) | **0.800** (0.700..0.900) \
| 1.300 (1.200..1.400) | **52.5x** | 52.5x | 769,231 | 123 MB |\n\n\
- Median of up to 3 runs, smallest..largest; memory is the largest of all runs.\n\
- Total is validation and write; both speed-ups compare it.\n";
        assert_eq!(ladder_markdown(&two_rungs()), expected);
    }

    #[test]
    fn terminal_table_has_a_line_for_each_rung() {
        let text = ladder_table(&two_rungs(), Colour::Off);
        assert!(text.contains("master") && text.contains("52.5x"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    }

    #[test]
    fn peer_is_not_compared_with_the_rung_before_it() {
        let mut records = two_rungs();
        records[0].program.name = "go-ethereum".into();
        let text = ladder_markdown(&records);
        assert!(text.contains("| **52.5x** | - |"), "{text}");
    }

    #[test]
    fn failed_rung_keeps_its_line_without_figures() {
        let mut records = two_rungs();
        records[0].result.error = Some("no space left".into());
        let text = ladder_markdown(&records);
        assert!(text.contains("| **master** | - | - | **-** | - | **-** | - | - | - |"), "{text}");
        assert!(text.contains("master: 1 of 1 runs failed"), "{text}");
    }

    #[test]
    fn no_records_give_an_empty_table() {
        assert_eq!(ladder_markdown(&[]).lines().count(), 2);
    }
}
