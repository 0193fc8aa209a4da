//! What a comparison says, in one table whatever was measured: who took how much, how many times
//! better than the one that it is compared with, and how sure that is.

mod by_block;
mod headline;
mod notes;
mod operations;

use crate::comparison::{AGAIN, BASELINE, CPU_S};
use crate::findings::Comparison;
use crate::report::fact::{Unit, words};
use crate::report::gain::{Gain, Outcome};
use blockmill_pipeline::record::{PEAK_RSS_BYTES, RunRecord};
use blockmill_report::Colour;
use blockmill_report::format::{self, NONE};
use blockmill_report::table::{Cell, Mark, Table};
pub(crate) use by_block::{block_tables, percentile_table};
pub(crate) use headline::{Headline, headline};
use notes::published;
pub(crate) use notes::{caution, notes, reference};
pub(crate) use operations::{operation_table, operations};

/// The headline of a comparison, its tables and notes, for a terminal.
pub(crate) fn comparison_table(comparison: &Comparison, colour: Colour) -> String {
    text(comparison, &|table| table.terminal(colour))
}

/// The same as markdown.
#[cfg(test)]
fn comparison_markdown(comparison: &Comparison) -> String {
    text(comparison, &Table::markdown)
}

fn text(comparison: &Comparison, show: &dyn Fn(&Table) -> String) -> String {
    let Headline { text, sure, .. } = headline(comparison);
    let mut all = format!("{}. {sure}\n", format::printable(&text));
    all += &caution(comparison).map_or(String::new(), |caution| format!("{caution}\n"));
    all.push('\n');
    let mut blocks = blocks(comparison);
    if let Some(last) = blocks.last_mut() {
        last.table.notes = notes(comparison);
    }
    for block in &blocks {
        if let Some(heading) = block.heading {
            all += &format!("{heading}:\n\n");
        }
        all += &show(&block.table);
        all.push('\n');
    }
    for (question, answer) in reference(comparison) {
        all += &format!("{question}: {}\n", format::printable(&answer));
    }
    for (heading, table) in block_tables(comparison) {
        all += &format!("{heading}:\n\n{}\n", show(&table));
    }
    if let Some(table) = operation_table(comparison) {
        all += &format!("The slowest for their gas first:\n\n{}\n", show(&table));
    }
    all
}

/// A line of a table or a chart: a variant, and the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub at: usize,
    pub compared: Option<(usize, usize)>,
}

/// Variants that are shown together.
pub(crate) struct Block {
    pub heading: Option<&'static str>,
    pub lines: Vec<Line>,
    pub table: Table,
}

/// All variants but the baseline's repetition, in the order in which they are read: of an
/// ablation, what makes the largest difference first.
pub(crate) fn blocks(comparison: &Comparison) -> Vec<Block> {
    let block = |heading, lines: Vec<Line>| {
        let table = table(comparison, &lines);
        Block { heading, lines, table }
    };
    let from = |base: usize| -> Vec<Line> {
        let all = comparison.variants.iter().enumerate();
        let rest = all.filter(|(at, one)| *at > AGAIN && one.against == base && *at != base);
        let first = Line { at: base, compared: None };
        [first].into_iter().chain(rest.map(|(at, _)| against(comparison, at))).collect()
    };
    match comparison.experiment.as_str() {
        "ladder" => vec![block(None, ladder(comparison))],
        "ablation" => {
            let gain = |line: &Line| {
                let (one, other) = line.compared?;
                Some(Gain::of(comparison, one, other, comparison.figure())?.gain.ln())
            };
            let size = |line: &Line| gain(line).map_or(f64::INFINITY, f64::abs);
            let sorted = |mut lines: Vec<Line>| {
                lines.sort_by(|a, b| size(b).total_cmp(&size(a)));
                lines
            };
            let back = sorted(from(BASELINE));
            let on = plainest(comparison).map(|plainest| sorted(from(plainest)));
            let on = on.map(|lines| {
                block(Some("Set to the default, starting from the plainest options"), lines)
            });
            [block(Some("Changed, starting from the default"), back)]
                .into_iter()
                .chain(on)
                .collect()
        }
        _ => {
            let all = (0..comparison.variants.len()).filter(|at| *at != AGAIN);
            let mut lines: Vec<Line> = all.map(|at| against(comparison, at)).collect();
            let value = |line: &Line| swept(comparison, line.at).and_then(|v| v.parse().ok());
            lines.sort_by(|a, b| value(a).unwrap_or(0.0f64).total_cmp(&value(b).unwrap_or(0.0)));
            if !is_same_work(comparison) {
                let ours = lines.iter_mut().filter(|line| !is_peer(comparison, line.at));
                ours.for_each(|line| line.compared = None);
            }
            vec![block(None, lines)]
        }
    }
}

/// Do all do the same? Along a sweep over the size of the data nobody is faster than another.
fn is_same_work(comparison: &Comparison) -> bool {
    let first = comparison.typical(BASELINE).map(RunRecord::answers).unwrap_or_default();
    let agrees = |at| {
        let found = comparison.typical(at).map(RunRecord::answers).unwrap_or_default();
        found.iter().all(|(name, value)| first.get(name).is_none_or(|other| other == value))
    };
    (AGAIN..comparison.variants.len()).all(agrees)
}

pub(crate) fn is_peer(comparison: &Comparison, at: usize) -> bool {
    comparison.variants[at].peer.is_some()
}

/// A variant with the one that it is compared with; for a peer, our variant compared with it.
fn against(comparison: &Comparison, at: usize) -> Line {
    let other = comparison.variants[at].against;
    let compared = if is_peer(comparison, at) { (other, at) } else { (at, other) };
    Line { at, compared: (at != other).then_some(compared) }
}

/// The steps from the plainest on, then the default.
fn ladder(comparison: &Comparison) -> Vec<Line> {
    let steps = AGAIN + 1..comparison.variants.len();
    let last = steps.clone().last();
    let lines = steps.map(|at| against(comparison, at));
    let default = last.map(|last| (BASELINE, last));
    lines.chain([Line { at: BASELINE, compared: default }]).collect()
}

/// The variant of an ablation in which every option has its plainest value.
pub(crate) fn plainest(comparison: &Comparison) -> Option<usize> {
    let base = comparison.variants.iter().map(|one| one.against).find(|base| *base > AGAIN);
    base.filter(|base| *base < comparison.variants.len())
}

/// The value that a variant of a sweep has.
pub(crate) fn swept(comparison: &Comparison, at: usize) -> Option<&str> {
    let setting = comparison.experiment.strip_prefix("sweep ")?;
    let own = comparison.variants.get(at)?.settings.get(setting);
    own.or_else(|| comparison.settings.get(setting)).map(String::as_str)
}

/// What a variant is called; of a sweep by its value, a peer by its name, too.
pub(crate) fn name(comparison: &Comparison, at: usize) -> String {
    let Some(one) = comparison.variants.get(at) else { return String::new() };
    let Some(value) = swept(comparison, at) else { return one.label.clone() };
    let value = value.parse().map_or_else(|_| value.to_owned(), format::count);
    one.peer.as_ref().map_or(value.clone(), |peer| format!("{peer}, {value}"))
}

/// The median of a fact, which may be 0; `None` if the runs lack it.
pub(crate) fn median(comparison: &Comparison, at: usize, figure: &str) -> Option<f64> {
    let recorded = || comparison.typical(at)?.facts.get(figure);
    comparison.median(at, figure).or_else(recorded)
}

fn table(comparison: &Comparison, lines: &[Line]) -> Table {
    let figure = comparison.figure();
    let further = further(comparison, lines);
    let (who, compared) = heads(comparison);
    let first = lines.first().map(|line| line.at).filter(|_| comparison.experiment == "ladder");
    let compares = lines.iter().any(|line| line.compared.is_some());
    let grows = swept(comparison, BASELINE).is_some() && !is_same_work(comparison);
    let mut table = Table::new(&[&who, &words(figure)]);
    if compares {
        table.heads.push(compared.to_owned());
        table.heads.extend(first.map(|_| "against the first".to_owned()));
        table.left.push(table.heads.len());
        table.heads.push("verdict".to_owned());
    }
    if grows {
        table.heads.push("for one".to_owned());
    }
    let theirs = |line: &Line| published(comparison, &comparison.variants.get(line.at)?.label);
    let is_published = lines.iter().any(|line| theirs(line).is_some());
    if is_published {
        table.left.push(table.heads.len());
        table.heads.push("published".to_owned());
    }
    table.heads.extend(further.iter().map(|name| words(name)));
    table.heads.push("runs".to_owned());
    let show =
        |found: Option<Gain>, cell: fn(&Gain) -> Cell| found.as_ref().map_or(NONE.into(), cell);
    for line in lines {
        let mark = name_mark(comparison, line);
        let mut row = vec![Cell::from(name(comparison, line.at)).marked(mark)];
        row.push(amount(comparison, line.at, figure));
        if compares {
            let found = line.compared.and_then(|(a, b)| Gain::of(comparison, a, b, figure));
            row.push(show(found, times_cell));
            if let Some(first) = first {
                let since = Gain::of(comparison, line.at, first, figure);
                row.push(show(since.filter(|_| first != line.at), times_cell));
            }
            row.push(show(found, verdict_cell));
        }
        if let Some(value) = swept(comparison, line.at).filter(|_| grows) {
            row.push(for_one(comparison, line.at, value));
        }
        row.extend(is_published.then(|| Cell::from(theirs(line).unwrap_or(NONE))));
        row.extend(further.iter().map(|name| further_cell(comparison, line, name)));
        let runs = comparison.records(line.at).len();
        row.push(Cell::from(format::count(runs as u64)).sorted(runs as f64));
        table.rows.push(row);
    }
    table
}

/// The baseline is set off, and what makes no difference is grey.
fn name_mark(comparison: &Comparison, line: &Line) -> Mark {
    let found = line.compared.and_then(|(a, b)| Gain::of(comparison, a, b, comparison.figure()));
    match found.map(|found| found.outcome) {
        _ if line.at == BASELINE => Mark::Strong,
        Some(Outcome::Same | Outcome::Unknown) => Mark::Faint,
        _ => Mark::Plain,
    }
}

/// The facts after the leading one: the compared ones, then CPU time and memory if a run has them.
fn further<'a>(comparison: &'a Comparison, lines: &[Line]) -> Vec<&'a str> {
    let mut further: Vec<&str> = comparison.compare.iter().skip(1).map(String::as_str).collect();
    for more in [CPU_S, PEAK_RSS_BYTES] {
        let is_known =
            lines.iter().any(|line| median(comparison, line.at, more).is_some_and(|v| v > 0.0));
        if is_known && more != comparison.figure() && !further.contains(&more) {
            further.push(more);
        }
    }
    further
}

/// The leading fact for one of what a sweep counts.
fn for_one(comparison: &Comparison, at: usize, value: &str) -> Cell {
    let figure = comparison.figure();
    let number = value.parse::<f64>().ok().filter(|number| *number > 0.0);
    let each = number.and_then(|number| Some(median(comparison, at, figure)? / number));
    let show = |value: f64| match Unit::of(figure) {
        Unit::Seconds => format::nanoseconds(value * 1e9),
        unit => unit.show(value),
    };
    each.map_or(NONE.into(), |each| Cell::from(show(each)).sorted(each))
}

/// Headings of the first column and of the gains.
fn heads(comparison: &Comparison) -> (String, &'static str) {
    match comparison.experiment.as_str() {
        "ladder" => ("step".into(), "against the one before"),
        "ablation" => ("option".into(), "against the first line"),
        "peers" => ("program".into(), "we are"),
        "revisions" => ("revision".into(), "against the first"),
        experiment => match experiment.strip_prefix("sweep ") {
            Some(setting) if comparison.programs().len() > 1 && !is_same_work(comparison) => {
                (setting.to_owned(), "we are")
            }
            Some(setting) => (setting.to_owned(), "against the default"),
            None => ("program".into(), "against"),
        },
    }
}

fn amount(comparison: &Comparison, at: usize, figure: &str) -> Cell {
    median(comparison, at, figure)
        .map_or(NONE.into(), |value| Cell::from(Unit::of(figure).show(value)).sorted(value))
}

fn times_cell(found: &Gain) -> Cell {
    let cell = Cell::from(found.words()).sorted(found.gain);
    Cell { small: Some(found.sure()), ..cell }
}

pub(crate) fn verdict_cell(found: &Gain) -> Cell {
    let mark = match found.outcome {
        Outcome::Better => Mark::Good,
        Outcome::Worse => Mark::Bad,
        Outcome::Same | Outcome::Unknown => Mark::Faint,
    };
    Cell::from(found.verdict()).marked(mark)
}

/// The median of a further fact, and what sets it off where something does.
fn further_cell(comparison: &Comparison, line: &Line, figure: &str) -> Cell {
    let cell = amount(comparison, line.at, figure);
    let found = line.compared.and_then(|(a, b)| Gain::of(comparison, a, b, figure));
    let differs = |found: &Gain| [Outcome::Better, Outcome::Worse].contains(&found.outcome);
    Cell { small: found.filter(differs).map(|found| found.words()), ..cell }
}

#[cfg(test)]
mod tests;
