//! Summaries of sample runs.

use super::*;
use crate::sample;
use blockmill_pipeline::record::BlockRef;
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
    assert!(text.starts_with("Incomplete: 1,000,000 blocks verified at level headers"), "{text}");
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
