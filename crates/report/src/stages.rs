//! Which stage the others wait for: busy and waiting time of each stage.

use blockmill_pipeline::record::{RunRecord, Stage, Thread, rate};

use crate::summary::{INDEX, SET_UP};
use crate::table::{Cell, Mark, Table};
use crate::terminal::{Colour, two_part_bar};
use crate::times::{THREAD_TIME, wall_and_cpu};
use crate::{block_files, format};

/// The parts of a run's thread time, in the order of the work: what is done once before, then its
/// stages; of a run without stages its phases.
pub(crate) fn parts(record: &RunRecord) -> Vec<(&str, f64)> {
    let before = match block_files::are_of(record) {
        true => (INDEX, record.facts.value("index_s")),
        false => (SET_UP, record.facts.value("setup_s")),
    };
    [before].into_iter().chain(work(record)).collect()
}

/// The stages of a run and how long threads were in each; of a run without stages its phases.
#[must_use]
pub fn work(record: &RunRecord) -> Vec<(&str, f64)> {
    match record.stages.is_empty() {
        true => record.phases().into_iter().map(|name| (name, record.busy_s(name))).collect(),
        false => record.stages.iter().map(|stage| (&*stage.name, stage.busy_s)).collect(),
    }
}

/// Characters of the bar of a stage.
const BAR: usize = 24;

/// Busy and waiting time of each stage of `record`, with bars, for a terminal. The stage that is
/// busy for the largest part of its time is the one that the run waits for; it is set off.
pub(crate) fn stages_table(record: &RunRecord, colour: Colour) -> String {
    let mut table = table(record);
    table.heads.insert(1, "solid: busy, dotted: waiting".to_owned());
    for (row, stage) in table.rows.iter_mut().zip(&record.stages) {
        row.insert(1, two_part_bar(busy_share(stage), BAR).into());
    }
    table.left = vec![1];
    table.terminal(colour)
}

/// The same as markdown, without bars.
pub(crate) fn stages_markdown(record: &RunRecord) -> String {
    table(record).markdown()
}

/// The part of its time that a stage worked; 0 when it had no time.
pub(crate) fn busy_share(stage: &Stage) -> f64 {
    rate_of(stage.busy_s, stage.wait_s)
}

fn rate_of(busy: f64, other: f64) -> f64 {
    let all = busy + other;
    if all > 0.0 { busy / all } else { 0.0 }
}

/// The place of the stage that is busy for the largest part of its time.
pub(crate) fn bottleneck(record: &RunRecord) -> Option<usize> {
    let shares = record.stages.iter().map(busy_share).enumerate();
    shares.filter(|(_, share)| *share > 0.0).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// Busy and waiting time of each stage of `record`, and the share of each thread.
pub fn table(record: &RunRecord) -> Table {
    let mut table = Table::new(&[
        "stage",
        "busy",
        "thread s busy",
        "thread s waiting",
        "threads",
        "items",
        "bytes",
        "MB/s busy",
    ]);
    let bottleneck = bottleneck(record);
    for (at, stage) in record.stages.iter().enumerate() {
        let mark = if bottleneck == Some(at) { Mark::Strong } else { Mark::Plain };
        table.rows.push(vec![
            Cell::from(stage.name.as_str()).marked(mark),
            Cell::from(format::percent(busy_share(stage))).marked(mark),
            format::figure(stage.busy_s).into(),
            format::figure(stage.wait_s).into(),
            format::count(u64::from(stage.threads)).into(),
            format::count(stage.items).into(),
            format::bytes(stage.bytes).into(),
            format::figure(rate(stage.bytes, stage.busy_s) / 1e6).into(),
        ]);
    }
    if !record.threads.is_empty() {
        let share = |thread: &Thread| format::percent(rate_of(thread.busy_s, thread.idle_s));
        let shares: Vec<String> = record.threads.iter().map(share).collect();
        table.notes.push(format!("Threads busy: {}.", shares.join(", ")));
    }
    if !record.stages.is_empty() {
        table.notes.push(format!("Whole run: {}. {THREAD_TIME}", wall_and_cpu(record)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn shows_bars_and_sets_the_bottleneck_off() {
        let record = sample::full("x", 1.0);
        let text = stages_table(&record, Colour::Off);
        let verify = text.lines().find(|line| line.contains("verify")).unwrap();
        assert!(verify.contains("█████") && verify.contains("░"), "{text}");
        assert_eq!(bottleneck(&record), Some(2));
        assert!(stages_markdown(&record).contains("| **check: verify** | **80 %** | 0.400 "));
        let note = "Whole run: 1.00 s of wall time. Thread time: how long threads were in a stage";
        assert!(text.contains(note), "{text}");
    }

    #[test]
    fn stage_without_time_has_an_empty_bar() {
        let mut record = sample::bare("x");
        record.stages.push(Stage { name: "read".into(), ..Stage::default() });
        assert_eq!(bottleneck(&record), None);
        assert!(stages_table(&record, Colour::Off).contains(&"░".repeat(BAR)));
    }
}
