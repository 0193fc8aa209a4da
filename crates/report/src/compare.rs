//! Runs side by side: one column for each run, one line for each figure or fact.

use blockmill_pipeline::record::{
    BLOCKS_PER_S, CHUNK, CPU_SYS_S, CPU_USER_S, PEAK_RSS_BYTES, Percentiles,
};
use blockmill_pipeline::record::{RunRecord, rate};

use crate::format::{self, NONE};
use crate::runs::{cautions, distinct, names, seals};
use crate::stages::parts;
use crate::summary::{INDEX, SET_UP, shown_phases};
use crate::table::{Cell, Mark, Table};
use crate::terminal::Colour;
use crate::times::{self, THREAD_TIME};

/// Compares runs on a terminal. Lines without any figure are left out.
pub(crate) fn compare_table(records: &[RunRecord], colour: Colour) -> String {
    table(records).terminal(colour)
}

/// The same as markdown.
pub(crate) fn compare_markdown(records: &[RunRecord]) -> String {
    table(records).markdown()
}

type Show = fn(&RunRecord) -> Option<String>;
type Pick = fn(&Percentiles) -> f64;

/// The lines before the phases.
const LINES: [(&str, Show); 12] = [
    ("CPU time", times::cpu),
    ("threads busy", times::threads_busy),
    ("program", |r| text(format!("{} {}", r.program.name, r.program.version))),
    ("revision", |r| text(r.program.revision.chars().take(10).collect())),
    ("profile", |r| text(r.program.profile.clone())),
    ("level", |r| text(r.level.clone())),
    ("seals", |r| text(seals(r).to_owned())),
    ("blocks", |r| text(format::count(r.data.blocks))),
    ("blocks/s", |r| Some(format::rate(r.facts.get(BLOCKS_PER_S)?))),
    ("archive MB/s", |r| {
        let speed = rate(r.data.bytes, r.wall_s()) / 1e6;
        (speed > 0.0).then(|| format::figure(speed))
    }),
    ("set-up, wall time", |r| time(r.facts.value("setup_s"))),
    ("index, wall time", |r| time(r.facts.value("index_s"))),
];

/// The lines after the phases.
const MORE_LINES: [(&str, Show); 3] = [
    ("CPU time, user", |r| time(r.facts.value(CPU_USER_S))),
    ("CPU time, system", |r| time(r.facts.value(CPU_SYS_S))),
    ("peak memory", |r| Some(format::bytes(r.facts.get(PEAK_RSS_BYTES)? as u64))),
];

/// What is shown of the times of a phase for each chunk.
const PERCENTILES: [(&str, Pick); 4] =
    [("p50", |p| p.p50), ("p95", |p| p.p95), ("p99", |p| p.p99), ("max", |p| p.max)];

pub(crate) fn table(records: &[RunRecord]) -> Table {
    let mut table = Table::new(&[""]);
    table.heads.extend(names(records));
    push(&mut table, "whole run, wall time", records.iter().map(whole).collect());
    let lines = |table: &mut Table, lines: &[(&str, Show)]| {
        for (name, show) in lines {
            push(table, name, records.iter().map(|r| show(r).map(Cell::from)).collect());
        }
    };
    lines(&mut table, &LINES);
    for stage in distinct(records.iter().flat_map(stages)) {
        let busy = records.iter().map(|r| {
            let all = parts(r).into_iter().filter(|part| part.0 == stage);
            time(all.map(|part| part.1).sum()).map(Cell::from)
        });
        push(&mut table, &format!("{stage}, thread time"), busy.collect());
    }
    lines(&mut table, &MORE_LINES);
    for phase in distinct(records.iter().flat_map(shown_phases)) {
        for (name, pick) in PERCENTILES {
            let values = records.iter().map(|r| tail(r, phase, pick).map(Cell::from));
            push(&mut table, &format!("{phase}, chunk {name}"), values.collect());
        }
    }
    for option in options(records) {
        let value = |r: &RunRecord| r.options.get(option).map(|value| Cell::from(value.as_str()));
        push(&mut table, &format!("with {option}"), records.iter().map(value).collect());
    }
    table.notes = cautions(records);
    if records.iter().any(|record| !record.phases().is_empty()) {
        table.notes.push(THREAD_TIME.to_owned());
    }
    table
}

/// The time of a whole run. No ratio: one run of each does not say which program is faster.
fn whole(record: &RunRecord) -> Option<Cell> {
    Some(Cell::from(time(record.wall_s())?).marked(Mark::Strong))
}

fn push(table: &mut Table, name: &str, values: Vec<Option<Cell>>) {
    if values.iter().all(Option::is_none) {
        return;
    }
    let mut row = vec![Cell::from(name).marked(Mark::Faint)];
    row.extend(values.into_iter().map(|value| value.unwrap_or_else(|| NONE.into())));
    table.rows.push(row);
}

/// The stages of a run, in order; what is done once before has a line of its own.
fn stages(record: &RunRecord) -> Vec<&str> {
    let all = parts(record).into_iter().map(|part| part.0);
    all.filter(|name| ![INDEX, SET_UP].contains(name)).collect()
}

/// The names of the options in which the runs differ.
fn options(records: &[RunRecord]) -> Vec<&str> {
    let all = records.iter().flat_map(|record| record.options.keys().map(String::as_str));
    let mut names: Vec<&str> = all.collect();
    names.sort_unstable();
    names.dedup();
    let value = |record: &RunRecord, name: &str| record.options.get(name).cloned();
    let differ =
        |name: &&str| records.iter().any(|record| value(record, name) != value(&records[0], name));
    names.retain(differ);
    names
}

fn text(text: String) -> Option<String> {
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn time(seconds: f64) -> Option<String> {
    (seconds > 0.0).then(|| format::duration(seconds))
}

fn tail(record: &RunRecord, phase: &str, pick: Pick) -> Option<String> {
    time(pick(&record.series(CHUNK)?.column(phase)?.percentiles?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn puts_each_run_in_a_column_and_leaves_out_empty_lines() {
        let mut records = vec![sample::bare("geth"), sample::full("blockmill", 1.0)];
        records[1].options.insert("write".into(), "batch".into());
        for record in &mut records {
            record.options.insert("hash".into(), "multi".into());
        }
        let text = compare_markdown(&records);
        assert!(text.starts_with("|  | geth | blockmill |\n| --- | ---: | ---: |\n"), "{text}");
        assert!(text.contains("| with write | - | batch |"), "{text}");
        assert!(!text.contains("| with hash |"), "the same in both:\n{text}");
        assert!(text.contains("| blocks | 1,000,000 | 1,000,000 |"), "{text}");
        assert!(!text.contains("| set-up |"), "no run had a set-up:\n{text}");
        assert!(text.contains("| check: verify, chunk p99 | - |"), "{text}");
    }

    #[test]
    fn single_runs_have_their_times_and_no_ratio() {
        let text = compare_markdown(&[sample::full("import", 3.0), sample::full("import", 1.5)]);
        assert!(text.contains("| import 1 | import 2 |"), "{text}");
        assert!(text.contains("| whole run, wall time | **3.00 s** | **1.50 s** |"), "{text}");
        assert!(text.contains("| threads busy | 1.2 of 2 | 1.2 of 2 |"), "{text}");
        assert!(text.contains("for a verdict, use blockmill bench."), "{text}");
        assert!(!text.contains("as fast"), "{text}");
        assert!(text.contains("- One run of each"), "{text}");
    }

    #[test]
    fn block_files_are_compared_by_their_own_phases() {
        let text = compare_markdown(&[sample::reindexed("a"), sample::reindexed("b")]);
        let phases = ["read", "prepare", "connect", "check", "finish"];
        let phases = phases.map(|phase| format!("{phase}, thread time"));
        for phase in
            phases.into_iter().chain(["index, wall time", "check, chunk p99"].map(String::from))
        {
            assert!(text.contains(&format!("\n| {phase} | ")), "{phase} is not in:\n{text}");
        }
        assert!(!text.contains("| check: verify"), "{text}");
    }

    #[test]
    fn terminal_form_names_all_runs() {
        let records = [sample::full("mod1", 2.0), sample::full("mod2", 1.0)];
        let text = compare_table(&records, Colour::Off);
        assert!(text.lines().any(|line| line.contains("mod1") && line.contains("mod2")), "{text}");
    }
}
