//! `bench signatures`: a short round, and its record as a report.

mod program;

use pipeline::signature_record::{GOOD, HALF_UNDECIDED, SignatureRecord, UNDECIDED};
use program::{Scratch, blockmill, run, succeed, succeed_json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn assert_files(folder: &Path, variants: usize) {
    let table = fs::read_to_string(folder.join("table.md")).expect("tables");
    assert!(table.contains("## One thread: time of one signature"), "{table}");
    assert!(table.contains("| Schnorr | 5 |") && table.contains("|  | 32 |"), "{table}");
    if variants > 1 {
        assert!(table.contains("## Few signatures that no lane can decide"), "{table}");
        let chart = fs::read_to_string(folder.join("signatures.svg")).expect("a chart");
        assert!(chart.starts_with("<svg"));
    }
}

#[test]
fn each_round_measures_every_variant_there_and_back() {
    let scratch = Scratch::new("bench-signatures");
    let out = scratch.path("out");
    let words = "bench signatures --operations schnorr,ecdsa --batches 32,5 --threads 1 --runs 2";
    let mut command = blockmill(&format!("{words} --min-ms 0"));
    let printed = succeed_json(command.arg("--out").arg(&out));
    let record = SignatureRecord::read(&out.join("signatures.json")).expect("a record");
    assert_eq!(serde_json::to_value(&record).expect("JSON"), printed);

    let names: Vec<&str> = record.operations.iter().map(|op| op.name.as_str()).collect();
    assert_eq!(names, ["ecdsa", "schnorr"]);
    assert_eq!(record.variants.first().map(String::as_str), Some("scalar"));
    let mut turns: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for run in &record.runs {
        let row = (run.round, &*run.operation, &*run.input, run.batch);
        turns.entry(row).or_default().push(&run.variant);
        assert!(run.wall_ns > 0 && run.threads == 1, "{run:?}");
        assert!(run.signatures >= run.batch && run.signatures % run.batch == 0, "{run:?}");
    }
    let there = record.variants.iter().map(String::as_str);
    let there_and_back: Vec<&str> = there.clone().chain(there.rev()).collect();
    assert!(turns.values().all(|turn| *turn == there_and_back), "{turns:?}");
    let batches = |operation, input| {
        let of_it = turns.keys().filter(|row| (row.0, row.1, row.2) == (2, operation, input));
        of_it.map(|row| row.3).collect::<Vec<_>>()
    };
    let undecided: Vec<u64> = (3..=15).chain([32, 256]).collect();
    for operation in names {
        assert_eq!(batches(operation, GOOD), [5, 32]);
        assert_eq!(batches(operation, UNDECIDED), undecided);
        assert_eq!(batches(operation, HALF_UNDECIDED), undecided);
    }
    assert_files(&out, record.variants.len());

    let again = scratch.path("again");
    let mut command = blockmill("report --markdown");
    let text = succeed(command.arg(&out).arg("--out").arg(&again));
    let table = fs::read_to_string(out.join("table.md")).expect("tables");
    assert!(text.starts_with(&table), "{text}");
    assert_files(&again, record.variants.len());
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let scratch = Scratch::new("bench-signatures-arguments");
    for (words, reason) in [
        ("--operations sign", "--operations: expected one of ecdsa, "),
        ("--operations ecdsa,", "found \n"),
        ("--threads 1000000", "--threads: expected 1 to "),
        ("--threads 0", "invalid value '0' for '--threads"),
        ("--batches 8,0", "invalid value '0' for '--batches"),
        ("--batches 65537", "65537 is not in 1..=65536"),
        ("--batches many", "invalid value 'many'"),
        ("--runs 0", "invalid value '0' for '--runs"),
    ] {
        let mut command = blockmill(&format!("bench signatures {words}"));
        let ended = run(command.arg("--out").arg(scratch.path("out")));
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{words}: {}", ended.stderr);
        assert!(!scratch.path("out").exists(), "{words}: nothing may be written");
    }
}

#[test]
fn two_records_at_once_are_no_report() {
    let scratch = Scratch::new("bench-signatures-records");
    let folder = scratch.path("records");
    fs::create_dir(&folder).expect("a folder");
    for name in ["a.json", "b.json"] {
        let record = SignatureRecord::new(pipeline::machine::Machine::default());
        record.write(&folder.join(name)).expect("a record");
    }
    let ended = run(blockmill("report").arg(&folder).arg("--out").arg(scratch.path("out")));
    assert_eq!(ended.code, Some(2));
    let reason = "expected one signature record alone, found 2 records";
    assert!(ended.stderr.contains(reason), "{}", ended.stderr);
}
