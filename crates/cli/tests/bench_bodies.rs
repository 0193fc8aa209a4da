//! `bench bodies`, and the chain of transfers that it runs on.

mod program;

use program::{Scratch, blockmill, run, succeed, succeed_json};
use serde_json::Value;
use std::fs;

fn stage<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    record["stages"].as_array()?.iter().find(|stage| stage["name"] == name)
}

#[test]
fn a_round_runs_every_design_and_each_recovers_every_sender() {
    let scratch = Scratch::new("bench-bodies");
    let out = scratch.path("out");
    let words = "bench bodies --transfers 500 --block-transfers 12 --ladder --ablate --runs 1";
    let mut command = blockmill(words);
    command.args(["--threads", "1"]).arg("--scratch").arg(scratch.path("data"));
    let records = succeed_json(command.arg("--out").arg(&out));
    let records = records.as_array().expect("records");
    let labels: Vec<_> = records.iter().filter_map(|record| record["label"].as_str()).collect();
    assert_eq!(labels[..4], ["one by one", "lanes", "chunk batches", "blockmill"]);
    for label in ["sender-batches=block", "stages=serial"] {
        assert!(labels.contains(&label), "{labels:?}");
    }
    for record in records {
        assert_eq!((&record["level"], &record["data"]["blocks"]), (&"bodies".into(), &43.into()));
        let senders = stage(record, "senders").expect("a stage of senders");
        assert_eq!(senders["items"], 500);
        assert!(senders["busy_s"].as_f64().expect("seconds") > 0.0);
    }
    let table = fs::read_to_string(out.join("table.md")).expect("a table");
    for text in ["| **one by one** |", "| **sender-batches=block** |", "500 senders in 43 blocks"] {
        assert!(table.contains(text), "no {text:?} in\n{table}");
    }
}

#[test]
fn a_generated_chain_of_transfers_verifies_and_says_who_recovered_its_senders() {
    let scratch = Scratch::new("transfers");
    let chain = scratch.path("chain");
    let words = "generate ethereum --transfers 3000 --seed 2 --out";
    let generated = succeed(blockmill(words).arg(&chain));
    assert!(generated.contains("blocks 0 to 3 with 3,000 transfers"), "{generated}");
    let file = chain.join("chain.rlp");
    let record = succeed_json(blockmill("verify --seal off").arg(&file));
    assert_eq!((&record["level"], &record["result"]["tip_number"]), (&"bodies".into(), &3.into()));
    let notes = record["notes"].to_string();
    assert!(notes.contains("3,000 senders recovered by signatures="), "{notes}");
    assert!(notes.contains("of a chunk together"), "{notes}");

    let record = scratch.path("record.json");
    let with = "verify --seal off --with signatures=scalar --with sender-batches=block --record";
    succeed(blockmill(with).arg(&record).arg(&file));
    let record = fs::read_to_string(record).expect("a record");
    assert!(record.contains("signatures=scalar, up to 256 of a block together"), "{record}");
}

#[test]
fn the_flags_of_transfers_exclude_those_of_headers() {
    let scratch = Scratch::new("transfer-flags");
    for flags in ["--headers 5", "--format rlp"] {
        let words = format!("generate ethereum --transfers 5 {flags} --out");
        let ended = run(blockmill(&words).arg(scratch.path("never")));
        assert_ne!(ended.code, Some(0), "{flags}");
    }
    let ended = run(blockmill("generate ethereum --block-transfers 5 --out").arg("never"));
    assert_ne!(ended.code, Some(0));
}

#[test]
fn two_benchmarks_never_share_a_scratch_folder() {
    let scratch = Scratch::new("bench-shared");
    let data = scratch.path("data");
    fs::create_dir(&data).expect("a folder");
    let lock = fs::File::create(data.join("lock")).expect("a file");
    lock.lock().expect("a lock");
    for words in ["bodies --transfers 5", "headers --headers 5", "reindex --inputs 5"] {
        let mut command = blockmill(&format!("bench {words} --runs 1"));
        command.arg("--scratch").arg(&data).arg("--out").arg(scratch.path("never"));
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains("no other benchmark uses"), "{words}: {}", ended.stderr);
    }
}
