//! Tables of a record with two rounds.

use super::*;
use crate::Chart;
use pipeline::machine::Machine;
use pipeline::signature_record::{SignatureOperation, SignatureRun};

fn operation(name: &str, label: &str) -> SignatureOperation {
    SignatureOperation { name: name.into(), label: label.into(), library: "the library".into() }
}

/// For each (round, input, batch, threads, variant) the time for 1,000 signatures in all, in
/// microseconds.
fn record(runs: &[(u32, &str, u64, u32, &str, u64)]) -> SignatureRecord {
    let mut record = SignatureRecord::new(Machine::default());
    record.operations = vec![operation("ecdsa", "ECDSA"), operation("schnorr", "Schnorr")];
    record.variants = vec!["scalar".into(), "avx2".into(), "ifma".into()];
    for (round, input, batch, threads, variant, us) in runs {
        record.runs.push(SignatureRun {
            round: *round,
            operation: "ecdsa".into(),
            input: (*input).into(),
            batch: *batch,
            threads: *threads,
            variant: (*variant).into(),
            signatures: 1000,
            wall_ns: 1000 * us,
        });
    }
    record
}

fn good() -> SignatureRecord {
    record(&[
        (1, GOOD, 256, 1, "scalar", 30_000),
        (1, GOOD, 256, 1, "ifma", 3_000),
        (1, GOOD, 256, 1, "ifma", 5_000),
        (1, GOOD, 256, 1, "scalar", 34_000),
        (2, GOOD, 256, 1, "scalar", 60_000),
        (2, GOOD, 256, 1, "ifma", 5_000),
        (1, GOOD, 256, 2, "scalar", 20_000),
        (1, GOOD, 256, 2, "ifma", 2_000),
    ])
}

#[test]
fn both_ways_of_a_round_are_one_measurement_and_ratios_are_within_rounds() {
    let text = signatures_markdown(&good());
    // (30 + 34) / (3 + 5) and 60 / 5; times are medians of 32 and 60, and of 4 and 5
    let row = "| ECDSA | 256 | 46.0 µs | - | 4.50 µs | **-** | **10.0x** (8.00..12.0) |";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("scalar: the library."), "{text}");
}

#[test]
fn several_threads_are_compared_with_one() {
    let text = signatures_markdown(&good());
    // a core is busy for twice the time on the wall
    let row = "| ECDSA | 256 | 40.0 µs | - | 4.00 µs | **-** | **10.0x** |";
    assert!(text.contains(row), "{text}");
    // 32 / 20 and 4 / 2 in the first round; the second has no partner
    let row = "| ECDSA | 256 | 50,000 | 1.60x | - | - | 500,000 | 2.00x |";
    assert!(text.contains(row), "{text}");
}

#[test]
fn undecided_signatures_are_shown_by_what_they_cost_more() {
    let record = record(&[
        (1, UNDECIDED, 256, 1, "scalar", 30_000),
        (1, UNDECIDED, 256, 1, "ifma", 33_000),
        (1, HALF_UNDECIDED, 256, 1, "scalar", 30_000),
        (1, HALF_UNDECIDED, 256, 1, "ifma", 18_000),
        (1, UNDECIDED, 3, 1, "scalar", 10_000),
        (1, UNDECIDED, 3, 1, "ifma", 17_000),
        (1, UNDECIDED, 4, 1, "scalar", 10_000),
        (1, UNDECIDED, 4, 1, "ifma", 10_000),
    ]);
    let text = signatures_table(&record, Colour::Off);
    assert!(text.contains("+10 %") && text.contains("-40 %"), "{text}");
    assert!(text.contains("percent more than scalar, ifma"), "{text}");
    let row = |line: &&str| line.split_whitespace().eq(["ECDSA", "70", "0"]);
    assert!(text.lines().any(|line| row(&line)), "{text}");
    assert!(!text.contains("time of one signature"), "no table without rows: {text}");
    assert!(Chart::signatures(&record).is_none());
}

#[test]
fn tables_fit_a_terminal_of_100_columns() {
    let mut record = record(&[]);
    let run = |round, input: &str, batch, threads, variant: &str, ns| SignatureRun {
        round,
        operation: "ecdsa".into(),
        input: input.into(),
        batch,
        threads,
        variant: variant.into(),
        signatures: 1_000_000_000,
        wall_ns: ns,
    };
    // ratios and times with as many digits as there may be
    for (round, ns) in [(1, 31_234_567_891_234), (2, 39_234_567_891_234)] {
        for (variant, times) in [("scalar", 1), ("avx2", 3), ("ifma", 12)] {
            for threads in [1, 64] {
                record.runs.push(run(round, GOOD, 1024, threads, variant, ns / times));
            }
            for batch in (3..16).chain([256]) {
                let ns = ns * (12 + u64::from(round)) / times;
                record.runs.push(run(round, UNDECIDED, batch, 1, variant, ns));
                record.runs.push(run(round, HALF_UNDECIDED, batch, 1, variant, ns));
            }
        }
    }
    record.operations[0].label = "ECDSA, long keys".into();
    let text = signatures_table(&record, Colour::Off);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}\n{text}");
}

#[test]
fn a_record_without_time_or_signatures_shows_no_figures() {
    let mut record = good();
    record.runs.iter_mut().for_each(|run| run.signatures = 0);
    let text = signatures_markdown(&record);
    assert!(text.contains("| ECDSA | 256 | - | - | - |"), "{text}");
    record.runs.iter_mut().for_each(|run| (run.signatures, run.wall_ns) = (1, 0));
    assert_eq!(signatures_markdown(&record), text);
}

#[test]
fn the_chart_has_a_panel_for_each_variant_that_was_measured() {
    let svg = Chart::signatures(&good()).unwrap().svg();
    for text in ["ifma", "ECDSA  10.0x", ">256<"] {
        assert!(svg.contains(text), "{text} is not in the chart");
    }
    assert!(!svg.contains("avx2"));
}
