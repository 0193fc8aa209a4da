//! Benches as markdown: one page of claims, each with its ratio and interval, the machine and the
//! command that repeats it.

use crate::comparison::BASELINE;
use crate::findings::Comparison;
use crate::report::chart::findings;
use crate::report::comparison::{Headline, blocks, caution, headline, notes, reference};
use crate::report::fact::words;
use crate::report::history;
use crate::report::overview::{all_results, machine, name, overview_markdown, program};
use crate::session::Session;
use blockmill_report::Chart;
use blockmill_report::executed;
use blockmill_report::runs::shell;
use blockmill_report::table::markdown_escape as escape;

/// How such a page is to be read.
const HOW_TO_READ: &str = "\
Every figure on this page was drawn from the record of the command above it, and the same command \
measures it again. The variants of a comparison ran alternately in one session, each run in a \
process of its own, and had to produce identical results. A ratio is the median over pairs of \
adjacent runs; brackets show its 95 % confidence interval. The program also ran against itself: \
differences below this noise floor are not reported.\n";

/// Benches as one page, with its charts in the folder `charts` next to it.
pub fn page_markdown(sessions: &[Session], charts: &str) -> String {
    let mut page = format!("# Benchmarks\n\n{HOW_TO_READ}");
    let history = history::charts(sessions);
    if !history.is_empty() {
        page += &format!("\n## History\n\n{}\n\n", escape(history::CAUTION));
        let link = |(name, chart): &(String, Chart)| link(charts, name, chart);
        page += history.iter().map(link).collect::<String>().trim_end_matches('\n');
        page.push('\n');
    }
    for (at, session) in sessions.iter().enumerate() {
        page += &format!("\n## {}\n\n", escape(&machine(&session.machine)));
        page += &text(session, "###", Some(Charts { folder: charts, at }));
    }
    page
}

/// The charts of such a page, each with the name of its file.
pub fn page_charts(sessions: &[Session]) -> Vec<(String, Chart)> {
    let named = |(at, session): (usize, &Session)| {
        let all = all_results(&session.comparisons).map(|chart| (ALL.to_owned(), chart));
        let each = session.comparisons.iter().flat_map(shown);
        let charts: Vec<_> = all.into_iter().chain(each).collect();
        charts.into_iter().map(move |(name, chart)| (file(at, &name), chart))
    };
    let each = sessions.iter().enumerate().flat_map(named);
    history::charts(sessions).into_iter().chain(each).collect()
}

/// The name of the chart of all results.
const ALL: &str = "all-results";

/// Where the charts of a session are, and which of the page it is.
#[derive(Clone, Copy)]
struct Charts<'a> {
    folder: &'a str,
    at: usize,
}

impl Charts<'_> {
    fn link(self, name: &str, chart: &Chart) -> String {
        link(self.folder, &file(self.at, name), chart)
    }
}

/// A chart of a page.
fn link(folder: &str, name: &str, chart: &Chart) -> String {
    format!("![{}]({folder}/{name}.svg)\n\n", escape(chart.title()))
}

/// The name of a chart's file, without its ending.
fn file(at: usize, name: &str) -> String {
    if at == 0 { name.to_owned() } else { format!("{}-{name}", at + 1) }
}

/// The charts that a page has of a comparison: what was found, and how it grows. Kernels that were
/// measured in many cases are in the chart of all results alone.
fn shown(comparison: &Comparison) -> Vec<(String, Chart)> {
    if comparison.case.is_empty() { findings(comparison) } else { vec![] }
}

/// A session as markdown.
pub fn session_markdown(session: &Session) -> String {
    text(session, "##", None)
}

fn text(session: &Session, heading: &str, charts: Option<Charts<'_>>) -> String {
    let mut page = format!(
        "Measured by {} on {}",
        escape(&program(session)),
        escape(&machine(&session.machine))
    );
    page += &format!(", with {}.\n\n", command(session));
    let all = charts.zip(all_results(&session.comparisons));
    page += &all.map_or(String::new(), |(charts, chart)| charts.link(ALL, &chart));
    page += &overview_markdown(session);
    if !session.left_out.is_empty() {
        page += "\nLeft out:\n\n";
    }
    for why in &session.left_out {
        page += &format!("- {}\n", escape(why));
    }
    for error in &session.failed {
        page += &format!("\n**Failed:** {}\n", escape(error));
    }
    for comparison in &session.comparisons {
        page += &format!("\n{heading} {}\n\n", escape(&name(comparison)));
        page += &section(comparison, charts);
    }
    page
}

/// The command line of a session, as code.
pub(crate) fn command(session: &Session) -> String {
    format!("`{}`", shell(&session.command).replace('`', "'"))
}

/// Times of blocks in our typical run; empty if no blocks were executed.
fn executed_blocks(comparison: &Comparison) -> String {
    let ours = comparison.typical(BASELINE).filter(|_| comparison.experiment == "peers");
    let Some((ours, table)) = ours.and_then(|ours| Some((ours, executed::table(ours)?))) else {
        return String::new();
    };
    let mut page = format!("Blocks in a typical run of {}:\n\n", escape(&ours.label));
    page += &table.markdown();
    page.push('\n');
    for (name, value) in executed::facts(ours) {
        page += &format!("- {}: {}\n", escape(name), escape(&value));
    }
    page
}

fn section(comparison: &Comparison, charts: Option<Charts<'_>>) -> String {
    let Headline { text, sure, .. } = headline(comparison);
    let mut page = format!("{}\n\n**{}.** {sure}", escape(&comparison.about), escape(&text));
    page += &caution(comparison).map_or(String::new(), |caution| format!(" {caution}"));
    page += "\n\n";
    if let Some(charts) = charts {
        let links = shown(comparison).into_iter().map(|(name, chart)| charts.link(&name, &chart));
        page += &links.collect::<String>();
    }
    page += &format!("Compared: {}.\n\n", escape(&words(comparison.figure())));
    for block in blocks(comparison) {
        page += &block.heading.map_or(String::new(), |heading| format!("{heading}:\n\n"));
        page += &block.table.markdown();
        page.push('\n');
    }
    page += &executed_blocks(comparison);
    for note in notes(comparison) {
        page += &format!("- {}\n", escape(&note));
    }
    for (question, answer) in reference(comparison) {
        page += &format!("- {question}: {}\n", escape(&answer));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn next_to_peers_the_page_has_percentiles_of_blocks() {
        for (experiment, count) in [("peers", 1), ("ladder", 0)] {
            let mut comparison =
                sample::comparison(experiment, &[("blockmill", 2.0), ("geth", 9.0)]);
            for run in &mut comparison.runs {
                if run.variant == BASELINE {
                    run.record = sample::executed("blockmill");
                }
            }
            let page = section(&comparison, None);
            let head = "Blocks in a typical run of blockmill:\n";
            let percentiles = "- block times: p50 2.00 ms, p95 6.00 ms, p99 12 ms, max 12 ms";
            let columns = "| phase | p50 | p95 | p99 | max | of the time |";
            for text in [head, percentiles, columns, "- slowest: 7, 12 ms"] {
                assert_eq!(page.matches(text).count(), count, "{experiment}: {text}\n{page}");
            }
        }
        let page =
            section(&sample::comparison("peers", &[("blockmill", 2.0), ("geth", 9.0)]), None);
        assert!(!page.contains("Blocks in a typical run"), "headers are not executed");
    }
}
