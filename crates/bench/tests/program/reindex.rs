//! `bench` of Bitcoin block files: one small block of everything, and its record as a report.

use crate::{Scratch, bench, run, succeed, succeed_json};
use blockmill_generate::bitcoin::{Order, Recipe, generate};
use serde_json::Value;
use std::fs;
use std::num::NonZero;

/// The records of a variant, in the order of time.
fn records<'a>(comparison: &'a Value, label: &str) -> Vec<&'a Value> {
    let all = comparison["variants"].as_array().expect("variants");
    let at = all.iter().position(|one| one["label"] == label).expect(label);
    let runs = comparison["runs"].as_array().expect("runs").iter();
    runs.filter(|run| run["variant"] == at).map(|run| &run["record"]).collect()
}

fn labels(comparison: &Value) -> Vec<&str> {
    let all = comparison["variants"].as_array().expect("variants").iter();
    all.map(|one| one["label"].as_str().expect("a label")).collect()
}

const STEPS: [&str; 7] = [
    "Core before PR 16981",
    "header first (PR 16981)",
    "8 MB look-back (PR 16981)",
    "32 MB look-back (PR 16981)",
    "640 MB look-back (PR 16981)",
    "headers linked after reading",
    "positioned reads of headers",
];

fn fact(record: &Value, name: &str) -> u64 {
    record["facts"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {}", record["facts"]))
}

#[test]
fn a_bench_runs_every_baseline_of_the_index_and_all_agree() {
    let scratch = Scratch::new("bench-index");
    let out = scratch.path("out");
    let words = "reindex-index --set gb=0.02 --set page-cache=cold --ladder --ablate --pairs 2";
    let mut command = bench(words);
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(&out);
    let session = succeed_json(&mut command);
    let [ladder, ablation] = [0, 1].map(|at| &session["comparisons"][at]);
    assert_eq!(labels(ladder)[2..], STEPS);
    assert!(labels(ablation).contains(&"scan=serial"), "{:?}", labels(ablation));
    let [first, last] = [STEPS[0], "blockmill"].map(|label| records(ladder, label)[0]);
    // blocks that come before their parents are read twice
    assert!(fact(first, "index_bytes") > fact(first, "file_bytes"), "{first}");
    assert!(fact(last, "index_bytes") < fact(first, "file_bytes") / 10, "{last}");
    assert_eq!(fact(first, "out_of_order"), fact(first, "from_disk"));

    let table = fs::read_to_string(out.join("table.md")).expect("tables");
    assert!(table.contains(STEPS[4]) && table.contains("scan=serial"), "{table}");
    let again = scratch.path("again");
    let page = scratch.path("page.md");
    let mut command = bench("report --markdown");
    succeed(command.arg(&page).arg(out.join("bench.json")).arg("--out").arg(&again));
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.contains(STEPS[4]) && text.contains("scan=serial"), "{text}");
    let links = text.match_indices("](page/").filter_map(|(at, link)| text.get(at + link.len()..));
    let charts: Vec<&str> = links.filter_map(|link| Some(link.split_once(')')?.0)).collect();
    assert!(charts.len() > 2, "{text}");
    charts.iter().for_each(|name| assert!(scratch.path("page").join(name).exists(), "{name}"));
}

#[test]
fn one_block_again_and_again_is_the_benchmark_of_the_reference() {
    let scratch = Scratch::new("bench-one-block");
    let words = "reindex-one-block --set gb=0.02 --ladder --pairs 1";
    let mut command = bench(words);
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(scratch.path("out"));
    let session = succeed_json(&mut command);
    let ladder = &session["comparisons"][0];
    assert_eq!(labels(ladder)[2..], [STEPS[0], STEPS[1], STEPS[5], STEPS[6]]);
    for label in labels(ladder) {
        for record in records(ladder, label) {
            assert!(fact(record, "found") > 1, "{record}");
            assert_eq!(fact(record, "orphans"), fact(record, "found"), "{record}");
        }
    }
}

#[test]
fn a_bench_connects_blocks_with_scripts_and_without_and_finds_the_same_coins() {
    let scratch = Scratch::new("bench-connect");
    let words = "reindex-connect reindex-connect-assumed --set inputs=300 --pairs 1";
    let mut command = bench(words);
    command.arg("--scratch").arg(scratch.path("data")).arg("--out").arg(scratch.path("out"));
    let session = succeed_json(&mut command);
    let [all, assumed] = [0, 1].map(|at| records(&session["comparisons"][at], "blockmill")[0]);
    let figures = |record| ["inputs", "scripts"].map(|name| fact(record, name));
    assert_eq!((figures(all), figures(assumed)), ([300; 2], [300, 0]));
    let hash = &all["answer"]["coins_hash"];
    assert_eq!(hash.as_str().map(str::len), Some(64));
    assert_eq!(hash, &assumed["answer"]["coins_hash"]);
}

#[test]
fn given_blocks_are_shuffled_and_connected() {
    let scratch = Scratch::new("bench-reindex-given");
    let chain = scratch.path("chain");
    let recipe = Recipe {
        inputs: 50,
        blocks: 130,
        block_inputs: 7_000,
        coins: None,
        padding: 0,
        unlinked: false,
        unusual: 0,
        stale: 0,
        duplicates: 0,
        seed: 1,
        order: Order::Height,
        xor: false,
        file_size: 128 << 20,
    };
    generate(&recipe, &chain, NonZero::<usize>::MIN, |_| ()).expect("a chain");
    let from = format!("from={}", chain.display());
    let mut command = bench("reindex-given --pairs 1 --set");
    command.arg(from).arg("--scratch").arg(scratch.path("data"));
    let session = succeed_json(command.arg("--out").arg(scratch.path("out")));
    let record = records(&session["comparisons"][0], "blockmill")[0];
    assert!(fact(record, "out_of_order") > 50, "{record}");
    assert_eq!(record["result"]["tip_number"], 130);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let scratch = Scratch::new("bench-reindex-refused");
    for (words, reason) in [
        ("headersx", "headersx: there is none; did you mean headers? `bench --list` shows all"),
        ("reindex-given", "expected --set from=... (the block files to shuffle), found none"),
        ("reindex-index --set gb=much", "gb=much: invalid float literal"),
        ("reindex-index --set size=1", "reindex-index: no setting 'size'; available: "),
        ("reindex-index --sweep gb", "reindex-index: no sweep of 'gb'; available: page-cache"),
        ("reindex-blocks --ladder", "reindex-blocks has no ladder; it has "),
        ("reindex-blocks --only x", "--only x: there are no variants to choose from"),
    ] {
        let mut command = bench(words);
        command.arg("--out").arg(scratch.path("out"));
        let ended = run(command.arg("--scratch").arg(scratch.path("data")));
        assert_ne!(ended.code, Some(0));
        assert_eq!(ended.stderr.matches(reason).count(), 1, "{}", ended.stderr);
    }
}
