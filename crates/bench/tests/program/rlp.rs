//! `bench` of RLP and of signatures: short comparisons, and their answers.

use crate::{Scratch, bench, run, succeed_json};
use serde_json::Value;
use std::collections::BTreeMap;

/// Every run: the case, the label, and the record.
fn runs(session: &Value) -> Vec<(&str, &str, &Value)> {
    let mut all = vec![];
    for comparison in session["comparisons"].as_array().expect("comparisons") {
        for run in comparison["runs"].as_array().expect("runs") {
            let at = run["variant"].as_u64().expect("a number") as usize;
            let label = comparison["variants"][at]["label"].as_str().expect("a label");
            all.push((comparison["case"].as_str().expect("a case"), label, &run["record"]));
        }
    }
    all
}

#[test]
fn every_writer_is_measured_and_all_give_the_same_bytes() {
    let scratch = Scratch::new("bench-rlp");
    let words = "rlp --ablate --pairs 1 --set samples=3 --set min-ms=0 \
                 --set case=transaction,header,block-8 --set op=encode,encode-reused,hash";
    let mut command = bench(words);
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(scratch.path("out"));
    let session = succeed_json(&mut command);
    let mut digests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (case, label, record) in runs(&session) {
        let (object, op) = case.split_once(", ").expect("an object and an operation");
        let digest = record["answer"]["digest"].as_str().expect("a digest");
        digests.entry(object).or_default().push(digest);
        let fact = |name: &str| record["facts"][name].as_f64().expect("a number");
        assert!(fact("time_ns") > 0.0 && fact("iterations") >= 1.0, "{record}");
        let expected = match (label, op) {
            ("blockmill" | "again", "encode") | ("writer=encode-then-hash", _) => Some(1.0),
            ("blockmill" | "again", _) => Some(0.0),
            _ => None,
        };
        let found = fact("allocations");
        assert!(expected.is_none_or(|expected| expected == found), "{label}: {record}");
        let bytes = &record["answer"]["bytes"];
        match object {
            "transaction" => assert_eq!(bytes, "179"),
            "header" => assert_eq!(bytes, "511"),
            _ => {}
        }
    }
    assert_eq!(digests.keys().copied().collect::<Vec<_>>(), ["block-8", "header", "transaction"]);
    for (case, found) in &digests {
        assert!(found.len() > 8 && found.iter().all(|digest| *digest == found[0]), "{case:?}");
    }
}

#[test]
fn a_case_that_does_not_exist_is_refused() {
    let scratch = Scratch::new("bench-rlp-cases");
    for (words, reason) in [
        ("rlp --set case=block", "case=block: expected transaction, header,"),
        ("rlp --set case=transactions-0", "case transactions-0: expected 1 to 1000000 objects"),
        ("signatures --set operation=sign", "expected one of ecdsa, "),
        ("signatures --set threads=1000000", "threads: expected 1 to "),
        ("signatures --set input=bad", "expected good, undecided or half-undecided, found bad"),
        ("signatures --pairs 0", "invalid value '0' for '--pairs"),
        ("signatures --precision 2", "expected 0% to 100%, found 2"),
        ("rlp --history .", "--history .: this is one program; name a second one"),
        ("signatures --budget 9", "expected a time such as 90s or 10m, found 9"),
    ] {
        let mut command = bench(words);
        command.arg("--scratch").arg(scratch.path("data"));
        let ended = run(command.arg("--out").arg(scratch.path("out")));
        assert_ne!(ended.code, Some(0), "{words}");
        assert!(ended.stderr.contains(reason), "{words}: {}", ended.stderr);
        assert!(!scratch.path("out").join("bench.json").exists(), "{words}");
    }
}

#[test]
fn every_width_of_lanes_is_measured_there_and_back() {
    let scratch = Scratch::new("bench-signatures");
    let words = "signatures --ablate --pairs 2 --set operation=schnorr,ecdsa --set batch=5 \
                 --set min-ms=0 --set samples=2";
    let mut command = bench(words);
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(scratch.path("out"));
    let session = succeed_json(&mut command);
    for comparison in session["comparisons"].as_array().expect("comparisons") {
        let runs = comparison["runs"].as_array().expect("runs").iter();
        let turns: Vec<u64> = runs
            .filter(|run| run["block"] == 1)
            .map(|run| run["variant"].as_u64().expect("a number"))
            .collect();
        let back: Vec<u64> = turns.iter().rev().copied().collect();
        assert_eq!(turns, back, "A B B A");
        let variants = comparison["variants"].as_array().expect("variants").len();
        assert_eq!(turns.len(), 2 * variants);
    }
    for (_, label, record) in runs(&session) {
        assert_eq!(record["answer"]["verdicts"], "right", "{label}");
        assert!(record["facts"]["signatures_per_s"].as_f64() > Some(0.0), "{record}");
    }
}
