//! Summaries of sample runs.

use super::*;
use crate::sample;
use blockmill_pipeline::record::{BlockRef, Work};
use blockmill_verdict::{Shortfall, ShortfallKind};

const COLOURED: View<'_> = View { colour: Colour::On, ..PLAIN };
const VERBOSE: View<'_> = View { verbose: true, ..PLAIN };
const PLAIN: View<'_> = View {
    colour: Colour::Off,
    width: None,
    verbose: false,
    stores: false,
    nothing_new: None,
    next: None,
};

fn expect_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn the_short_answer_has_range_tip_checks_time_and_the_next_command() {
    let mut record = sample::full("import", 1.0);
    record.result.tip_time = Some(1_438_269_988);
    record.result.checked = vec!["links".into(), "10,031 seals".into()];
    record.result.unchecked = vec!["989,969 seals (--seal all)".into()];
    record.notes.push("clock was coarse".into());
    record.details.push("all at once".into());
    let text = summary(&record, &View { next: Some("blockmill report x.json"), ..PLAIN });
    let expected = "\
Verified 1,000,000 blocks at level headers: complete and valid.
  range        0 to 999,999 of mainnet (era1)
  tip          999,999, of 2015-07-30 15:26 UTC, 0x01
  checked      links, 10,031 seals
  stored       up to block 999,999
  not checked  bodies and what they do
  not checked  989,969 seals (--seal all)
  note         clock was coarse
  time         1.00 s, 1,000,000 blocks/s
  next         blockmill report x.json
";
    assert_eq!(text, expected);
}

#[test]
fn a_verbose_answer_has_what_was_found_and_measured() {
    let mut record = sample::full("import", 1.0);
    record.details.push("all at once".into());
    let text = summary(&record, &VERBOSE);
    expect_all(
        &text,
        &[
            "  seals        1/100 checked (10,031), seed 42\n",
            "  anchor       block 0 0xab, believed without proof\n",
            "  rate         1,000,000 blocks/s, 1.00 s in all\n",
            "  peak memory  96.0 MB\n",
            "  detail       all at once\n",
            "  thread time of the stages\n",
            "  check: verify      400 ms",
        ],
    );
    assert_eq!(text.matches("range ").count(), 1, "{text}");
}

#[test]
fn block_files_have_words_of_their_own() {
    let mut record = sample::reindexed("import");
    let text = summary(&record, &VERBOSE);
    expect_all(
        &text,
        &[
            "Verified 4,521 blocks at level execution: complete and valid.\n",
            "  range        1 to 4,521 of mainnet (blk)\n",
            "  index        4,523 blocks in 2 files, 10 ms, 452,300 headers/s\n",
            "  stored       up to block 4,521\n",
            "  index               10 ms",
            "  prepare ",
            "  connect ",
            "  check ",
            "  finish ",
        ],
    );
    for foreign in ["seals", "anchor", "verify", "decode", "write", "set-up"] {
        assert!(!text.contains(foreign), "{foreign:?} is in:\n{text}");
    }
    record.level = "headers".into();
    let text = summary(&record, &PLAIN);
    // two of the 4,523 that were found are not in the chain
    assert!(text.starts_with("Verified 4,521 headers at level headers"), "{text}");
    assert!(!text.contains("blocks/s"), "{text}");
}

#[test]
fn work_is_compared_with_that_of_the_network() {
    let mut record = sample::reindexed("verify");
    let known = Some("112875".to_owned());
    for (chain, expected) in [
        ("11a6", "  work         2^12.1 hashes, 0.40 % of what the network had"),
        ("1", "  work         2^0.0 hashes, less than 0.01 % of what the network had"),
        ("112875", "  work         2^20.1 hashes, at least what the network had"),
    ] {
        record.result.work = Some(Work { chain: format!("{chain:0>64}"), known: known.clone() });
        expect_all(&summary(&record, &PLAIN), &[expected]);
    }
    record.result.work = Some(Work { chain: "10".into(), known: None });
    expect_all(&summary(&record, &PLAIN), &["  work         2^4.0 hashes\n"]);
    record.result.work = Some(Work { chain: "no number".into(), known });
    assert!(!summary(&record, &PLAIN).contains("  work "));
}

#[test]
fn a_chain_from_the_middle_says_so_first() {
    let mut record = sample::full("verify", 1.0);
    record.result.anchor = Some(BlockRef { number: 8_192, hash: "0xab".into() });
    let text = summary(&record, &VERBOSE);
    let expected = "Verified from block 8,192: 1,000,000 blocks at level headers.";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("  anchor       block 8,192 0xab, believed without proof\n"));
}

#[test]
fn failure_comes_first_and_the_stored_part_is_named() {
    let mut record = sample::full("import", 1.0);
    record.result.error = Some("block 7: wrong difficulty".into());
    record.result.committed = None;
    let text = summary(&record, &PLAIN);
    let blocks = format::count(record.data.blocks);
    assert!(text.starts_with(&format!("Invalid: failed after {blocks} blocks.")), "{text}");
    assert!(!text.contains("stored"), "{text}");
    let text = summary(&record, &View { stores: true, ..PLAIN });
    assert!(text.contains("  stored       nothing\n"), "{text}");
}

#[test]
fn only_what_is_whole_and_true_is_green() {
    const GREEN: &str = "\x1b[32m";
    for status in Status::ALL {
        let mut record = sample::full("import", 1.0);
        record.result.status = status;
        record.result.error = (!status.is_success()).then(|| "why".to_owned());
        let text = summary(&record, &COLOURED);
        let whole = matches!(status, Status::Verified | Status::Ok);
        assert_eq!(text.contains(GREEN), whole, "{status}: {text}");
        let first = summary(&record, &PLAIN);
        assert_eq!(first.starts_with("Verified "), whole, "{status}: {first}");
    }
}

#[test]
fn nothing_new_is_the_first_line() {
    let mut record = sample::bare("import");
    record.data.blocks = 0;
    let nothing_new = Some("Nothing new: the store has all.");
    let text = summary(&record, &View { nothing_new, ..PLAIN });
    assert!(text.starts_with("Nothing new: the store has all.\n  chain  "), "{text}");
    assert!(!text.contains("Verified") && !text.contains("checked"), "{text}");
    record.result.status = Status::Incomplete;
    let text = summary(&record, &View { nothing_new, ..PLAIN });
    assert!(text.starts_with("Incomplete: nothing new, and not all is there.\n"), "{text}");
}

#[test]
fn what_is_missing_is_said_where_it_shows() {
    let mut record = sample::full("import", 1.0);
    record.result.status = Status::Incomplete;
    let gap = Shortfall::new(ShortfallKind::MissingBlocks, "block 7 is not in these files");
    record.result.shortfalls = vec![gap.at("blk00001.dat", 12); SHOWN + 2];
    let text = summary(&record, &PLAIN);
    assert!(text.starts_with("Incomplete: 1,000,000 blocks verified at level headers"), "{text}");
    let line = "  missing      blk00001.dat at byte 12: block 7 is not in these files\n";
    assert_eq!(text.matches(line).count(), SHOWN, "{text}");
    assert!(text.contains("               and 2 more; --json lists all\n"), "{text}");
}

#[test]
fn one_block_is_one_block() {
    let mut record = sample::bare("verify");
    (record.data.last, record.data.blocks) = (0, 1);
    let text = summary(&record, &PLAIN);
    assert!(text.starts_with("Verified 1 block at"), "{text}");
    assert!(text.contains("0 to 0 of mainnet (era1)"), "{text}");
    record.data.blocks = 0;
    assert!(!summary(&record, &PLAIN).contains("range"));
}

#[test]
fn every_line_fits_the_terminal() {
    let mut record = sample::executed("import");
    let hash = "0x5ec1ffb8c3b146f42606c74ced973dc16ec5a107c0345858c343fc94780b4218";
    record.result.tip_hash = hash.into();
    record.result.tip_time = Some(1_438_269_988);
    record.result.checked = vec!["links".into(), "header rules".into(), "a lot more".into()];
    record.result.unchecked = vec!["a sentence that is longer than most terminals are".repeat(3)];
    record.notes = vec!["a note with a number of words in it ".repeat(9)];
    for (width, whole) in [(30, false), (40, false), (80, false), (160, true)] {
        for verbose in [false, true] {
            let next = Some("blockmill import a/path/that/is/longer/than/the/terminal/is/wide");
            let view = View { width: Some(width), verbose, next, ..PLAIN };
            let text = summary(&record, &view);
            for line in text.lines() {
                let is_path = !line.trim().contains(' ') || line.starts_with("  next ");
                assert!(is_path || line.chars().count() <= width, "{width}: {line:?}\n{text}");
            }
            assert_eq!(text.contains(hash), whole, "{text}");
            assert!(whole || text.contains("0x5ec1ffb8…780b4218"), "{text}");
        }
    }
}

#[test]
fn colour_only_when_asked_and_control_codes_never() {
    let mut record = sample::full("import", 1.0);
    record.data.chain = "\x1b[2J".into();
    assert!(!summary(&record, &PLAIN).contains('\x1b'));
    let text = summary(&record, &COLOURED);
    assert!(text.contains("\x1b[32m") && !text.contains("\x1b[2J"), "{text:?}");
}
