//! Tables, notes and headlines of constructed comparisons.

use super::*;
use crate::definition::{Figure, Reference};
use crate::experiment::Variant;
use crate::report::sample;

fn ladder() -> Comparison {
    let mut comparison =
        sample::comparison("ladder", &[("blockmill", 0.5), ("master", 1.0), ("mod1", 0.8)]);
    comparison.variants[2].against = 2;
    comparison.variants[3].against = 2;
    comparison
}

#[test]
fn a_step_is_compared_with_the_one_before_and_the_first() {
    let text = comparison_markdown(&ladder());
    let lines: Vec<&str> = text.lines().collect();
    let expected = "blockmill is 2.00 times as fast as master; the largest step is blockmill, 1.60 \
                    times as fast. 95 % interval ";
    assert!(lines[0].starts_with(expected), "{text}");
    let row = |name: &str| *lines.iter().find(|line| line.starts_with(name)).unwrap();
    assert!(row("| step").contains("| against the one before | against the first | verdict |"));
    assert!(row("| master | 1").contains("| - | - | - |"), "{text}");
    let mod1 = row("| mod1 | 800 ms | ");
    assert!(mod1.contains("1.25 times as fast (1.25..1.25, 16 pairs)"), "{text}");
    assert!(mod1.contains("| **faster** |"), "{text}");
    let default = row("| **blockmill** | 500 ms | ");
    assert!(
        default.contains("| 1.60 times as fast (") && default.contains("| 2.00 times as fast (")
    );
    assert!(lines.last().is_none_or(|line| line.is_empty()) && !text.contains("again |"), "{text}");
}

#[test]
fn an_ablation_says_what_turning_back_costs_and_turning_on_gains() {
    let all = [
        ("blockmill", 1.0),
        ("write=single", 1.6),
        ("hash=one", 1.0),
        ("all at the plainest value", 3.0),
    ];
    let mut comparison =
        sample::comparison("ablation", &[&all[..], &[("only write=batch", 2.0)]].concat());
    comparison.variants[5].against = 4;
    let text = comparison_table(&comparison, Colour::Off);
    let expected = "blockmill is 1.60 times as fast as with write=single, which matters most; 1 of \
                    2 changes make no difference beyond the noise. 95 %";
    assert!(text.starts_with(expected), "{text}");
    let (back, on) =
        text.split_once("Set to the default, starting from the plainest options:").unwrap();
    let row = |text: &str, name: &str| {
        text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
    };
    let slower = row(back, " write=single");
    assert!(slower.contains("1.60 times as long") && slower.contains("slower"), "{text}");
    assert!(row(back, " hash=one").contains("no difference"), "{text}");
    let gained = row(on, " only write=batch");
    assert!(gained.contains("1.50 times as fast") && gained.contains("faster"), "{text}");
    assert!(row(on, " all at the plainest value").contains("3.00 s"), "{text}");

    // one that left after a block
    comparison.runs.retain(|run| run.variant != 3 || run.block == 1);
    let text = comparison_table(&comparison, Colour::Off);
    let expected = "which matters most; every change makes a difference (of 1 more there are too \
                    few pairs). 95 %";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn peers_are_in_the_table_and_the_best_is_in_the_headline() {
    let mut comparison =
        sample::comparison("peers", &[("blockmill", 0.1), ("geth", 2.5), ("erigon", 2.0)]);
    for peer in &mut comparison.variants[2..] {
        peer.peer = Some(peer.label.clone());
    }
    comparison.left_out = vec!["reth: needs cmake".into()];
    comparison.runs[3].disturbed = true;
    let text = comparison_markdown(&comparison);
    assert!(text.starts_with("blockmill is 20.0 times as fast as erigon, the best of 2 peers. "));
    for expected in [
        "| program | whole run | we are | verdict | CPU time | peak memory | runs |",
        "| geth | 2.50 s | 25.0 times as fast (",
        "- Left out: reth: needs cmake\n",
        "72 runs, each in a process of its own",
        "Disturbed by others: 1 run; such runs are repeated as far as",
        "Disturbed by others: 1 of 72 runs.",
        "- Noise: blockmill differs from itself by up to 0.",
        "- All runs found the same: tip hash, tip number.\n",
        "| 3.75 s (25.0 times less) | 250 MB (25.0 times less) | 16 |",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
    }
}

#[test]
fn the_result_of_a_sweep_is_its_growth() {
    let mut comparison =
        sample::comparison("sweep headers", &[("blockmill", 1.0), ("10", 0.1), ("1000", 10.0)]);
    for (at, value) in [(0, "100"), (1, "100"), (2, "10"), (3, "1000")] {
        comparison.variants[at].settings = [("headers".to_owned(), value.to_owned())].into();
    }
    for run in &mut comparison.runs {
        let blocks = [100, 100, 10, 1000][run.variant];
        run.record.result.tip_number = blocks;
    }
    let text = comparison_markdown(&comparison);
    let expected = "The whole run grows with headers to the power of 1.00 ± 0.0";
    assert!(text.starts_with(expected), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rows[0].starts_with("| 10 | 100 ms | 10.0 ms | "), "{text}");
    assert!(!text.contains("times as") && !text.contains("verdict"), "not the same work: {text}");
    assert!(
        rows[1].starts_with("| **100** | 1.00 s | 10.0 ms |") && rows[2].starts_with("| 1,000 | ")
    );
    assert!(text.contains("- whole run grows as headers to the power of 1.00"), "{text}");
}

#[test]
fn in_a_sweep_we_are_compared_with_peers_at_each_value() {
    let all = [("blockmill", 1.0), ("coins 1000", 2.0), ("core", 3.0), ("core, coins 1000", 20.0)];
    let mut comparison = sample::comparison("sweep coins", &all);
    comparison.settings = [("coins".to_owned(), "10".to_owned())].into();
    for at in [2, 4] {
        comparison.variants[at].settings = [("coins".to_owned(), "1000".to_owned())].into();
    }
    for (at, against) in [(3, BASELINE), (4, 2)] {
        comparison.variants[at].peer = Some("core".into());
        comparison.variants[at].against = against;
    }
    for run in &mut comparison.runs {
        run.record.result.tip_number = [10, 10, 1000, 10, 1000][run.variant];
    }
    let text = comparison_markdown(&comparison);
    let expected = "The whole run grows with coins to the power of 0.15, from 10 to 1,000, where \
                    blockmill is 10.0 times as fast as core. 95 % interval ";
    assert!(text.starts_with(expected), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows[0].starts_with("| coins | whole run | we are | verdict | for one | "), "{text}");
    assert!(rows[2].starts_with("| **10** | 1.00 s | - | - | 100 ms |"), "{text}");
    assert!(rows[3].starts_with("| core, 10 | 3.00 s | 3.00 times as fast ("), "{text}");
    assert!(rows[4].starts_with("| 1,000 | 2.00 s | - | - | 2.00 ms |"), "{text}");
    assert!(rows[5].starts_with("| core, 1,000 | 20.0 s | 10.0 times as fast ("), "{text}");
    assert!(text.contains("- whole run of core grows as coins to the power of 0.41"), "{text}");
}

#[test]
fn a_missing_fact_leaves_no_column_and_zero_is_shown() {
    let mut comparison = sample::comparison("alone", &[("blockmill", 1.0)]);
    comparison.compare = vec!["time_ns".into(), "allocations".into()];
    for run in &mut comparison.runs {
        run.record.facts = Default::default();
        run.record.facts.set("time_ns", 85.0);
        run.record.facts.set("allocations", 0.0);
    }
    let text = comparison_markdown(&comparison);
    assert!(
        text.starts_with("blockmill: one operation 85.0 ns. Noise here and now: 0.0 %."),
        "{text}"
    );
    assert!(text.contains("| **blockmill** | 85.0 ns | 0 | 16 |"), "{text}");
    assert!(!text.contains("memory"), "{text}");
}

#[test]
fn a_comparison_of_nothing_is_shown_without_a_panic() {
    let mut comparison = Comparison { experiment: "ladder".into(), ..Comparison::default() };
    for experiment in ["alone", "ladder", "ablation", "peers", "revisions", "sweep x", "else"] {
        comparison.experiment = experiment.into();
        comparison.variants = vec![];
        comparison_markdown(&comparison);
        comparison.variants = vec![Variant::default(); 3];
        comparison_markdown(&comparison);
        assert!(notes(&comparison)[0].starts_with("Noise: unknown"), "{experiment}");
    }
}

#[test]
fn a_published_measurement_is_shown_with_ours() {
    let figures = vec![Figure { of: "mod1".into(), value: "62 s".into() }];
    let source = "https://example.org".to_owned();
    let [who, measured, differs] = ["W", "M", "D"].map(String::from);
    let reference = Reference { who, measured, differs, source, figures };
    let comparison = Comparison { reference: Some(reference), ..ladder() };
    let found: Vec<String> =
        super::reference(&comparison).into_iter().map(|(_, text)| text).collect();
    let ours = "A stream of headers, checked and stored.";
    assert_eq!(found, ["W", "M", ours, "D", "https://example.org"]);
    let text = comparison_markdown(&comparison);
    let cells = text.lines().find(|line| line.starts_with("| mod1 ")).unwrap();
    assert!(text.contains("| published |") && cells.contains("| 62 s |"), "{text}");
    assert!(text.contains("Source: https://example.org\n"), "{text}");
}

/// A comparison with operations, and a peer.
fn machine(operations: &[(&str, f64)]) -> Comparison {
    let mut comparison = sample::comparison("peers", &[("blockmill", 1.0), ("geth-evm", 2.0)]);
    comparison.variants[2].peer = Some("geth-evm".into());
    comparison.compare = vec!["mgas_per_s".into()];
    for run in &mut comparison.runs {
        let wall_s = run.record.wall_s();
        run.record.facts.set("mgas_per_s", 100.0 / wall_s);
        for (name, mgas) in operations {
            run.record.facts.set(&format!("{name}.mgas_per_s"), mgas / wall_s);
            if !name.contains(" + ") {
                run.record.facts.set(&format!("{name}.time_ns"), wall_s * 3.0);
                run.record.facts.set(&format!("{name}.worst_ns"), wall_s * 4.0);
                run.record.facts.set(&format!("{name}.gas"), 8.0);
                run.record.facts.set(&format!("{name}.program_mgas_per_s"), 50.0 / wall_s);
            }
        }
    }
    comparison
}

#[test]
fn operations_are_listed_with_the_slowest_for_its_gas_first() {
    let text = comparison_markdown(&machine(&[("ADD", 900.0), ("MULMOD", 90.0), ("PC", 0.0)]));
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" ns | ")).collect();
    let names: Vec<_> = rows.iter().map(|row| row.split('|').nth(1).unwrap().trim()).collect();
    assert_eq!(names, ["MULMOD", "ADD", "PC"], "{text}");
    assert!(
        text.contains("| operation | Mgas a second | one operation | slowest | gas |"),
        "{text}"
    );
    assert!(rows[0].contains("| 90.0 (± "), "{text}");
    assert!(rows[0].contains("| 3.00 ns | 4.00 ns | 8 | 50.0 |"), "{text}");
    assert!(rows[0].contains("| 45.0 | 2.00 times as fast ("), "{text}");
    assert!(rows[2].contains("| PC | - |"), "no time, no speed: {text}");
    assert!(!comparison_markdown(&ladder()).contains("for their gas"), "none of other comparisons");
    let mut import = machine(&[("100", 900.0), ("200", 90.0)]);
    import.compare = vec!["wall_s".into()];
    assert!(!comparison_markdown(&import).contains("for their gas"), "steps are no operations");
}

#[test]
fn of_many_pairs_the_slowest_are_listed() {
    let names: Vec<String> =
        (0..9u8).flat_map(|a| (0..9u8).map(move |b| format!("OP{a} + OP{b}"))).collect();
    let pairs: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), 900.0 - at as f64)).collect();
    let text = comparison_markdown(&machine(&pairs));
    assert!(text.contains("The 40 slowest of 81; all are in the record."), "{text}");
    let first = text.lines().find(|line| line.starts_with("| OP")).unwrap();
    assert!(first.starts_with("| OP8 + OP8 | 820 (± "), "{text}");
    let chart = crate::report::chart::findings(&machine(&pairs)).pop().unwrap().1;
    let [wide, narrow] = chart.drawings();
    assert!(wide.contains("<title>OP8, OP8: below ") && narrow.contains("rows: executed first"));
    assert!(
        crate::report::chart::findings(&machine(&[("ADD", 1.0)])).len() == 1,
        "no pairs, no map"
    );
}
