//! All contests of a sitting on one screen, and the sitting as a page of markdown.

use crate::comparison::Comparison;
use crate::contest::contest_table;
use crate::contest::{Headline, blocks, caution, headline, notes, reference};
use crate::fact::words;
use crate::format::{self, NONE, percent_of_noise, times};
use crate::runs::shell;
use crate::table::{Cell, Mark, Table};
use crate::terminal::Colour;
use lab::findings::Contest;
use lab::sitting::Sitting;
use pipeline::machine::Machine;

/// One line for each contest, for a terminal.
pub fn overview_table(sitting: &Sitting, colour: Colour) -> String {
    table(&sitting.contests).terminal(colour)
}

/// The same with every contest below it.
pub fn sitting_table(sitting: &Sitting, colour: Colour) -> String {
    let contests = sitting.contests.iter();
    let tables = contests.map(|contest| format!("\n{}", contest_table(contest, colour)));
    let left_out = sitting.left_out.iter().map(|why| format!("left out: {why}\n"));
    let all = tables.chain(left_out).collect::<String>();
    overview_table(sitting, colour) + &all
}

/// The same as markdown.
pub fn overview_markdown(sitting: &Sitting) -> String {
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

/// The sitting as a page of markdown: each claim with its ratio and interval, the machine and the
/// commands that repeat it.
pub fn sitting_markdown(sitting: &Sitting) -> String {
    let escape = crate::table::markdown_escape;
    let mut page = format!(
        "Measured by {} on {}",
        escape(&program(sitting)),
        escape(&machine(&sitting.machine))
    );
    page += &format!(", with `{}`.\n\n", shell(&sitting.command).replace('`', "'"));
    page += &overview_markdown(sitting);
    if !sitting.left_out.is_empty() {
        page += "\nLeft out:\n\n";
    }
    for why in &sitting.left_out {
        page += &format!("- {}\n", escape(why));
    }
    for contest in &sitting.contests {
        let Headline { text, sure, .. } = headline(contest);
        page += &format!("\n## {}\n\n{}\n\n", escape(&name(contest)), escape(&contest.about));
        page += &format!("**{}.** {sure}", escape(&text));
        page += &caution(contest).map_or(String::new(), |caution| format!(" {caution}"));
        page += "\n\n";
        page += &format!("Compared: {}.\n\n", escape(&words(contest.figure())));
        for block in blocks(contest) {
            page += &block.heading.map_or(String::new(), |heading| format!("{heading}:\n\n"));
            page += &block.table.markdown();
            page.push('\n');
        }
        for note in notes(contest) {
            page += &format!("- {}\n", escape(&note));
        }
        for (question, answer) in reference(contest) {
            page += &format!("- {question}: {}\n", escape(&answer));
        }
    }
    page
}
