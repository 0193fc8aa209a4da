//! What verifying signatures in batches costs: times and their ratios to the scalar library, rates
//! with several threads, and what signatures cost that no lane can decide.

use std::collections::BTreeMap;

use pipeline::signature_record::{GOOD, HALF_UNDECIDED, SCALAR, SignatureRecord, UNDECIDED};

use crate::format::{self, NONE};
use crate::group::Spread;
use crate::table::{Cell, Mark, Table};
use crate::terminal::{Colour, STRONG};

/// Up to this size, batches of signatures that no lane can decide share a table.
const FEW: u64 = 15;

/// The tables for a terminal.
pub fn signatures_table(record: &SignatureRecord, colour: Colour) -> String {
    let head = |text: &str| format!("\n{}\n", colour.paint(STRONG, text));
    all(record, head, |table| table.terminal(colour))
}

/// The same as markdown.
pub fn signatures_markdown(record: &SignatureRecord) -> String {
    all(record, |text| format!("## {text}\n\n"), |table| table.markdown() + "\n")
}

fn all(
    record: &SignatureRecord,
    head: impl Fn(&str) -> String,
    show: impl Fn(&Table) -> String,
) -> String {
    let figures = Figures(record);
    let mut tables = vec![];
    for threads in figures.threads() {
        tables.push(times(figures, threads));
        if threads > 1 {
            tables.push(rates(figures, threads));
        }
    }
    tables.push(undecided(figures));
    for variant in figures.faster() {
        let both = [UNDECIDED, HALF_UNDECIDED];
        tables.extend(both.map(|input| few_undecided(figures, variant, input)));
    }
    let full = tables.iter().filter(|(_, table)| !table.rows.is_empty());
    full.map(|(title, table)| head(title) + &show(table)).collect()
}

/// What was measured with each variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct At<'a> {
    pub operation: &'a str,
    pub input: &'a str,
    pub batch: u64,
    pub threads: u32,
}

/// A record, asked for what tables and charts show.
#[derive(Clone, Copy)]
pub(crate) struct Figures<'a>(pub &'a SignatureRecord);

impl<'a> Figures<'a> {
    /// Everything of one input, in the order in which it was measured first.
    pub fn rows(self, input: &str) -> Vec<At<'a>> {
        let mut rows: Vec<At<'a>> = vec![];
        for run in self.0.runs.iter().filter(|run| run.input == input) {
            let (operation, input) = (run.operation.as_str(), run.input.as_str());
            let at = At { operation, input, batch: run.batch, threads: run.threads };
            if !rows.contains(&at) {
                rows.push(at);
            }
        }
        rows
    }

    /// The numbers of threads for good signatures.
    fn threads(self) -> Vec<u32> {
        let mut threads: Vec<u32> = self.rows(GOOD).iter().map(|at| at.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// What an operation is called.
    pub fn label(self, operation: &'a str) -> &'a str {
        let found = self.0.operations.iter().find(|entry| entry.name == operation);
        found.map_or(operation, |entry| &entry.label)
    }

    /// The variants.
    pub fn variants(self) -> impl Iterator<Item = &'a str> + Clone {
        self.0.variants.iter().map(String::as_str)
    }

    /// Those that are compared with the scalar library.
    pub fn faster(self) -> impl Iterator<Item = &'a str> + Clone {
        self.variants().filter(|variant| *variant != SCALAR)
    }

    /// Time for each signature of all threads together in each round, in nanoseconds.
    fn rounds(self, at: At<'_>, variant: &str) -> BTreeMap<u32, f64> {
        let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for run in &self.0.runs {
            let (operation, input) = (run.operation.as_str(), run.input.as_str());
            let of = At { operation, input, batch: run.batch, threads: run.threads };
            if of == at && run.variant == variant {
                let (wall, signatures) = sums.entry(run.round).or_default();
                *wall += run.wall_ns as f64;
                *signatures += run.signatures as f64;
            }
        }
        let rounds = sums.into_iter().map(|(round, (wall, signatures))| (round, wall / signatures));
        rounds.filter(|(_, ns)| ns.is_finite() && *ns > 0.0).collect()
    }

    /// Time of one signature on one core, in nanoseconds: median and range over the rounds.
    fn time(self, at: At<'_>, variant: &str) -> Option<Spread> {
        let rounds = self.rounds(at, variant).into_values();
        Spread::of(rounds.map(|ns| ns * f64::from(at.threads)))
    }

    /// Signatures in a second, of all threads together.
    fn rate(self, at: At<'_>, variant: &str) -> Option<Spread> {
        Spread::of(self.rounds(at, variant).into_values().map(|ns| 1e9 / ns))
    }

    /// How many times the time of `under` that of `over` is, round by round.
    fn ratio(self, over: (At<'_>, &str), under: (At<'_>, &str)) -> Option<Spread> {
        let under = self.rounds(under.0, under.1);
        let over = self.rounds(over.0, over.1).into_iter();
        Spread::of(over.filter_map(|(round, ns)| Some(ns / under.get(&round)?)))
    }

    /// How many times as fast as the scalar library.
    pub fn times_scalar(self, at: At<'_>, variant: &str) -> Option<Spread> {
        self.ratio((at, SCALAR), (at, variant))
    }

    /// How much more than the scalar library, as a share of its time.
    fn more(self, at: At<'_>, variant: &str) -> Option<Spread> {
        let Spread { median, min, max, runs } = self.ratio((at, variant), (at, SCALAR))?;
        Some(Spread { median: median - 1.0, min: min - 1.0, max: max - 1.0, runs })
    }

    /// How many times as many signatures in a second as with one thread.
    fn scaling(self, at: At<'_>, variant: &str) -> Option<Spread> {
        self.ratio((At { threads: 1, ..at }, variant), (at, variant))
    }

    /// The scalar libraries of these rows, and how the figures were made.
    fn notes(self, rows: &[At<'_>]) -> Vec<String> {
        let mut libraries: Vec<&str> = vec![];
        for entry in &self.0.operations {
            let is_shown = rows.iter().any(|at| at.operation == entry.name);
            if is_shown && !libraries.contains(&entry.library.as_str()) {
                libraries.push(&entry.library);
            }
        }
        let rounds = self.0.runs.iter().map(|run| run.round).max().unwrap_or(0);
        let libraries = libraries.join(", ");
        let rounds = format::counted(rounds.into(), "round");
        vec![
            format!("Median of {rounds}, smallest..largest; ratios are taken round by round."),
            format!("{SCALAR}: {libraries}."),
        ]
    }
}

/// A label, unless the row before is of the same operation.
fn label(figures: Figures<'_>, rows: &[At<'_>], row: usize) -> Cell {
    let is_same = |before: &At<'_>| before.operation == rows[row].operation;
    let repeated = row.checked_sub(1).and_then(|before| rows.get(before)).is_some_and(is_same);
    if repeated { "".into() } else { figures.label(rows[row].operation).into() }
}

/// The median, and below it the range in the same form but without the unit.
fn spread(spread: Option<Spread>, show: impl Fn(f64) -> String, unit: &str) -> Cell {
    let Some(Spread { median, min, max, runs }) = spread else { return NONE.into() };
    let small = (runs > 1).then(|| format!("{}..{}", show(min), show(max)));
    Cell { text: show(median) + unit, small, mark: Mark::Plain }
}

fn ratio(ratio: Option<Spread>) -> Cell {
    let show = |times| format::number(times, if times < 9.995 { 2 } else { 1 });
    spread(ratio, show, "x")
}

fn time(figures: Figures<'_>, at: At<'_>, variant: &str) -> Cell {
    let time = figures.time(at, variant);
    time.map_or(NONE.into(), |time| format::nanoseconds(time.median).into())
}

/// The time of each variant, and how it compares.
fn times(figures: Figures<'_>, threads: u32) -> (String, Table) {
    let mut heads = vec!["operation".to_owned(), "batch".to_owned()];
    heads.extend(figures.variants().map(str::to_owned));
    heads.extend(figures.faster().map(|variant| format!("{SCALAR} ÷ {variant}")));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let mut rows = figures.rows(GOOD);
    rows.retain(|at| at.threads == threads);
    for (row, at) in rows.iter().copied().enumerate() {
        let mut cells = vec![label(figures, &rows, row), format::count(at.batch).into()];
        cells.extend(figures.variants().map(|variant| time(figures, at, variant)));
        cells.extend(
            figures
                .faster()
                .map(|variant| ratio(figures.times_scalar(at, variant)).marked(Mark::Strong)),
        );
        table.rows.push(cells);
    }
    table.notes = figures.notes(&rows);
    let title = match threads {
        1 => "One thread: time of one signature".to_owned(),
        more => format!("{more} threads at once: time of one signature on each core"),
    };
    (title, table)
}

/// Signatures in a second with several threads, and how much that is against one.
fn rates(figures: Figures<'_>, threads: u32) -> (String, Table) {
    let mut heads = vec!["operation".to_owned(), "batch".to_owned()];
    for variant in figures.variants() {
        heads.extend([format!("{variant} /s"), "÷ 1 thread".to_owned()]);
    }
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let mut rows = figures.rows(GOOD);
    rows.retain(|at| at.threads == threads);
    for (row, at) in rows.iter().copied().enumerate() {
        let mut cells = vec![label(figures, &rows, row), format::count(at.batch).into()];
        for variant in figures.variants() {
            let rate = figures.rate(at, variant);
            let rate = rate.map_or(NONE.into(), |rate| format::rate(rate.median).into());
            cells.extend([rate, ratio(figures.scaling(at, variant))]);
        }
        table.rows.push(cells);
    }
    (format!("{threads} threads at once: signatures in a second, all together"), table)
}

/// How many of the signatures no lane can decide.
fn how_many(at: At<'_>) -> &'static str {
    if at.input == UNDECIDED { "all" } else { "half" }
}

/// Rows of signatures that no lane can decide, by operation.
fn undecided_rows<'a>(figures: Figures<'a>, is_shown: fn(u64) -> bool) -> Vec<At<'a>> {
    let (all, half) = (figures.rows(UNDECIDED), figures.rows(HALF_UNDECIDED));
    let of = |name: &str| {
        let both = all.iter().chain(&half).copied();
        both.filter(|at| at.operation == name && is_shown(at.batch)).collect::<Vec<_>>()
    };
    figures.0.operations.iter().flat_map(|entry| of(&entry.name)).collect()
}

/// What signatures cost that no lane can decide.
fn undecided(figures: Figures<'_>) -> (String, Table) {
    let mut heads = vec!["operation".to_owned(), "undecided".to_owned(), "batch".to_owned()];
    heads.extend(figures.variants().map(str::to_owned));
    heads.extend(figures.faster().map(|variant| format!("{variant}: more")));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    table.left = vec![1];
    let rows = undecided_rows(figures, |batch| batch > FEW);
    for (row, at) in rows.iter().copied().enumerate() {
        let mut cells = vec![label(figures, &rows, row), how_many(at).into()];
        cells.push(format::count(at.batch).into());
        cells.extend(figures.variants().map(|variant| time(figures, at, variant)));
        let more = |variant| {
            let percent = |share| format!("{:+.0}", share * 100.0);
            spread(figures.more(at, variant), percent, " %").marked(Mark::Strong)
        };
        cells.extend(figures.faster().map(more));
        table.rows.push(cells);
    }
    table.notes = figures.notes(&rows);
    table.notes.extend([
        "One thread. What no lane can decide the scalar library does, after the lanes in vain."
            .into(),
        format!("half: good signatures and others in turn; more: than {SCALAR} for the same ones."),
    ]);
    ("Signatures that no lane can decide".to_owned(), table)
}

/// The same for batches that fill vectors in part, of one variant and one input.
fn few_undecided(figures: Figures<'_>, variant: &str, input: &str) -> (String, Table) {
    let mut rows = undecided_rows(figures, |batch| batch <= FEW);
    rows.retain(|at| at.input == input);
    let mut batches: Vec<u64> = rows.iter().map(|at| at.batch).collect();
    batches.sort_unstable();
    batches.dedup();
    rows.dedup_by(|a, b| a.operation == b.operation);
    let mut heads = vec!["operation".to_owned()];
    heads.extend(batches.iter().map(u64::to_string));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for at in rows {
        let mut cells = vec![figures.label(at.operation).into()];
        cells.extend(batches.iter().map(|batch| {
            let more = figures.more(At { batch: *batch, ..at }, variant);
            more.map_or(NONE.into(), |more| format!("{:.0}", more.median * 100.0).into())
        }));
        table.rows.push(cells);
    }
    table.notes =
        vec!["Batches of so many signatures, one thread; median of the rounds.".to_owned()];
    let half = if input == UNDECIDED { "" } else { ", half of them good" };
    let title = "Few signatures that no lane can decide";
    (format!("{title}{half}: percent more than {SCALAR}, {variant}"), table)
}

#[cfg(test)]
mod tests;
