//! All comparisons of a session on one screen.

use crate::findings::Comparison;
use crate::report::chart;
use crate::report::comparison::comparison_table;
use crate::report::comparison::{Headline, headline};
use crate::report::gain::Gain;
use crate::session::Session;
use blockmill_pipeline::machine::Machine;
use blockmill_report::Chart;
use blockmill_report::Colour;
use blockmill_report::format::{self, NONE, percent_of_noise, times};
use blockmill_report::table::{Cell, Mark, Table};

/// One line for each comparison, and every comparison below them, for a terminal.
#[must_use]
pub fn session_table(session: &Session, colour: Colour) -> String {
    let comparisons = session.comparisons.iter();
    let tables =
        comparisons.map(|comparison| format!("\n{}", comparison_table(comparison, colour)));
    let left_out = session.left_out.iter().map(|why| format!("left out: {why}\n"));
    let failed = session.failed.iter().map(|error| format!("failed: {error}\n"));
    let all = tables.chain(left_out).chain(failed).collect::<String>();
    table(&session.comparisons).terminal(colour) + &all
}

/// One line for each comparison, as markdown.
pub(crate) fn overview_markdown(session: &Session) -> String {
    table(&session.comparisons).markdown()
}

pub(crate) fn table(comparisons: &[Comparison]) -> Table {
    let mut table =
        Table::new(&["comparison", "result", "times", "95 % interval", "pairs", "noise"]);
    table.left = vec![1];
    for comparison in comparisons {
        let Headline { text, found, .. } = headline(comparison);
        let of = |show: &dyn Fn(&Gain) -> String| found.map_or(NONE.into(), |found| show(&found));
        let noise = comparison.noise(comparison.figure());
        table.rows.push(vec![
            Cell::from(name(comparison)),
            Cell::from(text).marked(Mark::Strong),
            Cell { sort: found.map(|found| found.gain), ..of(&ratio).into() },
            of(&|found| interval(found)).into(),
            of(&|found| format::count(found.pairs as u64)).into(),
            Cell::from(percent_of_noise(noise)).sorted(noise.min(1e9)),
        ]);
    }
    table
}

/// The ratio of a gain that has an interval.
fn ratio(found: &Gain) -> String {
    found.ends().map_or(NONE.to_owned(), |_| times(found.gain))
}

/// The interval of a gain as it is, also where it is below 1.
fn interval(found: &Gain) -> String {
    found.ends().map_or(NONE.to_owned(), |(low, high)| format!("{}..{}", times(low), times(high)))
}

/// What a comparison is called on a page.
pub(crate) fn name(comparison: &Comparison) -> String {
    let parts = [workload(comparison), comparison.experiment.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// What a comparison measures: its title and its case.
pub(crate) fn workload(comparison: &Comparison) -> String {
    let Comparison { title, definition, case, .. } = comparison;
    let title = if title.is_empty() { definition } else { title };
    let parts = [title.as_str(), case.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The main result of each comparison, drawn; none when nothing is compared.
pub(crate) fn all_results(comparisons: &[Comparison]) -> Option<Chart> {
    let row = |comparison: &Comparison| {
        let found = headline(comparison).found?;
        let parts = [
            comparison.definition.as_str(),
            comparison.case.as_str(),
            comparison.experiment.as_str(),
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Some((parts.join(" · "), found))
    };
    chart::overview(comparisons.iter().filter_map(row).collect())
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
pub(crate) fn program(session: &Session) -> String {
    let program = &session.program;
    let revision: String = program.revision.chars().take(10).collect();
    let mut parts = vec![format!("{} {}", program.name, program.version), revision];
    if !program.profile.is_empty() {
        parts.push(format!("profile {}", program.profile));
    }
    parts.extend(format::date(session.started_unix));
    if session.took_s > 0.0 {
        parts.push(format!("took {}", format::duration(session.took_s)));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join(", ")
}
