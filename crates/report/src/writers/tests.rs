//! Tables of a record with two rounds.

use super::*;
use crate::Chart;
use pipeline::machine::Machine;

/// Writers ours, `alloy`, `alloy-asm` and `geth`; for each (round, engine, case) the time.
fn record(op: &str, times: &[(u32, &str, &str, f64)]) -> WriterRecord {
    let mut record = WriterRecord::new(Machine::default());
    for (name, client) in
        [("blockmill", "blockmill"), ("alloy", "alloy"), ("alloy-asm", "alloy"), ("geth", "geth")]
    {
        let (name, client) = (name.to_owned(), client.to_owned());
        let label = format!("the {name}");
        record.engines.push(WriterEngine { name, label, client, version: String::new() });
    }
    for (round, engine, case, ns) in times {
        let line = WriterLine {
            engine: (*engine).into(),
            case: (*case).into(),
            op: op.into(),
            samples_ns: vec![1e9, *ns, 0.0],
            allocations: 0.5,
            bytes: 1434,
            ..WriterLine::default()
        };
        record.runs.push(WriterRun { round: *round, line });
    }
    record
}

fn two_rounds() -> WriterRecord {
    record(
        "encode",
        &[
            (1, "blockmill", "block-8", 100.0),
            (1, "alloy", "block-8", 300.0),
            (1, "alloy-asm", "block-8", 200.0),
            (2, "alloy", "block-8", 900.0),
            (2, "alloy-asm", "block-8", 1200.0),
            (2, "blockmill", "block-8", 150.0),
            (2, "blockmill", "block-80", 1000.0),
            (2, "alloy", "block-80", 2000.0),
        ],
    )
}

#[test]
fn ratios_pair_the_fastest_build_with_ours_round_by_round() {
    let text = writers_markdown(&two_rounds());
    assert!(text.contains("alloy ÷ blockmill"), "{text}");
    // 200 / 100 and 900 / 150
    let row = "| block-8 | **125 ns** | 600 ns | 700 ns | **4.00x** (2.000..6.000) |";
    assert!(text.contains(row), "{text}");
    let row = "| block-80 | **1.00 µs** | 2.00 µs | - | **2.00x** |";
    assert!(text.contains(row), "{text}");
    assert!(!text.contains("geth"), "a writer that did not run has no column: {text}");
}

#[test]
fn other_costs_are_those_of_the_largest_case_of_each_kind() {
    let text = writers_table(&two_rounds(), Colour::Off);
    let costs = text.split("what else it costs").nth(1).unwrap();
    assert!(costs.contains("block-80") && !costs.contains("block-8 "), "{costs}");
    assert!(costs.contains("1,434") && costs.contains("0.50"), "{costs}");
}

#[test]
fn charts_are_drawn_for_what_was_measured() {
    let record = two_rounds();
    let svg = Chart::writers_encode(&record).unwrap().svg();
    for text in ["the alloy-asm", ">80<", "into a fresh buffer", "logarithmic scale"] {
        assert!(svg.contains(text), "{text} is not in the chart");
    }
    assert!(!svg.contains("memory kept"), "there is no panel without lines");
    assert!(Chart::writers_hash(&record).is_none() && Chart::writers_hash_each(&record).is_none());
    let each = self::record("hash-each", &[(1, "blockmill", "headers-8", 800.0)]);
    assert!(Chart::writers_hash_each(&each).unwrap().svg().contains("100 ns"));
}

#[test]
fn a_line_of_zero_allocations_is_drawn() {
    let mut record = record("hash", &[(1, "blockmill", "block-8", 1.0)]);
    record.runs[0].line.allocations = 0.0;
    let svg = Chart::writers_allocations(&record).unwrap().svg();
    assert!(svg.contains("the blockmill  0"), "{svg}");
}
