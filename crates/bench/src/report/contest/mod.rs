//! What a contest says, in one table whatever was measured: who took how much, how many times
//! better than the one that it is compared with, and how sure that is.

mod headline;
mod notes;
mod operations;

use crate::contest::{AGAIN, BASELINE, CPU_S};
use crate::findings::Contest;
use crate::report::comparison::{Comparison, Outcome};
use crate::report::fact::{Unit, words};
use blockmill_pipeline::record::{PEAK_RSS_BYTES, RunRecord};
use blockmill_report::Colour;
use blockmill_report::format::{self, NONE};
use blockmill_report::table::{Cell, Mark, Table};
pub(crate) use headline::{Headline, headline};
pub(crate) use notes::{caution, notes, reference};
pub(crate) use operations::{operation_table, operations};

/// The headline of a contest, its tables and notes, for a terminal.
pub(crate) fn contest_table(contest: &Contest, colour: Colour) -> String {
    text(contest, &|table| table.terminal(colour))
}

/// The same as markdown.
#[cfg(test)]
fn contest_markdown(contest: &Contest) -> String {
    text(contest, &Table::markdown)
}

fn text(contest: &Contest, show: &dyn Fn(&Table) -> String) -> String {
    let Headline { text, sure, .. } = headline(contest);
    let mut all = format!("{}. {sure}\n", format::printable(&text));
    all += &caution(contest).map_or(String::new(), |caution| format!("{caution}\n"));
    all.push('\n');
    let mut blocks = blocks(contest);
    if let Some(last) = blocks.last_mut() {
        last.table.notes = notes(contest);
    }
    for block in &blocks {
        if let Some(heading) = block.heading {
            all += &format!("{heading}:\n\n");
        }
        all += &show(&block.table);
        all.push('\n');
    }
    if let Some(table) = operation_table(contest) {
        all += &format!("The slowest for their gas first:\n\n{}\n", show(&table));
    }
    all
}

/// A line of a table or a chart: a contestant, and the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub at: usize,
    pub compared: Option<(usize, usize)>,
}

/// Contestants that are shown together.
pub(crate) struct Block {
    pub heading: Option<&'static str>,
    pub lines: Vec<Line>,
    pub table: Table,
}

/// All contestants but the baseline's repetition, in the order in which they are read: of an
/// ablation, what makes the largest difference first.
pub(crate) fn blocks(contest: &Contest) -> Vec<Block> {
    let block = |heading, lines: Vec<Line>| {
        let table = table(contest, &lines);
        Block { heading, lines, table }
    };
    let from = |base: usize| -> Vec<Line> {
        let all = contest.contestants.iter().enumerate();
        let rest = all.filter(|(at, one)| *at > AGAIN && one.against == base && *at != base);
        let first = Line { at: base, compared: None };
        [first].into_iter().chain(rest.map(|(at, _)| against(contest, at))).collect()
    };
    match contest.shape.as_str() {
        "ladder" => vec![block(None, ladder(contest))],
        "ablation" => {
            let gain = |line: &Line| {
                let (one, other) = line.compared?;
                Some(Comparison::of(contest, one, other, contest.figure())?.gain.ln())
            };
            let size = |line: &Line| gain(line).map_or(f64::INFINITY, f64::abs);
            let sorted = |mut lines: Vec<Line>| {
                lines.sort_by(|a, b| size(b).total_cmp(&size(a)));
                lines
            };
            let back = sorted(from(BASELINE));
            let on = plainest(contest).map(|plainest| sorted(from(plainest)));
            let on = on.map(|lines| block(Some("Turned on, from the plainest"), lines));
            [block(Some("Turned back, from the default"), back)].into_iter().chain(on).collect()
        }
        _ => {
            let all = (0..contest.contestants.len()).filter(|at| *at != AGAIN);
            let mut lines: Vec<Line> = all.map(|at| against(contest, at)).collect();
            let value = |line: &Line| swept(contest, line.at).and_then(|v| v.parse().ok());
            lines.sort_by(|a, b| value(a).unwrap_or(0.0f64).total_cmp(&value(b).unwrap_or(0.0)));
            if !is_same_work(contest) {
                let ours = lines.iter_mut().filter(|line| !is_peer(contest, line.at));
                ours.for_each(|line| line.compared = None);
            }
            vec![block(None, lines)]
        }
    }
}

/// Do all do the same? Along a sweep over the size of the data nobody is faster than another.
fn is_same_work(contest: &Contest) -> bool {
    let first = contest.typical(BASELINE).map(RunRecord::answers).unwrap_or_default();
    let agrees = |at| {
        let found = contest.typical(at).map(RunRecord::answers).unwrap_or_default();
        found.iter().all(|(name, value)| first.get(name).is_none_or(|other| other == value))
    };
    (AGAIN..contest.contestants.len()).all(agrees)
}

pub(crate) fn is_peer(contest: &Contest, at: usize) -> bool {
    contest.contestants[at].peer.is_some()
}

/// A contestant beside the one that it is compared with; of peers, us beside them.
fn against(contest: &Contest, at: usize) -> Line {
    let other = contest.contestants[at].against;
    let compared = if is_peer(contest, at) { (other, at) } else { (at, other) };
    Line { at, compared: (at != other).then_some(compared) }
}

/// The rungs from the plainest on, and the default behind the last.
fn ladder(contest: &Contest) -> Vec<Line> {
    let rungs = AGAIN + 1..contest.contestants.len();
    let last = rungs.clone().last();
    let lines = rungs.map(|at| against(contest, at));
    let default = last.map(|last| (BASELINE, last));
    lines.chain([Line { at: BASELINE, compared: default }]).collect()
}

/// The contestant of an ablation in which every option is turned back.
pub(crate) fn plainest(contest: &Contest) -> Option<usize> {
    let base = contest.contestants.iter().map(|one| one.against).find(|base| *base > AGAIN);
    base.filter(|base| *base < contest.contestants.len())
}

/// The value that a contestant of a sweep has.
pub(crate) fn swept(contest: &Contest, at: usize) -> Option<&str> {
    let setting = contest.shape.strip_prefix("sweep ")?;
    let own = contest.contestants.get(at)?.settings.get(setting);
    own.or_else(|| contest.settings.get(setting)).map(String::as_str)
}

/// What a contestant is called; of a sweep by its value, a peer by its name, too.
pub(crate) fn name(contest: &Contest, at: usize) -> String {
    let Some(one) = contest.contestants.get(at) else { return String::new() };
    let Some(value) = swept(contest, at) else { return one.label.clone() };
    let value = value.parse().map_or_else(|_| value.to_owned(), format::count);
    one.peer.as_ref().map_or(value.clone(), |peer| format!("{peer}, {value}"))
}

/// The median of a fact; 0 where the runs say so, and none where they say nothing.
pub(crate) fn median(contest: &Contest, at: usize, figure: &str) -> Option<f64> {
    let told = || contest.typical(at)?.facts.get(figure);
    contest.median(at, figure).or_else(told)
}

fn table(contest: &Contest, lines: &[Line]) -> Table {
    let figure = contest.figure();
    let further = further(contest, lines);
    let (who, compared) = heads(contest);
    let first = lines.first().map(|line| line.at).filter(|_| contest.shape == "ladder");
    let compares = lines.iter().any(|line| line.compared.is_some());
    let grows = swept(contest, BASELINE).is_some() && !is_same_work(contest);
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
    table.heads.extend(further.iter().map(|name| words(name)));
    table.heads.push("runs".to_owned());
    let show = |found: Option<Comparison>, cell: fn(&Comparison) -> Cell| {
        found.as_ref().map_or(NONE.into(), cell)
    };
    for line in lines {
        let mark = if line.at == BASELINE { Mark::Strong } else { Mark::Plain };
        let mut row = vec![Cell::from(name(contest, line.at)).marked(mark)];
        row.push(amount(contest, line.at, figure));
        if compares {
            let found = line.compared.and_then(|(a, b)| Comparison::of(contest, a, b, figure));
            row.push(show(found, times_cell));
            if let Some(first) = first {
                let since = Comparison::of(contest, line.at, first, figure);
                row.push(show(since.filter(|_| first != line.at), times_cell));
            }
            row.push(show(found, verdict_cell));
        }
        if let Some(value) = swept(contest, line.at).filter(|_| grows) {
            row.push(for_one(contest, line.at, value));
        }
        row.extend(further.iter().map(|name| further_cell(contest, line, name)));
        let runs = contest.records(line.at).len();
        row.push(Cell::from(format::count(runs as u64)).sorted(runs as f64));
        table.rows.push(row);
    }
    table
}

/// The facts beside the one that leads: those that are compared, and what any run tells.
fn further<'a>(contest: &'a Contest, lines: &[Line]) -> Vec<&'a str> {
    let mut further: Vec<&str> = contest.compare.iter().skip(1).map(String::as_str).collect();
    for more in [CPU_S, PEAK_RSS_BYTES] {
        let told = lines.iter().any(|line| median(contest, line.at, more).is_some_and(|v| v > 0.0));
        if told && more != contest.figure() && !further.contains(&more) {
            further.push(more);
        }
    }
    further
}

/// The leading fact for one of what a sweep counts.
fn for_one(contest: &Contest, at: usize, value: &str) -> Cell {
    let figure = contest.figure();
    let number = value.parse::<f64>().ok().filter(|number| *number > 0.0);
    let each = number.and_then(|number| Some(median(contest, at, figure)? / number));
    let show = |value: f64| match Unit::of(figure) {
        Unit::Seconds => format::nanoseconds(value * 1e9),
        unit => unit.show(value),
    };
    each.map_or(NONE.into(), |each| Cell::from(show(each)).sorted(each))
}

/// What the first column holds, and what the comparisons are with.
fn heads(contest: &Contest) -> (String, &'static str) {
    match contest.shape.as_str() {
        "ladder" => ("rung".into(), "against the one before"),
        "ablation" => ("option".into(), "against the first line"),
        "peers" => ("program".into(), "we are"),
        "revisions" => ("revision".into(), "against the first"),
        shape => match shape.strip_prefix("sweep ") {
            Some(setting) if contest.programs().len() > 1 && !is_same_work(contest) => {
                (setting.to_owned(), "we are")
            }
            Some(setting) => (setting.to_owned(), "against the default"),
            None => ("program".into(), "against"),
        },
    }
}

fn amount(contest: &Contest, at: usize, figure: &str) -> Cell {
    median(contest, at, figure)
        .map_or(NONE.into(), |value| Cell::from(Unit::of(figure).show(value)).sorted(value))
}

fn times_cell(found: &Comparison) -> Cell {
    let cell = Cell::from(found.words()).sorted(found.gain);
    Cell { small: Some(found.sure()), ..cell }
}

fn verdict_cell(found: &Comparison) -> Cell {
    let mark = match found.outcome {
        Outcome::Better => Mark::Good,
        Outcome::Worse => Mark::Bad,
        Outcome::Same | Outcome::Unknown => Mark::Faint,
    };
    Cell::from(found.verdict()).marked(mark)
}

/// The median of a further fact, and what sets it off where something does.
fn further_cell(contest: &Contest, line: &Line, figure: &str) -> Cell {
    let cell = amount(contest, line.at, figure);
    let found = line.compared.and_then(|(a, b)| Comparison::of(contest, a, b, figure));
    let differs = |found: &Comparison| [Outcome::Better, Outcome::Worse].contains(&found.outcome);
    Cell { small: found.filter(differs).map(|found| found.words()), ..cell }
}

#[cfg(test)]
mod tests;
