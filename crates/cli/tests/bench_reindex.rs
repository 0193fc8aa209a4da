//! `bench reindex`: one small round of everything, and its records as a report.

mod program;

use program::{Scratch, blockmill, run, succeed, succeed_json};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn of_definition<'a>(records: &'a Value, name: &str) -> Vec<&'a Value> {
    let records = records.as_array().expect("records").iter();
    records.filter(|record| record["reindex"]["definition"] == name).collect()
}

fn labels<'a>(records: &[&'a Value]) -> Vec<&'a str> {
    records.iter().map(|record| record["label"].as_str().expect("a label")).collect()
}

fn assert_files(folder: &Path) {
    for name in ["pr", "index", "connect", "connect-assumed"] {
        let chart = fs::read_to_string(folder.join(format!("reindex-{name}.svg")));
        assert!(chart.expect("a chart").starts_with("<svg"), "{name}");
    }
    let table = fs::read_to_string(folder.join("table.md")).expect("tables");
    for text in ["## pr\n", "without a parent", "## connect\n", "| scripts=library |", "| 16981 |"]
    {
        assert!(table.contains(text), "no {text:?} in\n{table}");
    }
}

#[test]
fn a_round_runs_every_design_and_all_agree() {
    let scratch = Scratch::new("bench-reindex");
    let out = scratch.path("out");
    let words = "bench reindex --gb 0.02 --inputs 300 --ladder --ablate --runs 1 --threads 2";
    let mut command = blockmill(words);
    command.arg("--cold").arg("--scratch").arg(scratch.path("data"));
    let records = succeed_json(command.arg("--out").arg(&out));

    let pr = of_definition(&records, "pr");
    let rungs = [
        "master",
        "16981",
        "16981-8M",
        "16981-32M",
        "16981-640M",
        "headers",
        "frames",
        "blockmill",
    ];
    assert_eq!(labels(&pr), rungs);
    let found = pr[0]["reindex"]["found"].as_u64().expect("a number");
    assert!(found > 1 && pr.iter().all(|record| record["reindex"]["orphans"] == found));

    let index = of_definition(&records, "index");
    assert_eq!(labels(&index)[..8], rungs);
    assert!(labels(&index).contains(&"scan=serial"), "{:?}", labels(&index));
    let [first, last] = [0, 7].map(|at| &index[at]["reindex"]);
    let bytes = |reindex: &Value, name| reindex[name].as_u64().expect("a number");
    // blocks that stand before their parents are read twice
    assert!(bytes(first, "index_bytes") > bytes(first, "file_bytes"), "{first}");
    assert!(bytes(last, "index_bytes") < bytes(first, "file_bytes") / 10, "{last}");
    assert_eq!(first["out_of_order"], first["from_disk"]);

    let connect = of_definition(&records, "connect");
    assert!(labels(&connect).contains(&"stages=serial"), "{:?}", labels(&connect));
    let assumed = of_definition(&records, "connect-assumed");
    assert_eq!(labels(&assumed), ["blockmill"]);
    let figures = |record: &Value| [&record["inputs"], &record["scripts"]].map(Value::as_u64);
    assert_eq!(figures(&connect[0]["reindex"]), [Some(300); 2]);
    assert_eq!(figures(&assumed[0]["reindex"]), [Some(300), Some(0)]);
    let hash = &connect[0]["reindex"]["coins_hash"];
    assert_eq!(hash.as_str().map(str::len), Some(64));
    assert_eq!(hash, &assumed[0]["reindex"]["coins_hash"]);
    assert_files(&out);

    let again = scratch.path("again");
    let mut command = blockmill("report --markdown");
    let text = succeed(command.arg(out.join("records")).arg("--out").arg(&again));
    assert!(text.starts_with("## connect\n") && text.contains("| scripts=library |"), "{text}");
    assert_files(&again);
}

#[test]
fn given_blocks_are_shuffled_and_connected() {
    let scratch = Scratch::new("bench-reindex-given");
    let chain = scratch.path("chain");
    let mut command = blockmill("generate bitcoin --inputs 50 --blocks 130");
    succeed(command.arg("--out").arg(&chain));
    let mut command = blockmill("bench reindex --only mainnet --runs 2");
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(scratch.path("out"));
    let records = succeed_json(command.arg(&chain));
    let runs = of_definition(&records, "mainnet");
    assert_eq!(labels(&runs), ["blockmill"; 2]);
    assert!(runs[0]["reindex"]["out_of_order"].as_u64() > Some(50), "{}", runs[0]);
    assert_eq!(runs[0]["result"]["tip_number"], 130);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let scratch = Scratch::new("bench-reindex-refused");
    for (words, reason) in [
        ("--only core", "expected pr, index, mainnet, connect, connect-assumed, found core"),
        ("--only mainnet", "mainnet: expected block files, found no path"),
        ("--gb 0", "expected a number above 0"),
    ] {
        let mut command = blockmill(&format!("bench reindex {words}"));
        let ended = run(command.arg("--scratch").arg(scratch.path("data")));
        assert_ne!(ended.code, Some(0));
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
}
