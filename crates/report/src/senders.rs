//! The table of `bench bodies`: what the senders of transactions cost in each design.

use pipeline::record::{RunRecord, Stage, rate};

use crate::format::{self, NONE};
use crate::group::{Group, Spread, by_label, cautions};
use crate::table::{Cell, Mark, Table};
use crate::terminal::Colour;

/// The names of the stages in records.
const STAGE: &str = "senders";
const REST: &str = "verify";

/// Senders and whole run of each label, for a terminal. Of several runs: median, smallest and
/// largest.
pub fn senders_table(records: &[RunRecord], colour: Colour) -> String {
    table(records).terminal(colour)
}

/// The same as markdown.
pub fn senders_markdown(records: &[RunRecord]) -> String {
    table(records).markdown()
}

fn stage<'a>(record: &'a RunRecord, name: &str) -> Option<&'a Stage> {
    record.stages.iter().find(|stage| stage.name == name)
}

fn busy(record: &RunRecord) -> f64 {
    stage(record, STAGE).map_or(0.0, |stage| stage.busy_s)
}

fn rest(record: &RunRecord) -> f64 {
    stage(record, REST).map_or(0.0, |stage| stage.busy_s)
}

fn count(record: &RunRecord) -> u64 {
    stage(record, STAGE).map_or(0, |stage| stage.items)
}

fn wall(record: &RunRecord) -> f64 {
    record.totals.wall_s
}

fn table(records: &[RunRecord]) -> Table {
    let mut table = Table::new(&[
        "run",
        "senders s",
        "us each",
        "other rules s",
        "whole run s",
        "senders faster",
        "run faster",
        "senders/s",
        "peak memory",
    ]);
    let groups = by_label(records);
    let median = |group: &Group<'_>, time: fn(&RunRecord) -> f64| {
        group.spread(time).map(|spread| spread.median)
    };
    let first = groups.first();
    let first = |time| first.and_then(|group| median(group, time));
    for group in &groups {
        let gain = |time: fn(&RunRecord) -> f64| match (first(time), median(group, time)) {
            (Some(first), Some(own)) if own > 0.0 => format::ratio(first / own),
            _ => NONE.to_owned(),
        };
        let each = group.spread(|r| busy(r) * 1e6 / count(r).max(1) as f64);
        let rate = group.spread(|r| rate(count(r), wall(r)));
        let peak = group.runs.iter().map(|r| r.totals.peak_rss_bytes).max();
        table.rows.push(vec![
            Cell::from(group.label).marked(Mark::Strong),
            times(group.spread(busy)),
            each.map_or_else(|| NONE.to_owned(), |each| format::figure(each.median)).into(),
            times(group.spread(rest)),
            times(group.spread(wall)),
            gain(busy).into(),
            Cell::from(gain(wall)).marked(Mark::Strong),
            rate.map_or_else(|| NONE.to_owned(), |rate| format::rate(rate.median)).into(),
            peak.map_or_else(|| NONE.to_owned(), format::bytes).into(),
        ]);
    }
    table.notes = notes(&groups);
    table
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

fn notes(groups: &[Group<'_>]) -> Vec<String> {
    let mut notes = vec![];
    let of_ours = groups.iter().flat_map(|group| &group.runs);
    if let Some(record) = of_ours.max_by_key(|record| count(record)) {
        let (senders, blocks) = (format::count(count(record)), format::count(record.data.blocks));
        notes.push(format!(
            "{senders} senders in {blocks} blocks. Times of senders and of other rules are summed \
             over the threads."
        ));
        notes.push("What is faster is compared with the first line.".to_string());
    }
    notes.extend(cautions(groups));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn run(label: &str, senders_s: f64, wall_s: f64) -> RunRecord {
        let mut record = sample::bare(label);
        let stage = |name: &str, busy_s, items| Stage {
            name: name.into(),
            busy_s,
            items,
            ..Stage::default()
        };
        record.stages = vec![stage(REST, 0.5, 71), stage(STAGE, senders_s, 100_000)];
        record.totals.wall_s = wall_s;
        record.data.blocks = 71;
        record
    }

    #[test]
    fn shows_what_a_sender_costs_and_how_much_faster_a_design_is() {
        let records = [run("one by one", 3.0, 4.0), run("blockmill", 0.375, 0.5)];
        let text = senders_markdown(&records);
        let row = "| **blockmill** | 0.375 | 3.750 | 0.500 | 0.500 | 8.00x | **8.00x** | 200,000 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("100,000 senders in 71 blocks."), "{text}");
        let text = senders_table(&records, Colour::Off);
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    }

    #[test]
    fn runs_without_senders_have_no_gain() {
        let text = senders_table(&[sample::bare("headers")], Colour::Off);
        assert!(text.contains("headers"), "{text}");
    }
}
