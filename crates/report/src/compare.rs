//! Labels side by side: one column for each label, one line for each figure or fact.

use pipeline::percentile::Percentiles;
use pipeline::record::{RunRecord, rate};

use crate::format::{self, NONE};
use crate::group::{Group, by_label, cautions, seals};
use crate::summary::shown_phases;
use crate::table::{Mark, Table};
use crate::terminal::Colour;

/// Compares labels on a terminal. Of several runs with one label the median is shown; facts and
/// percentiles are those of the run with the median time. Lines without any figure are left out.
pub fn compare_table(records: &[RunRecord], colour: Colour) -> String {
    table(records).terminal(colour)
}

/// The same as markdown.
pub fn compare_markdown(records: &[RunRecord]) -> String {
    table(records).markdown()
}

type Show = fn(&Group<'_>) -> Option<String>;
type Pick = fn(&Percentiles) -> f64;

/// The lines before those of the phases.
const LINES: [(&str, Show); 11] = [
    ("program", |g| fact(g, |r| format!("{} {}", r.program.name, r.program.version))),
    ("revision", |g| fact(g, |r| r.program.revision.chars().take(10).collect())),
    ("runs", |g| Some(format::count(g.runs.len() as u64))),
    ("level", |g| fact(g, |r| r.level.clone())),
    ("seals", |g| fact(g, |r| seals(r).to_owned())),
    ("blocks", |g| fact(g, |r| format::count(r.data.blocks))),
    ("blocks/s", |g| Some(format::rate(g.spread(|r| r.totals.blocks_per_s)?.median))),
    ("archive MB/s", |g| {
        let speed = g.spread(|r| rate(r.data.bytes, r.totals.wall_s) / 1e6)?.median;
        (speed > 0.0).then(|| format::figure(speed))
    }),
    ("whole run", |g| time(g, |r| r.totals.wall_s)),
    ("set-up", |g| time(g, |r| r.totals.setup_s)),
    ("index", |g| time(g, |r| r.reindex.as_ref().map_or(0.0, |reindex| reindex.index_s))),
];

/// The lines behind them.
const MORE_LINES: [(&str, Show); 4] = [
    ("CPU, user", |g| time(g, |r| r.totals.cpu_user_s)),
    ("CPU, system", |g| time(g, |r| r.totals.cpu_sys_s)),
    ("cores busy", |g| {
        let cores = g.spread(|r| (r.totals.cpu_user_s + r.totals.cpu_sys_s) / r.totals.wall_s)?;
        (cores.median > 0.0).then(|| format::number(cores.median, 2))
    }),
    ("peak memory", |g| {
        let peak = g.runs.iter().map(|r| r.totals.peak_rss_bytes).max()?;
        (peak > 0).then(|| format::bytes(peak))
    }),
];

/// What is shown of the times of a phase for each chunk.
const PERCENTILES: [(&str, Pick); 3] = [("p50", |p| p.p50), ("p99", |p| p.p99), ("max", |p| p.max)];

pub(crate) fn table(records: &[RunRecord]) -> Table {
    let groups = by_label(records);
    let mut heads = vec![""];
    heads.extend(groups.iter().map(|group| group.label));
    let mut table = Table::new(&heads);
    let lines = |table: &mut Table, lines: &[(&str, Show)]| {
        for (name, show) in lines {
            push(table, name, groups.iter().map(show).collect());
        }
    };
    lines(&mut table, &LINES);
    for phase in phases(&groups) {
        push(&mut table, phase, groups.iter().map(|g| time(g, |r| r.busy_s(phase))).collect());
    }
    lines(&mut table, &MORE_LINES);
    for phase in groups.iter().find_map(Group::any).map_or(vec![], shown_phases) {
        for (name, pick) in PERCENTILES {
            let values = groups.iter().map(|g| tail(g, phase, pick));
            push(&mut table, &format!("{phase}, chunk {name}"), values.collect());
        }
    }
    for switch in switches(&groups) {
        let value = |g: &Group<'_>| g.any()?.variants.get(switch).cloned();
        push(&mut table, &format!("with {switch}"), groups.iter().map(value).collect());
    }
    table.notes = cautions(&groups);
    table
}

fn push(table: &mut Table, name: &str, values: Vec<Option<String>>) {
    if values.iter().all(Option::is_none) {
        return;
    }
    let mut row = vec![crate::table::Cell::from(name).marked(Mark::Faint)];
    row.extend(values.into_iter().map(|value| value.unwrap_or_else(|| NONE.to_owned()).into()));
    table.rows.push(row);
}

/// The phases of all labels, in order.
fn phases<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in groups.iter().filter_map(Group::any).flat_map(|record| &record.phases) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// The names of all switches that any label sets.
fn switches<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for record in groups.iter().filter_map(Group::any) {
        names.extend(record.variants.keys().map(String::as_str));
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn fact(group: &Group<'_>, show: impl Fn(&RunRecord) -> String) -> Option<String> {
    let text = show(group.any()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn time(group: &Group<'_>, figure: impl Fn(&RunRecord) -> f64) -> Option<String> {
    let median = group.spread(figure)?.median;
    (median > 0.0).then(|| format::duration(median))
}

fn tail(group: &Group<'_>, phase: &str, pick: Pick) -> Option<String> {
    let record = group.typical()?;
    let value = pick(record.percentiles.get(record.phase(phase)?)?);
    (value > 0.0).then(|| format::duration(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn puts_each_label_in_a_column_and_leaves_out_empty_lines() {
        let mut records = vec![sample::bare("geth"), sample::full("blockmill", 1.0)];
        records[1].variants.insert("write".into(), "batch".into());
        let text = compare_markdown(&records);
        assert!(text.starts_with("|  | geth | blockmill |\n| --- | ---: | ---: |\n"), "{text}");
        assert!(text.contains("| with write | - | batch |"), "{text}");
        assert!(text.contains("| blocks | 1,000,000 | 1,000,000 |"), "{text}");
        assert!(!text.contains("| set-up |"), "no run had a set-up:\n{text}");
        assert!(text.contains("| validation, chunk p99 | - |"), "{text}");
    }

    #[test]
    fn block_files_are_compared_by_their_own_phases() {
        let text = compare_markdown(&[sample::reindexed("a"), sample::reindexed("b")]);
        for phase in ["index", "read", "prepare", "connect", "check", "finish", "check, chunk p99"]
        {
            assert!(text.contains(&format!("\n| {phase} | ")), "{phase} is not in:\n{text}");
        }
        assert!(!text.contains("| validation") && !text.contains("| decode"), "{text}");
    }

    #[test]
    fn terminal_form_names_all_labels() {
        let records = [sample::full("mod1", 2.0), sample::full("mod2", 1.0)];
        let text = compare_table(&records, Colour::Off);
        assert!(text.lines().any(|line| line.contains("mod1") && line.contains("mod2")), "{text}");
    }
}
