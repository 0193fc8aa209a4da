//! `bodies`: the senders of transfers.

use crate::{Scratch, bench, run, succeed_json};
use serde_json::Value;
use std::fs;

fn stage<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    record["stages"].as_array()?.iter().find(|stage| stage["name"] == name)
}

#[test]
fn a_bench_runs_every_step_and_each_recovers_every_sender() {
    let scratch = Scratch::new("bench-bodies");
    let out = scratch.path("out");
    let words = "bodies --set transfers=500 --set block-transfers=12 --set threads=1 \
                 --ladder --ablate --pairs 2";
    let mut command = bench(words);
    command.arg("--scratch").arg(scratch.path("data"));
    let session = succeed_json(command.arg("--out").arg(&out));
    let comparisons = session["comparisons"].as_array().expect("comparisons");
    assert_eq!(comparisons.len(), 2);
    let labels = |comparison: &Value| -> Vec<String> {
        let all = comparison["variants"].as_array().expect("variants").iter();
        all.map(|one| one["label"].as_str().expect("a label").to_owned()).collect()
    };
    let steps = [
        "blockmill",
        "again",
        "no optimisations",
        "signatures in lanes",
        "senders of a chunk together",
    ];
    assert_eq!(labels(&comparisons[0]), steps);
    for label in ["sender-batches=block", "stages=serial", "all at the plainest value"] {
        assert!(
            labels(&comparisons[1]).contains(&label.to_owned()),
            "{:?}",
            labels(&comparisons[1])
        );
    }
    for run in
        comparisons.iter().flat_map(|comparison| comparison["runs"].as_array().expect("runs"))
    {
        let record = &run["record"];
        assert_eq!((&record["level"], &record["data"]["blocks"]), (&"bodies".into(), &43.into()));
        assert!(record["facts"]["wall_s"].as_f64().expect("seconds") > 0.0);
        if record["stages"].as_array().is_some_and(|stages| !stages.is_empty()) {
            assert_eq!(stage(record, "check: senders").expect("a stage of senders")["items"], 500);
        }
    }
    let table = fs::read_to_string(out.join("table.md")).expect("a table");
    for text in ["no optimisations", "sender-batches=block", "only signatures="] {
        assert!(table.contains(text), "no {text:?} in\n{table}");
    }
}

#[test]
fn two_benchmarks_never_share_a_scratch_folder() {
    let scratch = Scratch::new("bench-shared");
    let data = scratch.path("data");
    fs::create_dir(&data).expect("a folder");
    let lock = fs::File::create(data.join("lock")).expect("a file");
    lock.lock().expect("a lock");
    for words in ["bodies", "headers", "reindex-connect"] {
        let mut command = bench(&format!("{words} --pairs 1"));
        command.arg("--scratch").arg(&data).arg("--out").arg(scratch.path("never"));
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains("no other benchmark uses"), "{words}: {}", ended.stderr);
    }
}
