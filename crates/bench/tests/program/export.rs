//! `bench export-...`: tables of verified blocks, compared with verification only.

use crate::{Scratch, run, succeed_json};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn bench(words: &str, scratch: &Scratch) -> std::process::Command {
    let mut command = crate::bench(words);
    command.arg("--benchmarks").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks"));
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(scratch.path("out"));
    command
}

#[test]
fn an_export_is_compared_with_verification_and_its_rows_are_counted() {
    let scratch = Scratch::new("bench-export");
    let words = "export-transfers --set transfers=500 --set block-transfers=12 --ladder --pairs 2";
    let session = succeed_json(&mut bench(words, &scratch));
    let comparison = &session["comparisons"][0];
    let all = comparison["variants"].as_array().expect("variants").iter();
    let labels: Vec<_> = all.map(|one| one["label"].as_str().expect("a label")).collect();
    assert_eq!(labels, ["blockmill", "again", "verification only"]);
    let mut written = 0;
    for run in comparison["runs"].as_array().expect("runs") {
        let record = &run["record"];
        assert_eq!((&record["level"], &record["data"]["blocks"]), (&"bodies".into(), &43.into()));
        assert_eq!(record["result"]["tip_number"], 42);
        let answer = &record["answer"];
        if run["variant"] == 2 {
            assert_eq!((answer, &record["facts"]["rows"]), (&json!({}), &Value::Null));
            continue;
        }
        let of = |table: &str| answer[format!("rows_{table}")].as_str();
        assert_eq!(of("blocks"), Some("43"), "with the first block");
        assert_eq!((of("transactions"), of("withdrawals")), (Some("500"), Some("0")));
        assert_eq!(record["facts"]["rows"], 543.0);
        assert!(record["facts"]["tables_bytes"].as_f64() > Some(50_000.0), "{record}");
        assert!(record["facts"]["row_cpu_ns"].as_f64() > Some(0.0), "{record}");
        written += 1;
    }
    assert!(written >= 4, "{written}");
    let table = fs::read_to_string(scratch.path("out").join("table.md")).expect("a table");
    assert!(table.contains("verification only"), "{table}");
}

#[test]
fn what_an_export_needs_is_named() {
    let scratch = Scratch::new("bench-export-wrong");
    for (setting, reason) in [
        ("tables=blocks,block", "found block; did you mean blocks?"),
        ("chain=bitcoin", "chain = 'bitcoin'; available: ethereum"),
    ] {
        let words =
            format!("export-rpc --set blocks=2 --set accounts=50 --set {setting} --pairs 1");
        let ended = run(&mut bench(&words, &scratch));
        assert_ne!(ended.code, Some(0), "{setting}");
        assert!(ended.stderr.contains(reason), "{setting}: {}", ended.stderr);
    }
}
