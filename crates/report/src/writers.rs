//! What operations cost that several programs do side by side, as RLP writers and stores do: for
//! each operation a table of times with their ratios, and one of the other costs.

use pipeline::writer_record::{WriterEngine, WriterLine, WriterRecord, WriterRun};

use crate::format::{self, NONE};
use crate::group::Spread;
use crate::table::{Cell, Mark, Table};
use crate::terminal::{Colour, STRONG};

/// The writer that the peers are compared with.
const OURS: &str = "blockmill";

/// The operations and what they are called, in the order of the tables.
const OPS: [(&str, &str); 11] = [
    ("encode", "Encode into a fresh buffer"),
    ("encode-reused", "Encode into memory that is kept"),
    ("hash", "Hash of the encoding"),
    ("hash-reused", "Hash of the encoding, with memory that is kept"),
    ("hash-each", "Hash of each object of a list"),
    ("fill", "A key put in, 100,000 a commit, in random order"),
    ("get", "A key read"),
    ("get-absent", "A key asked for that is not there"),
    ("get-many", "A key read, 1,000 at a time"),
    ("scan", "An entry of a scan of 100 neighbours"),
    ("update", "A key changed, 10,000 a commit"),
];

/// The tables for a terminal.
pub fn writers_table(record: &WriterRecord, colour: Colour) -> String {
    let head = |text: &str| format!("\n{}\n", colour.paint(STRONG, text));
    all(record, head, |table| table.terminal(colour))
}

/// The same as markdown.
pub fn writers_markdown(record: &WriterRecord) -> String {
    all(record, |text| format!("## {text}\n\n"), |table| table.markdown() + "\n")
}

fn all(
    record: &WriterRecord,
    head: impl Fn(&str) -> String,
    show: impl Fn(&Table) -> String,
) -> String {
    let figures = Figures(record);
    let mut text = String::new();
    for (op, name) in OPS {
        if figures.cases(op).is_empty() {
            continue;
        }
        text += &head(name);
        text += &show(&times(&figures, op));
        text += &head(&format!("{name}: what else it costs"));
        let is_store = figures.runs_of(op).any(|line| line.disk_bytes > 0);
        let costs = if is_store { store_costs } else { costs };
        text += &show(&costs(&figures, op));
    }
    text
}

/// A record, asked for what tables and charts show.
#[derive(Clone, Copy)]
pub(crate) struct Figures<'a>(pub &'a WriterRecord);

impl<'a> Figures<'a> {
    /// The cases of an operation, in the order in which they were measured.
    pub fn cases(self, op: &str) -> Vec<&'a str> {
        let mut cases: Vec<&str> = vec![];
        for line in self.runs_of(op) {
            if !cases.contains(&line.case.as_str()) {
                cases.push(&line.case);
            }
        }
        cases
    }

    /// What each process measured of an operation.
    fn runs_of(self, op: &str) -> impl Iterator<Item = &'a WriterLine> {
        self.0.runs.iter().map(|run| &run.line).filter(move |line| line.op == op)
    }

    /// The writers that did an operation, with their places among all of them.
    pub fn engines(self, op: &str) -> Vec<(usize, &'a WriterEngine)> {
        let did = |name: &str| self.runs_of(op).any(|line| line.engine == name);
        self.0.engines.iter().enumerate().filter(|(_, engine)| did(&engine.name)).collect()
    }

    /// The runs of one writer on one case.
    fn runs(self, op: &str, case: &str, engine: &str) -> impl Iterator<Item = &'a WriterRun> {
        self.0.runs.iter().filter(move |run| {
            let line = &run.line;
            line.op == op && line.case == case && line.engine == engine
        })
    }

    /// Median and range of a figure over the rounds.
    pub fn spread(
        self,
        (op, case, engine): (&str, &str, &str),
        figure: impl Fn(&WriterLine) -> f64,
    ) -> Option<Spread> {
        Spread::of(self.runs(op, case, engine).map(|run| figure(&run.line)))
    }

    /// How many times as long as ours the fastest writer of `client` takes, round by round: the
    /// processes of one round stand next to each other in time, so their ratio holds even when the
    /// machine's speed drifts.
    fn ratio(self, op: &str, case: &str, client: &str) -> Option<Spread> {
        let theirs = self.0.engines.iter().filter(|engine| engine.client == client);
        let theirs: Vec<&str> = theirs.map(|engine| engine.name.as_str()).collect();
        let in_round = |ours: &WriterRun| {
            let same_round = theirs.iter().flat_map(|engine| self.runs(op, case, engine));
            let times = same_round.filter(|run| run.round == ours.round);
            let best = times.map(|run| run.line.median_ns()).min_by(f64::total_cmp)?;
            let ours = ours.line.median_ns();
            (ours > 0.0).then(|| best / ours)
        };
        Spread::of(self.runs(op, case, OURS).filter_map(in_round))
    }

    /// The programs other than ours, in order.
    fn clients(self, op: &str) -> Vec<&'a str> {
        let mut clients: Vec<&str> = vec![];
        for (_, engine) in self.engines(op) {
            if engine.client != OURS && !clients.contains(&engine.client.as_str()) {
                clients.push(&engine.client);
            }
        }
        clients
    }

    /// The largest case of each kind: `block-1280` of all blocks.
    fn largest(self, op: &str) -> Vec<&'a str> {
        let cases = self.cases(op);
        let is_largest = |case: &&str| {
            let (kind, count) = kind_and_count(case);
            !cases.iter().map(|other| kind_and_count(other)).any(|(k, n)| k == kind && n > count)
        };
        cases.iter().copied().filter(is_largest).collect()
    }
}

/// Kind and number of objects of a case: `block` and 8 for `block-8`, `header` and 1 for `header`.
pub(crate) fn kind_and_count(case: &str) -> (&str, u64) {
    let split = case.split_once('-');
    let counted = split.and_then(|(kind, digits)| Some((kind, digits.parse().ok()?)));
    counted.unwrap_or((case, 1))
}

/// The median time of each writer for each case, and how they compare.
fn times(figures: &Figures<'_>, op: &str) -> Table {
    let (engines, clients) = (figures.engines(op), figures.clients(op));
    let mut heads = vec!["object".to_owned()];
    heads.extend(engines.iter().map(|(_, engine)| engine.label.clone()));
    heads.extend(clients.iter().map(|client| format!("{client} ÷ {OURS}")));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(&heads);
    for case in figures.cases(op) {
        let medians: Vec<Option<f64>> = engines
            .iter()
            .map(|(_, e)| Some(figures.spread((op, case, &e.name), WriterLine::median_ns)?.median))
            .collect();
        let best = medians.iter().flatten().copied().min_by(f64::total_cmp);
        let mut row = vec![Cell::from(case)];
        row.extend(medians.iter().map(|median| {
            let text = median.map_or_else(|| NONE.to_owned(), format::nanoseconds);
            let mark = if *median == best { Mark::Good } else { Mark::Plain };
            Cell::from(text).marked(mark)
        }));
        row.extend(clients.iter().map(|client| ratio(figures.ratio(op, case, client))));
        table.rows.push(row);
    }
    table.notes = notes(figures, op);
    table
}

fn ratio(spread: Option<Spread>) -> Cell {
    let Some(spread) = spread else { return NONE.into() };
    let range = || format!("{}..{}", format::figure(spread.min), format::figure(spread.max));
    let small = (spread.runs > 1).then(range);
    Cell { text: format::ratio(spread.median), small, mark: Mark::Strong }
}

fn notes(figures: &Figures<'_>, op: &str) -> Vec<String> {
    let rounds = figures.0.runs.iter().map(|run| run.round).max().unwrap_or(0);
    let mut notes = vec![format!(
        "Time of one operation: median of the samples of a process, and of {} of it.",
        match rounds {
            1 => "the one round".to_owned(),
            more => format!("the {more} rounds"),
        }
    )];
    if !figures.clients(op).is_empty() {
        notes.push(format!(
            "The ratios are those of the fastest build of a program to {OURS} in the same round: \
             median, smallest..largest."
        ));
    }
    notes.extend(figures.0.notes.iter().cloned());
    notes
}

/// What each writer takes beside time, for the largest case of each kind.
fn costs(figures: &Figures<'_>, op: &str) -> Table {
    let mut table = Table::new(&[
        "object",
        "writer",
        "bytes",
        "allocations",
        "allocated",
        "first: time",
        "first: page faults",
        "later: page faults",
        "peak memory",
    ]);
    table.left = vec![1];
    for case in figures.largest(op) {
        for (_, engine) in figures.engines(op) {
            let median = |figure: fn(&WriterLine) -> f64| {
                figures.spread((op, case, &engine.name), figure).map(|spread| spread.median)
            };
            let Some(bytes) = median(|line| line.bytes as f64) else { continue };
            let show = |value: Option<f64>, show: &dyn Fn(f64) -> String| {
                Cell::from(value.map_or_else(|| NONE.to_owned(), show))
            };
            table.rows.push(vec![
                Cell::from(case),
                Cell::from(engine.label.as_str()),
                Cell::from(format::count(bytes as u64)),
                show(median(|line| line.allocations), &format::average),
                show(median(|line| line.allocated_bytes), &|bytes| format::bytes(bytes as u64)),
                show(median(|line| line.first_ns as f64), &format::nanoseconds),
                show(median(|line| line.first_page_faults as f64), &format::average),
                show(median(|line| line.page_faults), &format::average),
                show(median(peak), &|bytes| format::bytes(bytes as u64)),
            ]);
        }
    }
    table.notes = vec![
        "One operation on average, the first one of the process apart. Heap allocations are \
         counted, page faults are those without a disk, peak memory is that of the whole process."
            .to_owned(),
    ];
    table
}

/// What each store takes beside time.
fn store_costs(figures: &Figures<'_>, op: &str) -> Table {
    let mut table = Table::new(&["database", "store", "peak memory", "on disk afterwards"]);
    table.left = vec![1];
    for case in figures.cases(op) {
        for (_, engine) in figures.engines(op) {
            let median =
                |figure: fn(&WriterLine) -> f64| {
                    let spread = figures.spread((op, case, &engine.name), figure);
                    Cell::from(spread.map_or_else(
                        || NONE.to_owned(),
                        |spread| format::bytes(spread.median as u64),
                    ))
                };
            table.rows.push(vec![
                Cell::from(case),
                Cell::from(engine.label.as_str()),
                median(peak),
                median(|line| line.disk_bytes as f64),
            ]);
        }
    }
    table.notes =
        vec!["Peak memory counts mapped files, which the system can take back.".to_owned()];
    table
}

fn peak(line: &WriterLine) -> f64 {
    line.peak_rss_kb as f64 * 1024.0
}

#[cfg(test)]
mod tests;
