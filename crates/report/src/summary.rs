//! The summary of a run for people: the verdict, the checks, and where the time went.

mod facts;
mod short;

use anstyle::Style;
use blockmill_pipeline::record::{CHECK_DECODE, LINK, READ, RunRecord};
use blockmill_verdict::Status;

use crate::block_files;
use crate::format::{self, printable};
use crate::stages::parts;
use crate::terminal::{BAD, CAUTION, Colour, FAINT, GOOD, STRONG, WARN, bar, wrap};

pub(crate) use facts::facts;
pub use short::{left_out, time as record_time};

/// Shortfalls that are shown.
const SHOWN: usize = 10;
/// Characters of the bar of a part of the time, on a terminal that is wide enough.
const BAR: usize = 30;
/// Columns of the names of rows.
const NAMES: usize = 13;
/// Columns of the names of stages, such as `execute-listed`.
const STAGES: usize = 15;
/// Columns next to which a hash is shown in short.
const WIDE: usize = 124;

/// How much of a summary is shown, and where.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Whether it may be coloured.
    pub colour: Colour,
    /// Columns of the terminal; `None` for lines of any length.
    pub width: Option<usize>,
    /// Also what was found and measured, how the work was done, and the phases.
    pub verbose: bool,
    /// Whether the run was to store blocks.
    pub stores: bool,
    /// The first line, where the run found no new block.
    pub nothing_new: Option<&'a str>,
    /// The command that a user may need next.
    pub next: Option<&'a str>,
}

impl View<'_> {
    /// A name and its value, in as many lines as it takes.
    fn row(&self, name: &str, value: &str, style: Style) -> String {
        let indent = " ".repeat(NAMES + 2);
        let width = self.width.map(|width| width - NAMES - 2);
        let value = wrap(&printable(value), width, "");
        let lines: Vec<String> = value.lines().map(|line| self.colour.paint(style, line)).collect();
        let name = self.colour.paint(FAINT, &format!("{name:<NAMES$}"));
        format!("  {name}{}\n", lines.join(&format!("\n{indent}")))
    }
}

/// The summary of one run for a terminal; ends with a line break.
#[must_use]
pub fn summary(record: &RunRecord, view: &View<'_>) -> String {
    let mut text = headline(record, view);
    let mut row = |name: &str, value: &str, style| text += &view.row(name, value, style);
    for (name, value) in short::facts(record, view) {
        row(name, &value, Style::new());
    }
    for unchecked in short::unchecked(record) {
        row("not checked", &unchecked, WARN);
    }
    let missing = &record.result.shortfalls;
    for shortfall in missing.iter().take(SHOWN) {
        row("missing", &shortfall.to_string(), WARN);
    }
    if missing.len() > SHOWN {
        let more = format::count((missing.len() - SHOWN) as u64);
        row("", &format!("and {more} more; --json lists all"), Style::new());
    }
    for note in &record.notes {
        row("note", note, WARN);
    }
    if let Some(time) = short::time(record) {
        row("time", &time, Style::new());
    }
    if view.verbose {
        for (name, value) in facts::details(record) {
            row(name, &value, Style::new());
        }
        for detail in &record.details {
            row("detail", detail, Style::new());
        }
        text += &time_lines(record, view);
    }
    if let Some(next) = view.next {
        // a command line is there to be copied
        let width = view.width.filter(|_| !next.starts_with("blockmill "));
        text += &View { width, ..*view }.row("next", next, STRONG);
    }
    text
}

/// The verdict, without the error, which goes to standard error.
fn headline(record: &RunRecord, view: &View<'_>) -> String {
    let (style, verdict) = verdict(record);
    let verdict = match (view.nothing_new, status(record)) {
        (Some(text), Status::Verified | Status::Ok) => text.to_owned(),
        (Some(_), Status::Partial) => "Partly verified: nothing new, the rest is missing.".into(),
        (Some(_), Status::Incomplete) => "Incomplete: nothing new, and not all is there.".into(),
        _ => verdict,
    };
    let text = wrap(&printable(&verdict), view.width, "");
    let lines: Vec<String> = text.lines().map(|line| view.colour.paint(style, line)).collect();
    lines.join("\n") + "\n"
}

/// How the run ended. Peers and older programs record an error or nothing.
pub(crate) fn status(record: &RunRecord) -> Status {
    match (record.result.status, &record.result.error) {
        (Status::Ok, Some(_)) => Status::Invalid,
        (Status::Ok, None) => Status::Verified,
        (status, _) => status,
    }
}

/// How the run ended, in a sentence. Green is for what is whole and true, and for nothing else.
pub(crate) fn verdict(record: &RunRecord) -> (Style, String) {
    let (verified, level) = (verified(record), &record.level);
    match status(record) {
        Status::Verified | Status::Ok => match middle(record) {
            Some(from) => {
                (GOOD, format!("Verified from block {from}: {verified} at level {level}."))
            }
            None => (GOOD, format!("Verified {verified} at level {level}: complete and valid.")),
        },
        Status::Partial => {
            (WARN, format!("Partly verified: {verified} at level {level}, the rest is missing."))
        }
        Status::Incomplete => (
            CAUTION,
            format!("Incomplete: {verified} verified at level {level}, not all is there."),
        ),
        Status::Interrupted => (WARN, format!("Stopped after {verified}.")),
        Status::Corrupt => (BAD, format!("Corrupt: failed after {verified}.")),
        Status::Invalid => (BAD, format!("Invalid: failed after {verified}.")),
        _ => (BAD, format!("Failed after {verified}.")),
    }
}

/// The block that is believed, where the chain begins in its middle: its number, or its hash where
/// block files do not contain the height.
fn middle(record: &RunRecord) -> Option<String> {
    let anchor = record.result.anchor.as_ref()?;
    match (anchor.number, block_files::are_of(record)) {
        (0, true) => Some(anchor.hash.clone()),
        (0, false) => None,
        (number, _) => Some(format::count(number)),
    }
}

/// What was verified: blocks, or of block files headers alone.
fn verified(record: &RunRecord) -> String {
    // of the best chain: others may be in the files that follow nothing
    let headers = block_files::are_of(record) && record.level == "headers";
    format::counted(record.data.blocks, if headers { "header" } else { "block" })
}

/// What is done once, before the phases.
pub(crate) const SET_UP: &str = "set-up";
pub(crate) const INDEX: &str = "index";

/// The phases that are shown over the chain: checks, execution and writing, as far as they took
/// time.
pub(crate) fn shown_phases(record: &RunRecord) -> Vec<&str> {
    let is_shown =
        |phase: &&str| ![READ, CHECK_DECODE, LINK].contains(phase) && record.busy_s(phase) > 0.0;
    record.phases().into_iter().filter(is_shown).collect()
}

fn time_lines(record: &RunRecord, view: &View<'_>) -> String {
    let parts = parts(record);
    let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    if sum <= 0.0 {
        return String::new();
    }
    // names, a time and a percentage take the rest
    let room = view.width.map_or(BAR, |width| BAR.min(width.saturating_sub(STAGES + 22)));
    let colour = view.colour;
    let mut text = format!("  {}\n", colour.paint(STRONG, "thread time of the stages"));
    for (name, seconds) in parts.into_iter().filter(|(_, seconds)| *seconds > 0.0) {
        let share = seconds / sum;
        text += &format!(
            "  {}{:>10} {:>5}  {}\n",
            colour.paint(FAINT, &format!("{:<STAGES$}", printable(name))),
            format::duration(seconds),
            format::percent(share),
            bar(share, room)
        );
    }
    text
}

#[cfg(test)]
mod tests;
