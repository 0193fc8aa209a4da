//! The tables of `bench reindex`: one for each definition, one line for each design and peer.

use pipeline::record::{Reindex, RunRecord, rate};

use crate::format::{self, NONE};
use crate::group::{Group, Spread, by_label, failures};
use crate::table::{Cell, Mark, Table};
use crate::terminal::{Colour, STRONG};

/// The label of our default setting, with which all others are compared.
const OURS: &str = "blockmill";

/// Is this a run of `bench reindex`?
pub fn is_reindex(record: &RunRecord) -> bool {
    record.reindex.as_ref().is_some_and(|reindex| !reindex.definition.is_empty())
}

/// Times, reads, rates and memory of each label, definition by definition, for a terminal. Of
/// several runs: median, smallest and largest.
pub fn reindex_table(records: &[RunRecord], colour: Colour) -> String {
    let mut text = String::new();
    for (name, records) in by_definition(records) {
        text +=
            &format!("{}: {}\n", colour.paint(STRONG, &name), format::printable(&data(&records)));
        text += &table(&records).terminal(colour);
        text.push('\n');
    }
    text
}

/// The same as markdown.
pub fn reindex_markdown(records: &[RunRecord]) -> String {
    let tables = by_definition(records).into_iter();
    let tables = tables.map(|(name, records)| {
        format!("## {name}\n\n{}.\n\n{}", data(&records), table(&records).markdown())
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// The records of each definition, in the order in which they first appear.
pub(crate) fn by_definition(records: &[RunRecord]) -> Vec<(String, Vec<RunRecord>)> {
    let mut found: Vec<(String, Vec<RunRecord>)> = vec![];
    for record in records {
        let Some(reindex) = &record.reindex else { continue };
        let name = format::printable(&reindex.definition);
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(record.clone()),
            None => found.push((name, vec![record.clone()])),
        }
    }
    found
}

/// What was reindexed, as one of our own runs tells it: only they count blocks and inputs.
pub(crate) fn data(records: &[RunRecord]) -> String {
    let ours = records.iter().find(|record| record.label == OURS).or(records.first());
    let Some((record, reindex)) = ours.and_then(|r| Some((r, r.reindex.as_ref()?))) else {
        return String::new();
    };
    let mut words = vec![format!(
        "{} blocks of {} in {} ({}{})",
        format::count(reindex.found),
        record.data.chain,
        files(reindex.files),
        format::bytes(reindex.file_bytes),
        if reindex.files == 1 { "" } else { " in all" },
    )];
    if reindex.out_of_order > 0 {
        words.push(format!("{} before their parents", format::count(reindex.out_of_order)));
    }
    if reindex.orphans > 0 {
        words.push(format!("{} without a parent", format::count(reindex.orphans)));
    }
    if reindex.inputs > 0 {
        words.push(format!("{} inputs", format::count(reindex.inputs)));
    }
    if is_index_only(records) {
        words.push("only the index".to_owned());
    } else {
        words.push(format!("scripts of {} inputs run", format::count(reindex.scripts)));
    }
    words.join(", ")
}

fn files(count: u64) -> String {
    if count == 1 { "one file".to_owned() } else { format!("{} files", format::count(count)) }
}

/// Do our runs end with the index? Those of peers may go on.
pub(crate) fn is_index_only(records: &[RunRecord]) -> bool {
    records.iter().any(|record| record.level == "headers")
}

/// What is compared: the index, or the whole run.
pub(crate) fn compared(record: &RunRecord, index_only: bool) -> f64 {
    if index_only { of(record).index_s } else { record.totals.wall_s }
}

pub(crate) fn of(record: &RunRecord) -> Reindex {
    record.reindex.clone().unwrap_or_default()
}

fn table(records: &[RunRecord]) -> Table {
    let index_only = is_index_only(records);
    let mut table = Table::new(match index_only {
        true => &[
            "run",
            "index s",
            "against first",
            "blockmill faster by",
            "bytes read",
            "from memory",
            "from disk",
            "peak memory",
        ],
        false => &[
            "run",
            "index s",
            "connect s",
            "writing s",
            "whole run s",
            "blockmill faster by",
            "inputs/s",
            "coins memory",
            "peak memory",
        ],
    });
    let groups = by_label(records);
    let time = |group: &Group<'_>| group.spread(|r| compared(r, index_only)).map(|s| s.median);
    // without a ladder ours is the first, and the next column says how far the others are from it
    let first = groups.first().filter(|group| group.label != OURS).and_then(time);
    let ours = groups.iter().find(|group| group.label == OURS).and_then(time);
    let inputs = records.iter().map(|record| of(record).inputs).max().unwrap_or(0);
    for group in &groups {
        let times = Times { own: time(group), first, ours };
        table.rows.push(match index_only {
            true => index_row(group, &times),
            false => row(group, &times, inputs),
        });
    }
    table.notes = notes(&groups, index_only);
    table
}

/// Medians of the time that is compared.
struct Times {
    own: Option<f64>,
    first: Option<f64>,
    ours: Option<f64>,
}

impl Times {
    fn against_first(&self) -> String {
        quotient(self.first, self.own)
    }

    fn against_ours(&self) -> String {
        quotient(self.own, self.ours)
    }
}

fn quotient(long: Option<f64>, short: Option<f64>) -> String {
    match (long, short) {
        (Some(long), Some(short)) if short > 0.0 => format::ratio(long / short),
        _ => NONE.to_owned(),
    }
}

fn index_row(group: &Group<'_>, times: &Times) -> Vec<Cell> {
    let mark = mark(group);
    let ours = group.any().filter(|record| record.level == "headers").map(of);
    let told = |figure: fn(&Reindex) -> String| ours.as_ref().map_or(NONE.to_owned(), figure);
    vec![
        Cell::from(group.label).marked(mark),
        seconds(group.spread(|r| of(r).index_s)).marked(mark),
        times.against_first().into(),
        Cell::from(times.against_ours()).marked(mark),
        told(|reindex| format::bytes(reindex.index_bytes)).into(),
        told(|reindex| format::count(reindex.from_memory)).into(),
        told(|reindex| format::count(reindex.from_disk)).into(),
        memory(group).into(),
    ]
}

/// `inputs` are those of the chain, which peers do not count.
fn row(group: &Group<'_>, times: &Times, inputs: u64) -> Vec<Cell> {
    let mark = mark(group);
    let inputs = group.spread(|record| rate(inputs, of(record).connect_s));
    let inputs = inputs.map(|spread| spread.median).filter(|rate| *rate > 0.0);
    let coins = group.runs.iter().map(|record| of(record).coins_memory).max().unwrap_or(0);
    vec![
        Cell::from(group.label).marked(mark),
        seconds(group.spread(|r| of(r).index_s)),
        seconds(group.spread(|r| of(r).connect_s)),
        seconds(group.spread(|r| of(r).commit_s)),
        seconds(group.spread(|r| r.totals.wall_s)).marked(mark),
        Cell::from(times.against_ours()).marked(mark),
        inputs.map_or(NONE.to_owned(), format::rate).into(),
        size(coins).into(),
        memory(group).into(),
    ]
}

fn mark(group: &Group<'_>) -> Mark {
    if group.label == OURS { Mark::Good } else { Mark::Plain }
}

/// The median, and the range when there is more than one run.
fn seconds(spread: Option<Spread>) -> Cell {
    let Some(spread) = spread else { return NONE.into() };
    let range = || format!("{}..{}", format::figure(spread.min), format::figure(spread.max));
    Cell {
        text: format::figure(spread.median),
        small: (spread.runs > 1).then(range),
        mark: Mark::Plain,
    }
}

fn memory(group: &Group<'_>) -> String {
    size(group.runs.iter().map(|record| record.totals.peak_rss_bytes).max().unwrap_or(0))
}

fn size(bytes: u64) -> String {
    if bytes == 0 { NONE.to_owned() } else { format::bytes(bytes) }
}

fn notes(groups: &[Group<'_>], index_only: bool) -> Vec<String> {
    let what = match index_only {
        true => {
            "From memory, from disk: blocks that came before their parents, and where their bytes \
             were taken from afterwards."
        }
        false => "Connecting includes writing.",
    };
    let mut notes = vec![what.to_owned()];
    let most = groups.iter().map(|group| group.runs.len()).max().unwrap_or(0);
    if most > 1 {
        notes.push(format!(
            "Median of up to {most} runs, smallest..largest; memory is the largest of all runs."
        ));
    }
    let ours = groups.iter().find(|group| group.label == OURS).and_then(Group::any);
    let name = |record: &RunRecord| record.program.name.clone();
    let peers: Vec<&str> = groups
        .iter()
        .filter(|group| group.any().map(name) != ours.map(name))
        .map(|group| group.label)
        .collect();
    if !peers.is_empty() {
        let peers = peers.join(", ");
        notes.push(match index_only {
            true => format!("Index of {peers}: its pass over the files; memory: its whole run."),
            false => format!(
                "Index of {peers}: its pass over the files; the whole run has opening and closing \
                 its datadir, too."
            ),
        });
    }
    notes.extend(groups.iter().filter_map(failures));
    notes
}

#[cfg(test)]
mod tests;
