//! Benches as markdown: one page of claims, each with its ratio and interval, the machine and the
//! command that repeats it.

use crate::contest::BASELINE;
use crate::findings::Contest;
use crate::report::chart::findings;
use crate::report::contest::{Headline, blocks, caution, headline, notes, reference};
use crate::report::fact::words;
use crate::report::overview::{all_results, machine, name, overview_markdown, program};
use crate::sitting::Sitting;
use blockmill_report::Chart;
use blockmill_report::executed;
use blockmill_report::runs::shell;
use blockmill_report::table::markdown_escape as escape;

/// How such a page is to be read.
const HOW_TO_READ: &str = "\
Every figure on this page was drawn from the record of the command that stands above it, and the \
same command measures it again. All contestants of a contest ran in one sitting and in turns, \
each run in a process of its own. A ratio is the median of pairs of runs that were next to each \
other in time; in brackets stands the interval that holds the true one in 19 of 20 cases. The \
program also ran against itself: differences smaller than it had from itself \
are called none.\n";

/// Benches as one page, whose charts lie in the folder `charts` beside it.
pub fn page_markdown(sittings: &[Sitting], charts: &str) -> String {
    let mut page = format!("# Benchmarks\n\n{HOW_TO_READ}");
    for (at, sitting) in sittings.iter().enumerate() {
        page += &format!("\n## {}\n\n", escape(&machine(&sitting.machine)));
        page += &text(sitting, "###", Some(Charts { folder: charts, at }));
    }
    page
}

/// The charts of such a page, each with the name of its file.
pub fn page_charts(sittings: &[Sitting]) -> Vec<(String, Chart)> {
    let named = |(at, sitting): (usize, &Sitting)| {
        let all = all_results(&sitting.contests).map(|chart| (ALL.to_owned(), chart));
        let each = sitting.contests.iter().flat_map(shown);
        let charts: Vec<_> = all.into_iter().chain(each).collect();
        charts.into_iter().map(move |(name, chart)| (file(at, &name), chart))
    };
    sittings.iter().enumerate().flat_map(named).collect()
}

/// The name of the chart of all results.
const ALL: &str = "all-results";

/// Where the charts of a sitting are, and which of the page it is.
#[derive(Clone, Copy)]
struct Charts<'a> {
    folder: &'a str,
    at: usize,
}

impl Charts<'_> {
    fn link(self, name: &str, chart: &Chart) -> String {
        format!("![{}]({}/{}.svg)\n\n", escape(chart.title()), self.folder, file(self.at, name))
    }
}

/// The name of a chart's file, without its ending.
fn file(at: usize, name: &str) -> String {
    if at == 0 { name.to_owned() } else { format!("{}-{name}", at + 1) }
}

/// The charts that a page has of a contest: what was found, and how it grows. Kernels that were
/// measured in many cases are in the chart of all results alone.
fn shown(contest: &Contest) -> Vec<(String, Chart)> {
    if contest.case.is_empty() { findings(contest) } else { vec![] }
}

/// A sitting as markdown.
pub fn sitting_markdown(sitting: &Sitting) -> String {
    text(sitting, "##", None)
}

fn text(sitting: &Sitting, heading: &str, charts: Option<Charts<'_>>) -> String {
    let mut page = format!(
        "Measured by {} on {}",
        escape(&program(sitting)),
        escape(&machine(&sitting.machine))
    );
    page += &format!(", with `{}`.\n\n", shell(&sitting.command).replace('`', "'"));
    let all = charts.zip(all_results(&sitting.contests));
    page += &all.map_or(String::new(), |(charts, chart)| charts.link(ALL, &chart));
    page += &overview_markdown(sitting);
    if !sitting.left_out.is_empty() {
        page += "\nLeft out:\n\n";
    }
    for why in &sitting.left_out {
        page += &format!("- {}\n", escape(why));
    }
    for error in &sitting.failed {
        page += &format!("\n**Failed:** {}\n", escape(error));
    }
    for contest in &sitting.contests {
        page += &format!("\n{heading} {}\n\n", escape(&name(contest)));
        page += &of(contest, charts);
    }
    page
}

/// What blocks took in the typical run of ours, beside those of others; nothing where none were
/// executed.
fn executed_blocks(contest: &Contest) -> String {
    let ours = contest.typical(BASELINE).filter(|_| contest.shape == "peers");
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

fn of(contest: &Contest, charts: Option<Charts<'_>>) -> String {
    let Headline { text, sure, .. } = headline(contest);
    let mut page = format!("{}\n\n**{}.** {sure}", escape(&contest.about), escape(&text));
    page += &caution(contest).map_or(String::new(), |caution| format!(" {caution}"));
    page += "\n\n";
    if let Some(charts) = charts {
        let links = shown(contest).into_iter().map(|(name, chart)| charts.link(&name, &chart));
        page += &links.collect::<String>();
    }
    page += &format!("Compared: {}.\n\n", escape(&words(contest.figure())));
    for block in blocks(contest) {
        page += &block.heading.map_or(String::new(), |heading| format!("{heading}:\n\n"));
        page += &block.table.markdown();
        page.push('\n');
    }
    page += &executed_blocks(contest);
    for note in notes(contest) {
        page += &format!("- {}\n", escape(&note));
    }
    for (question, answer) in reference(contest) {
        page += &format!("- {question}: {}\n", escape(&answer));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn beside_clients_the_page_tells_percentiles_of_blocks() {
        for (shape, told) in [("peers", 1), ("ladder", 0)] {
            let mut contest = sample::contest(shape, &[("blockmill", 2.0), ("geth", 9.0)]);
            for run in &mut contest.runs {
                if run.contestant == BASELINE {
                    run.record = sample::executed("blockmill");
                }
            }
            let page = of(&contest, None);
            let head = "Blocks in a typical run of blockmill:\n";
            let percentiles = "- block times: p50 2.00 ms, p95 6.00 ms, p99 12 ms, max 12 ms";
            let columns = "| phase | p50 | p95 | p99 | max | of the time |";
            for text in [head, percentiles, columns, "- slowest block: 7, 12 ms"] {
                assert_eq!(page.matches(text).count(), told, "{shape}: {text}\n{page}");
            }
        }
        let page = of(&sample::contest("peers", &[("blockmill", 2.0), ("geth", 9.0)]), None);
        assert!(!page.contains("Blocks in a typical run"), "headers are not executed");
    }
}
