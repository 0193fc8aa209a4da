//! What a contest says, in one table whatever was measured: who took how much, how many times
//! better than the one that it is compared with, and how sure that is.

mod headline;
mod notes;

use crate::comparison::{Comparison, Outcome};
use crate::fact::{Unit, words};
use crate::format::{self, NONE};
use crate::table::{Cell, Mark, Table};
use crate::terminal::Colour;
pub(crate) use headline::{Headline, headline};
use lab::contest::{AGAIN, BASELINE, CPU_S};
use lab::findings::Contest;
pub(crate) use notes::{notes, reference};
use pipeline::record::PEAK_RSS_BYTES;

/// The headline of a contest, its tables and notes, for a terminal.
pub fn contest_table(contest: &Contest, colour: Colour) -> String {
    text(contest, &|table| table.terminal(colour))
}

/// The same as markdown.
pub fn contest_markdown(contest: &Contest) -> String {
    text(contest, &Table::markdown)
}

fn text(contest: &Contest, show: &dyn Fn(&Table) -> String) -> String {
    let Headline { text, sure, .. } = headline(contest);
    let mut all = format!("{}. {sure}\n\n", format::printable(&text));
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

/// All contestants but the baseline's repetition, in the order in which they are read.
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
            let mut all = vec![block(Some("Turned back, from the default"), from(BASELINE))];
            if let Some(plainest) = plainest(contest) {
                all.push(block(Some("Turned on, from the plainest"), from(plainest)));
            }
            all
        }
        _ => {
            let mut lines = from(BASELINE);
            let value = |line: &Line| swept(contest, line.at).and_then(|v| v.parse().ok());
            lines.sort_by(|a, b| value(a).unwrap_or(0.0f64).total_cmp(&value(b).unwrap_or(0.0)));
            vec![block(None, lines)]
        }
    }
}

/// A contestant beside the one that it is compared with; of peers, us beside them.
fn against(contest: &Contest, at: usize) -> Line {
    let other = contest.contestants[at].against;
    let turned = contest.contestants[at].peer.is_some();
    let compared = if turned { (other, at) } else { (at, other) };
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

/// What a contestant is called; of a sweep by its value.
pub(crate) fn name(contest: &Contest, at: usize) -> String {
    let value = swept(contest, at).map(|value| match value.parse() {
        Ok(number) => format::count(number),
        Err(_) => value.to_owned(),
    });
    let label = || contest.contestants.get(at).map_or("", |one| &one.label).to_owned();
    value.unwrap_or_else(label)
}

/// The median of a fact; 0 where the runs say so, and none where they say nothing.
pub(crate) fn median(contest: &Contest, at: usize, figure: &str) -> Option<f64> {
    let told = || contest.typical(at)?.facts.get(figure);
    contest.median(at, figure).or_else(told)
}

fn table(contest: &Contest, lines: &[Line]) -> Table {
    let figure = contest.figure();
    let is_ladder = contest.shape == "ladder";
    let mut further: Vec<&str> = contest.compare.iter().skip(1).map(String::as_str).collect();
    for more in [CPU_S, PEAK_RSS_BYTES] {
        let told = lines.iter().any(|line| median(contest, line.at, more).is_some_and(|v| v > 0.0));
        if told && more != figure && !further.contains(&more) {
            further.push(more);
        }
    }
    let (who, compared) = heads(contest);
    let mut table = Table::new(&[&who, &words(figure), compared, "verdict"]);
    if is_ladder {
        table.heads.insert(3, "against the first".to_owned());
    }
    table.heads.extend(further.iter().map(|name| words(name)));
    table.heads.push("runs".to_owned());
    table.left = vec![table.heads.iter().position(|head| head == "verdict").unwrap_or(0)];
    let first = lines.first().map(|line| line.at);
    for line in lines {
        let found = line.compared.and_then(|(a, b)| Comparison::of(contest, a, b, figure));
        let mark = if line.at == BASELINE { Mark::Strong } else { Mark::Plain };
        let mut row = vec![Cell::from(name(contest, line.at)).marked(mark)];
        row.push(amount(contest, line.at, figure));
        row.push(found.map_or(NONE.into(), |found| times_cell(&found)));
        if is_ladder {
            let since = first.filter(|first| *first != line.at);
            let since = since.and_then(|first| Comparison::of(contest, line.at, first, figure));
            row.push(since.map_or(NONE.into(), |found| times_cell(&found)));
        }
        row.push(found.map_or(NONE.into(), |found| verdict_cell(&found)));
        row.extend(further.iter().map(|name| further_cell(contest, line, name)));
        let runs = contest.records(line.at).len();
        row.push(Cell::from(format::count(runs as u64)).sorted(runs as f64));
        table.rows.push(row);
    }
    table
}

/// What the first column holds, and what the comparisons are with.
fn heads(contest: &Contest) -> (String, &'static str) {
    match contest.shape.as_str() {
        "ladder" => ("rung".into(), "against the one before"),
        "ablation" => ("option".into(), "against the first line"),
        "peers" => ("program".into(), "we are"),
        "revisions" => ("revision".into(), "against the first"),
        shape => match shape.strip_prefix("sweep ") {
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
