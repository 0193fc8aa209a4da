//! The result of `--check` as a comment for a pull request, in Markdown.

use crate::comparison::{AGAIN, BASELINE};
use crate::findings::Comparison;
use crate::report::comparison::{caution, name, percentile_table, verdict_cell};
use crate::report::document::command;
use crate::report::fact::words;
use crate::report::gain::{Gain, Outcome};
use crate::report::overview::{machine, program, workload};
use crate::session::Session;
use blockmill_report::format::{count, counted, percent_of_noise};
use blockmill_report::table::{Cell, Table, markdown_escape as escape};

/// Marks the comment, so that a workflow can find and replace it.
const MARK: &str = "<!-- blockmill bench -->";

const HOW_TO_READ: &str = "\
The programs ran alternately in pairs and had to produce identical results. A ratio is the median \
over pairs, with its 95 % confidence interval. The base also ran against itself: differences below \
this noise floor are not reported.";

/// The comment about a session that compares this program with one revision.
#[must_use]
pub fn comment(session: &Session) -> String {
    let mut text = format!("{MARK}\n**{}.**\n\n", escape(&verdict(session)));
    if !session.comparisons.is_empty() {
        text += &format!("{}\n{HOW_TO_READ}\n\n", table(&session.comparisons).markdown());
    }
    for comparison in &session.comparisons {
        if let Some(table) = percentile_table(comparison) {
            let workload = escape(&workload(comparison));
            text += &format!("{workload}, block by block:\n\n{}\n", table.markdown());
        }
    }
    let lines = cautions(session).into_iter().chain([
        format!("Repeat: {}", command(session)),
        format!("Program: {}", escape(&program(session))),
        format!("Machine: {}", escape(&machine(&session.machine))),
    ]);
    text + &lines.map(|line| format!("- {line}\n")).collect::<String>()
}

/// The comparisons in which this program is slower than the revision, each with its ratio.
#[must_use]
pub fn slower(session: &Session) -> Vec<String> {
    let worse = |comparison: &Comparison| {
        let found = found(comparison, comparison.figure())?;
        let (ratio, interval) = found.precise();
        let interval = interval.filter(|_| found.outcome == Outcome::Worse)?;
        let what = words(comparison.figure());
        Some(format!("{}: {what} {ratio} ({interval})", comparison.name()))
    };
    session.comparisons.iter().filter_map(worse).collect()
}

/// This program, which is the last variant, compared with the base.
fn found(comparison: &Comparison, figure: &str) -> Option<Gain> {
    let last = comparison.variants.len().checked_sub(1).filter(|last| *last > AGAIN)?;
    Gain::of(comparison, last, BASELINE, figure)
}

/// The verdict over all comparisons: a sentence without its full stop.
fn verdict(session: &Session) -> String {
    let comparisons = &session.comparisons;
    let Some(first) = comparisons.first() else { return "Nothing was measured".to_owned() };
    let base = name(first, BASELINE);
    let outcome =
        |one: &Comparison| found(one, one.figure()).map_or(Outcome::Unknown, |found| found.outcome);
    let outcomes: Vec<Outcome> = comparisons.iter().map(outcome).collect();
    let count = |what| outcomes.iter().filter(|outcome| **outcome == what).count();
    let [worse, better, same, unknown] =
        [Outcome::Worse, Outcome::Better, Outcome::Same, Outcome::Unknown].map(count);
    let of_all = |some: usize| match comparisons.len() {
        1 => String::new(),
        all => format!(" in {some} of {all} comparisons"),
    };
    let mut text = match (worse, better, same) {
        (1.., 0, _) => format!("Slower than {base}{}", of_all(worse)),
        (1.., _, _) => format!("Slower than {base}{}, faster in {better}", of_all(worse)),
        (0, 1.., _) => format!("Faster than {base}{}", of_all(better)),
        (0, 0, 1..) => format!("No difference from {base} beyond the noise{}", of_all(same)),
        (0, 0, 0) => format!("Too few pairs to compare with {base}{}", of_all(unknown)),
    };
    if unknown > 0 && unknown < comparisons.len() {
        text += &format!("; too few pairs in {unknown}");
    }
    match session.failed.len() {
        0 => text,
        some => format!("{text}; {} failed", counted(some as u64, "comparison")),
    }
}

/// Every compared fact of every comparison.
fn table(comparisons: &[Comparison]) -> Table {
    let mut table = Table::new(&["workload", "fact", "ratio", "pairs", "noise floor", "verdict"]);
    table.left = vec![1, 5];
    for comparison in comparisons {
        for figure in &comparison.compare {
            let Some(found) = found(comparison, figure) else { continue };
            let (ratio, small) = found.precise();
            table.rows.push(vec![
                workload(comparison).into(),
                words(figure).into(),
                Cell { small, ..Cell::from(ratio) },
                count(found.pairs as u64).into(),
                percent_of_noise(found.noise).into(),
                verdict_cell(&found),
            ]);
        }
    }
    table
}

/// What a reader must know before relying on the ratios.
fn cautions(session: &Session) -> Vec<String> {
    let failed = session.failed.iter().map(|error| format!("**Failed:** {}", escape(error)));
    let left_out = session.left_out.iter().map(|why| format!("Left out: {}", escape(why)));
    let all = session.comparisons.iter().map(Comparison::disturbed);
    let (disturbed, runs) = all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let runs = counted(runs as u64, "run");
    let disturbed = format!("Disturbed by other processes: {} of {runs}.", count(disturbed as u64));
    let busy = session.comparisons.iter().filter_map(|comparison| {
        Some(format!("{}: {}", escape(&workload(comparison)), escape(&caution(comparison)?)))
    });
    failed.chain(left_out).chain([disturbed]).chain(busy).collect()
}

#[cfg(test)]
mod tests;
