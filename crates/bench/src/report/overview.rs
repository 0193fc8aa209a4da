//! All contests of a sitting on one screen.

use crate::findings::Contest;
use crate::report::chart;
use crate::report::comparison::Comparison;
use crate::report::contest::contest_table;
use crate::report::contest::{Headline, headline};
use crate::sitting::Sitting;
use blockmill_pipeline::machine::Machine;
use blockmill_report::Chart;
use blockmill_report::Colour;
use blockmill_report::format::{self, NONE, percent_of_noise, times};
use blockmill_report::table::{Cell, Mark, Table};

/// One line for each contest, and every contest below them, for a terminal.
#[must_use]
pub fn sitting_table(sitting: &Sitting, colour: Colour) -> String {
    let contests = sitting.contests.iter();
    let tables = contests.map(|contest| format!("\n{}", contest_table(contest, colour)));
    let left_out = sitting.left_out.iter().map(|why| format!("left out: {why}\n"));
    let failed = sitting.failed.iter().map(|error| format!("failed: {error}\n"));
    let all = tables.chain(left_out).chain(failed).collect::<String>();
    table(&sitting.contests).terminal(colour) + &all
}

/// One line for each contest, as markdown.
pub(crate) fn overview_markdown(sitting: &Sitting) -> String {
    table(&sitting.contests).markdown()
}

pub(crate) fn table(contests: &[Contest]) -> Table {
    let mut table = Table::new(&["contest", "result", "times", "95 % interval", "pairs", "noise"]);
    table.left = vec![1];
    for contest in contests {
        let Headline { text, found, .. } = headline(contest);
        let of =
            |show: &dyn Fn(&Comparison) -> String| found.map_or(NONE.into(), |found| show(&found));
        let noise = contest.noise(contest.figure());
        table.rows.push(vec![
            Cell::from(name(contest)),
            Cell::from(text).marked(Mark::Strong),
            Cell { sort: found.map(|found| found.gain), ..of(&|found| times(found.gain)).into() },
            of(&|found| interval(found)).into(),
            of(&|found| format::count(found.pairs as u64)).into(),
            Cell::from(percent_of_noise(noise)).sorted(noise.min(1e9)),
        ]);
    }
    table
}

/// The interval of a gain as it is, also where it is below 1.
fn interval(found: &Comparison) -> String {
    match found.interval() {
        Some(_) => format!("{}..{}", times(found.low), times(found.high)),
        None => NONE.to_owned(),
    }
}

/// What a contest is called on a page.
pub(crate) fn name(contest: &Contest) -> String {
    let title = if contest.title.is_empty() { &contest.definition } else { &contest.title };
    let parts = [title.as_str(), contest.case.as_str(), contest.shape.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The main comparison of each contest, drawn; none when nothing is compared.
pub(crate) fn all_results(contests: &[Contest]) -> Option<Chart> {
    let row = |contest: &Contest| {
        let found = headline(contest).found?;
        let parts = [contest.definition.as_str(), contest.case.as_str(), contest.shape.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Some((parts.join(" · "), found))
    };
    chart::overview(contests.iter().filter_map(row).collect())
}

/// The machine in a line.
pub(crate) fn machine(machine: &Machine) -> String {
    let mut parts = vec![machine.cpu.clone(), format::counted(machine.cores.into(), "core")];
    if machine.memory_bytes > 0 {
        parts.push(format!("{} of memory", format::bytes(machine.memory_bytes)));
    }
    parts.push(machine.kernel.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// The program and when, in a line.
pub(crate) fn program(sitting: &Sitting) -> String {
    let program = &sitting.program;
    let revision: String = program.revision.chars().take(10).collect();
    let mut parts = vec![format!("{} {}", program.name, program.version), revision];
    parts.extend(format::date(sitting.started_unix));
    if sitting.took_s > 0.0 {
        parts.push(format!("took {}", format::duration(sitting.took_s)));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join(", ")
}
