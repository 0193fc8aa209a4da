//! `bench rlp`: a short round of our own writers, and its record as a report.

mod program;

use program::{Scratch, blockmill, run, succeed, succeed_json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn runs(record: &Value) -> impl Iterator<Item = &Value> {
    record["runs"].as_array().expect("runs").iter()
}

fn assert_files(folder: &Path) {
    for name in ["encode", "hash", "hash-each", "allocations"] {
        let chart = fs::read_to_string(folder.join(format!("{name}.svg")));
        assert!(chart.expect("a chart").starts_with("<svg"), "{name}");
    }
    let table = fs::read_to_string(folder.join("table.md")).expect("tables");
    for text in ["## Encode into a fresh buffer", "| block-8 |", "| headers-8 |", "allocations"] {
        assert!(table.contains(text), "no {text:?} in\n{table}");
    }
}

#[test]
fn a_round_measures_every_writer_and_all_give_the_same_bytes() {
    let scratch = Scratch::new("bench-rlp");
    let out = scratch.path("out");
    let mut command = blockmill("bench rlp --runs 1 --transactions 8 --samples 3");
    let record = succeed_json(command.arg("--out").arg(&out));

    let mut digests: BTreeMap<(String, bool), Vec<String>> = BTreeMap::new();
    for run in runs(&record) {
        let text = |name: &str| run[name].as_str().expect("a text").to_owned();
        let each = text("op") == "hash-each";
        digests.entry((text("case"), each)).or_default().push(text("digest"));
        assert_eq!(run["samples_ns"].as_array().map(Vec::len), Some(3), "{run}");
        assert!(run["iterations"].as_u64() >= Some(1), "{run}");
        let expected = match (text("engine").as_str(), text("op").as_str()) {
            ("blockmill", "encode") | ("blockmill-encode-then-hash", _) => Some(1.0),
            ("blockmill-one-pass", _) => None,
            _ => Some(0.0),
        };
        let found = run["allocations"].as_f64();
        assert!(expected.is_none() || found == expected, "{run}");
    }
    let cases: Vec<&str> = digests.keys().map(|(case, _)| case.as_str()).collect();
    let expected =
        ["block-8", "header", "headers-8", "transaction", "transactions-8", "transactions-8"];
    assert_eq!(cases, expected);
    for (case, found) in &digests {
        assert!(found.len() > 1 && found.iter().all(|digest| *digest == found[0]), "{case:?}");
    }
    let bytes = |case: &str| runs(&record).find(|run| run["case"] == case).map(|r| &r["bytes"]);
    assert_eq!(bytes("transaction").and_then(Value::as_u64), Some(179));
    assert_eq!(bytes("header").and_then(Value::as_u64), Some(511));
    assert_files(&out);

    let again = scratch.path("again");
    let mut command = blockmill("report --markdown");
    let text = succeed(command.arg(&out).arg("--out").arg(&again));
    let table = fs::read_to_string(out.join("table.md")).expect("tables");
    assert!(text.starts_with(&table), "{text}");
    assert_files(&again);
}

#[test]
fn a_case_that_does_not_exist_is_refused() {
    let scratch = Scratch::new("bench-rlp-cases");
    for (words, reason) in [
        ("--cases block", "--cases: expected transaction, header,"),
        ("--transactions 0", "--transactions: case transactions-0: expected 1 to 1000000 objects"),
    ] {
        let mut command = blockmill(&format!("bench rlp {words}"));
        let ended = run(command.arg("--out").arg(scratch.path("out")));
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
}
