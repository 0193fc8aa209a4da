//! The summary of a run for people: the verdict, the checks, and where the time went.

mod facts;

use anstyle::Style;
use blockmill_pipeline::record::{RunRecord, VALIDATION, WRITE};
use blockmill_verdict::Status;

use crate::block_files;
use crate::executed;
use crate::format::{self, printable};
use crate::terminal::{BAD, CAUTION, Colour, FAINT, GOOD, STRONG, WARN, bar};

pub(crate) use facts::facts;

/// Shortfalls that are shown.
const SHOWN: usize = 10;
/// Characters of the bar of a part of the time.
const BAR: usize = 30;

/// The summary of one run for a terminal; ends with a line break.
pub fn summary(record: &RunRecord, colour: Colour) -> String {
    let mut text = headline(record, colour);
    for unchecked in &record.result.unchecked {
        let line = printable(&format!("NOT CHECKED: {unchecked}"));
        text += &format!("{}\n", colour.paint(WARN, &line));
    }
    for (name, value) in facts(record) {
        text +=
            &format!("  {} {}\n", colour.paint(FAINT, &format!("{name:<14}")), printable(&value));
    }
    text += &shortfall_lines(record, colour);
    text += &time_lines(record, colour);
    for note in &record.notes {
        text += &format!("  {}\n", colour.paint(WARN, &format!("note: {}", printable(note))));
    }
    text
}

/// What the archive lacks, the first of it.
fn shortfall_lines(record: &RunRecord, colour: Colour) -> String {
    let all = &record.result.shortfalls;
    let mut text = String::new();
    for shortfall in all.iter().take(SHOWN) {
        let line = printable(&format!("missing: {shortfall}"));
        text += &format!("  {}\n", colour.paint(WARN, &line));
    }
    if all.len() > SHOWN {
        let more = format::count((all.len() - SHOWN) as u64);
        text += &format!("  and {more} more; --json lists all\n");
    }
    text
}

/// The verdict, without the error, which goes to standard error.
fn headline(record: &RunRecord, colour: Colour) -> String {
    let (style, verdict) = verdict(record);
    let what = format!("{} {}", record.data.chain, record.data.format);
    format!("{} {}\n", colour.paint(style, &printable(&verdict)), printable(what.trim()))
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
            None => (GOOD, format!("Verified {verified} at level {level}.")),
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

/// The parts of the busy time that were measured, in the order of the work.
pub(crate) fn parts(record: &RunRecord) -> Vec<(&str, f64)> {
    let before = match block_files::are_of(record) {
        true => (INDEX, record.facts.value("index_s")),
        false => (SET_UP, record.facts.value("setup_s")),
    };
    let phases = record.phases().into_iter().map(|phase| (phase, record.busy_s(phase)));
    let mut parts: Vec<_> = [before].into_iter().chain(phases).collect();
    // what executes has stages of its own, before the write
    let at = parts.iter().position(|(name, _)| *name == WRITE).unwrap_or(parts.len());
    parts.splice(at..at, executed::stages(record));
    parts
}

/// The phases that are shown over the chain: the two that the reference measures, or all but
/// reading if the record does not distinguish them.
pub(crate) fn shown_phases(record: &RunRecord) -> Vec<&str> {
    let phases = record.phases();
    match phases.contains(&VALIDATION) {
        true => phases.into_iter().filter(|name| [VALIDATION, WRITE].contains(name)).collect(),
        false => phases.into_iter().skip(1).collect(),
    }
}

fn time_lines(record: &RunRecord, colour: Colour) -> String {
    let parts = parts(record);
    let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    if sum <= 0.0 {
        return String::new();
    }
    let mut text = format!("  {}\n", colour.paint(STRONG, "Where the working time went"));
    for (name, seconds) in parts.into_iter().filter(|(_, seconds)| *seconds > 0.0) {
        let share = seconds / sum;
        text += &format!(
            "  {} {:>10} {:>5}  {}\n",
            colour.paint(FAINT, &format!("{:<14}", printable(name))),
            format::duration(seconds),
            format::percent(share),
            bar(share, BAR)
        );
    }
    text
}

#[cfg(test)]
mod tests;
