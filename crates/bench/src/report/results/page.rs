//! A page of results as Markdown.

use super::condense::MOST_OPERATIONS;
use super::question::Question;
use super::select::{Headline, Shown};
use crate::report::chart;
use crate::report::comparison::{
    block_tables, blocks, caution, headline, notes, operation_table, operations, reference,
};
use crate::report::overview::{self, name};
use blockmill_report::Chart;
use blockmill_report::format::{counted, date};
use blockmill_report::table::{Cell, Mark, Table, markdown_escape as escape};
use std::collections::BTreeSet;

/// Where the index has its chart.
pub(super) const CHART: &str = "<!-- chart -->\n";

const HOW_TO_READ: &str = "\
These pages are generated from the records in `benchmarks/record`. The variants of a comparison \
ran alternately in one session, each run in its own process, and had to produce identical results. \
A ratio is the median over pairs of adjacent runs, with its 95 % confidence interval. The program \
also ran against itself: differences below this noise floor are not reported.\n";

/// The beginning of the index.
pub(super) fn index_head() -> String {
    format!(
        "# Results\n\n{HOW_TO_READ}\nWhat other commands measured is on \
         [a page of its own](other-commands.md).\n\n{CHART}"
    )
}

/// The rows of a page in the index.
pub(super) fn index_section(question: Question, all: &[Shown<'_>]) -> String {
    let (title, file) = (question.title(), question.file());
    let sentence = question.sentence();
    format!("\n## [{title}]({file}.md)\n\n{sentence}\n\n{}", table(all).markdown())
}

/// The results of the comparisons, one in a row.
fn table(all: &[Shown<'_>]) -> Table {
    let mut table = Table::new(&["comparison", "result", "ratio", "95 % interval", "machine"]);
    table.left = vec![1, 4];
    for one in all {
        let Some(Headline { text, figure, interval, .. }) = one.headline() else { continue };
        table.rows.push(vec![
            Cell::from(name(one.comparison)),
            Cell::from(text).marked(Mark::Strong),
            figure.into(),
            interval.into(),
            machine(one).into(),
        ]);
    }
    table
}

/// Processor and cores.
fn machine(one: &Shown<'_>) -> String {
    let machine = &one.session.machine;
    format!("{}, {}", machine.cpu, counted(machine.cores.into(), "core"))
}

/// A page; its charts have been drawn already.
pub(super) fn page(question: Question, all: &[Shown<'_>], charts: &[(String, Chart)]) -> String {
    let mut text = format!("# {}\n\n{}\n\n", question.title(), question.sentence());
    text += &table(all).markdown();
    text.push('\n');
    text += &links(charts);
    text += &all.iter().map(section).collect::<String>();
    let machines: BTreeSet<String> =
        all.iter().map(|one| overview::machine(&one.session.machine)).collect();
    text += "\n## Machines\n\n";
    text += &machines.iter().map(|name| format!("- {}\n", escape(name))).collect::<String>();
    text
}

fn section(one: &Shown<'_>) -> String {
    let comparison = one.comparison;
    let mut text =
        format!("\n## {}\n\n{}\n\n", escape(&name(comparison)), escape(&comparison.about));
    let result = one.headline().map_or(String::new(), |headline| headline.text);
    text += &format!("**{}.** {}", escape(&result), headline(comparison).sure);
    text += &caution(comparison).map_or(String::new(), |caution| format!(" {caution}"));
    text += "\n\n";
    for block in blocks(comparison) {
        text += &block.heading.map_or(String::new(), |heading| format!("{heading}:\n\n"));
        text += &block.table.markdown();
        text.push('\n');
    }
    for (heading, table) in block_tables(comparison) {
        text += &format!("{heading}:\n\n{}\n", table.markdown());
    }
    if operations(comparison).len() <= MOST_OPERATIONS
        && let Some(table) = operation_table(comparison)
    {
        text += &format!("The slowest for their gas first:\n\n{}\n", table.markdown());
    }
    let (program, when) = (&one.session.program, date(one.session.started_unix));
    let revision: String = program.revision.chars().take(10).collect();
    text += &format!(
        "- Measured {}on {} by revision {revision}.\n",
        when.map_or(String::new(), |when| format!("{when} ")),
        escape(&machine(one))
    );
    for note in notes(comparison).into_iter().filter(|note| !note.starts_with("Left out")) {
        text += &format!("- {}\n", escape(&note));
    }
    for (question, answer) in reference(comparison) {
        text += &format!("- {question}: {}\n", escape(&answer));
    }
    text
}

/// At most two charts: all results of the page, and the first ladder, growth or history.
pub(super) fn charts(question: Question, all: &[Shown<'_>]) -> Vec<(String, Chart)> {
    let file = question.file();
    let first = if all.len() > 1 { overview(all) } else { None };
    let ladder = all.iter().find(|one| one.comparison.experiment == "ladder");
    let detail = ladder.and_then(|one| chart::ratios(one.comparison).into_iter().next());
    let detail = detail.or_else(|| all.iter().find_map(|one| chart::growth(one.comparison)));
    let history = |one: &Shown<'_>| chart::history::of_revisions(one.comparison);
    let detail = detail.or_else(|| all.iter().find_map(history));
    let first = first.map(|chart| (file.to_owned(), chart));
    first.into_iter().chain(detail.map(|chart| (format!("{file}-detail"), chart))).collect()
}

/// The ratios of the comparisons on one scale.
pub(super) fn overview(all: &[Shown<'_>]) -> Option<Chart> {
    let row = |one: &Shown<'_>| Some((name(one.comparison), one.headline()?.gain?));
    chart::overview(all.iter().filter_map(row).collect())
}

/// Links to charts.
pub(super) fn links(charts: &[(String, Chart)]) -> String {
    let link =
        |(name, chart): &(String, Chart)| format!("![{}]({name}.svg)\n\n", escape(chart.title()));
    charts.iter().map(link).collect()
}
