//! What a person reads after an import: is the archive genuine, what was checked, and where did
//! the time go.

use anstyle::Style;
use blockmill_pipeline::record::{
    BLOCKS_PER_S, BlockRef, PEAK_RSS_BYTES, RunRecord, VALIDATION, WRITE,
};
use blockmill_verdict::Status;

use crate::block_files;
use crate::executed;
use crate::format::{self, printable};
use crate::runs;
use crate::terminal::{BAD, CAUTION, Colour, FAINT, GOOD, STRONG, WARN, bar};

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

/// The verdict, without the error: a program tells that on standard error.
fn headline(record: &RunRecord, colour: Colour) -> String {
    let (style, verdict) = verdict(record);
    let what = format!("{} {}", record.data.chain, record.data.format);
    format!("{} {}\n", colour.paint(style, &printable(&verdict)), printable(what.trim()))
}

/// How the run ended. Peers and older programs tell an error or nothing.
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
/// block files do not tell the height.
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

/// Names and values of what the run found and checked; those that a run does not have are left
/// out. Also shown on the page.
pub(crate) fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let (data, result) = (&record.data, &record.result);
    let mut facts = vec![];
    if data.blocks > 0 {
        facts.push(("range", format::block_range(data.first, data.last, data.blocks)));
    }
    if !result.tip_hash.is_empty() {
        facts.push(("tip", block(result.tip_number, &result.tip_hash)));
    }
    facts.extend(match block_files::are_of(record) {
        true => block_files::facts(record),
        false => proofs(record),
    });
    facts.push(match result.committed {
        Some(number) => ("stored", format!("up to block {}", format::count(number))),
        None => ("stored", "nothing".to_owned()),
    });
    facts.extend(figures(record));
    facts.extend(executed::facts(record));
    facts
}

/// What a run over numbered blocks proves, and what it believes.
fn proofs(record: &RunRecord) -> Vec<(&'static str, String)> {
    let (mut facts, result) = (vec![], &record.result);
    if let Some(difficulty) = &result.total_difficulty {
        facts.push(("difficulty", format!("{difficulty} in total")));
    }
    if record.settings.contains_key("seal") {
        facts.push(("seals", seals(record)));
    }
    if let Some(anchor) = &result.anchor {
        facts.push(("anchor", format!("{}, believed without proof", named(anchor))));
    } else {
        facts.push(("anchor", "the genesis block of the network".to_owned()));
    }
    if !result.trusted.is_empty() {
        let list: Vec<String> = result.trusted.iter().map(named).collect();
        facts.push(("trusted", format!("{}: found as given", list.join(", "))));
    }
    if result.accumulators > 0 {
        let number = format::count(result.accumulators);
        facts.push(("accumulators", format!("{number} recomputed, all as published")));
    }
    facts
}

fn figures(record: &RunRecord) -> Vec<(&'static str, String)> {
    let wall_s = record.wall_s();
    if block_files::are_of(record) && (record.data.blocks == 0 || record.level == "headers") {
        return vec![("time", format!("{} in all", format::duration(wall_s)))];
    }
    let mut facts = vec![(
        "rate",
        format!(
            "{} blocks/s, {} in all",
            format::rate(record.facts.value(BLOCKS_PER_S)),
            format::duration(wall_s)
        ),
    )];
    if record.data.bytes > 0 {
        let speed = blockmill_pipeline::record::rate(record.data.bytes, wall_s) / 1e6;
        let size = format::bytes(record.data.bytes);
        facts.push(("archive", format!("{size}, {} MB/s", format::figure(speed))));
    }
    if let peak @ 1.. = record.facts.count_of(PEAK_RSS_BYTES) {
        facts.push(("peak memory", format::bytes(peak)));
    }
    facts
}

fn seals(record: &RunRecord) -> String {
    let checked = format::count(record.facts.count_of("seals"));
    match runs::seals(record) {
        "off" => "not checked".to_owned(),
        "all" => format!("all checked ({checked})"),
        share => {
            let seed = record.settings.get("seal-seed").map_or("", String::as_str);
            format!("{share} checked ({checked}), seed {seed}")
        }
    }
}

fn named(block_ref: &BlockRef) -> String {
    block(block_ref.number, &block_ref.hash)
}

fn block(number: u64, hash: &str) -> String {
    format!("block {} {hash}", format::count(number))
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
/// reading where those are not told apart.
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
mod tests {
    use super::*;
    use crate::sample;
    use blockmill_verdict::{Shortfall, ShortfallKind};

    #[test]
    fn says_what_was_verified_and_how() {
        let mut record = sample::full("import", 1.0);
        record.notes.push("clock was coarse".into());
        let text = summary(&record, Colour::Off);
        for expected in [
            "Verified 1,000,000 blocks at level headers. mainnet era1\n",
            "  range          0 to 999,999 (1,000,000 blocks)\n",
            "  tip            block 999,999 0x01\n",
            "  seals          1/100 checked (10,031), seed 42\n",
            "  anchor         block 0 0xab, believed without proof\n",
            "  stored         up to block 999,999\n",
            "  rate           1,000,000 blocks/s, 1.00 s in all\n",
            "  peak memory    96.0 MB\n",
            "  note: clock was coarse\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
        }
        assert!(text.contains("  validation         738 ms"), "{text}");
    }

    #[test]
    fn block_files_have_words_of_their_own() {
        let mut record = sample::reindexed("import");
        let text = summary(&record, Colour::Off);
        for expected in [
            "Verified 4,521 blocks at level execution. mainnet blk\n",
            "  index          4,523 blocks in 2 files, 10 ms, 452,300 headers/s\n",
            "  stored         up to block 4,521\n",
            "  index               10 ms",
            "  prepare ",
            "  connect ",
            "  check ",
            "  finish ",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
        }
        for foreign in ["seals", "anchor", "validation", "decode", "write", "set-up"] {
            assert!(!text.contains(foreign), "{foreign:?} is in:\n{text}");
        }
        record.level = "headers".into();
        let text = summary(&record, Colour::Off);
        // two of the 4,523 that were found are not in the chain
        assert!(text.starts_with("Verified 4,521 headers at level headers."), "{text}");
        assert!(!text.contains("blocks/s"), "{text}");
    }

    #[test]
    fn a_chain_from_the_middle_says_so_first() {
        let mut record = sample::full("verify", 1.0);
        record.result.anchor = Some(BlockRef { number: 8_192, hash: "0xab".into() });
        let text = summary(&record, Colour::Off);
        let expected = "Verified from block 8,192: 1,000,000 blocks at level headers.";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("  anchor         block 8,192 0xab, believed without proof\n"));
    }

    #[test]
    fn failure_comes_first_and_the_stored_part_is_named() {
        let mut record = sample::full("import", 1.0);
        record.result.error = Some("block 7: wrong difficulty".into());
        record.result.committed = None;
        let text = summary(&record, Colour::Off);
        let blocks = format::count(record.data.blocks);
        assert!(text.starts_with(&format!("Failed after {blocks} blocks.")), "{text}");
        assert!(text.contains("  stored         nothing\n"), "{text}");
    }

    #[test]
    fn only_what_is_whole_and_true_is_green() {
        const GREEN: &str = "\x1b[32m";
        for status in Status::ALL {
            let mut record = sample::full("import", 1.0);
            record.result.status = status;
            record.result.error = (!status.is_success()).then(|| "why".to_owned());
            let text = summary(&record, Colour::On);
            let whole = matches!(status, Status::Verified | Status::Ok);
            assert_eq!(text.contains(GREEN), whole, "{status}: {text}");
            let first = summary(&record, Colour::Off);
            assert_eq!(first.starts_with("Verified "), whole, "{status}: {first}");
        }
    }

    #[test]
    fn what_is_missing_is_said_where_it_shows() {
        let mut record = sample::full("import", 1.0);
        record.result.status = Status::Incomplete;
        let gap = Shortfall::new(ShortfallKind::MissingBlocks, "block 7 is not in these files");
        record.result.shortfalls = vec![gap.at("blk00001.dat", 12); SHOWN + 2];
        let text = summary(&record, Colour::Off);
        assert!(
            text.starts_with("Incomplete: 1,000,000 blocks verified at level headers"),
            "{text}"
        );
        let line = "  missing: blk00001.dat at byte 12: block 7 is not in these files\n";
        assert_eq!(text.matches(line).count(), SHOWN, "{text}");
        assert!(text.contains("  and 2 more; --json lists all\n"), "{text}");
    }

    #[test]
    fn one_block_is_one_block() {
        let mut record = sample::bare("verify");
        (record.data.last, record.data.blocks) = (0, 1);
        let text = summary(&record, Colour::Off);
        assert!(text.starts_with("Verified 1 block at"), "{text}");
        assert!(text.contains("0 to 0 (1 block)"), "{text}");
        record.data.blocks = 0;
        assert!(!summary(&record, Colour::Off).contains("range"));
    }

    #[test]
    fn colour_only_when_asked_and_control_codes_never() {
        let mut record = sample::full("import", 1.0);
        record.data.chain = "\x1b[2J".into();
        assert!(!summary(&record, Colour::Off).contains('\x1b'));
        let text = summary(&record, Colour::On);
        assert!(text.contains("\x1b[32m") && !text.contains("\x1b[2J"), "{text:?}");
    }
}
