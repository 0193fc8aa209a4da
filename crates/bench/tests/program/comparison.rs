//! `bench` as a whole: definitions of one's own, differences that are planted, and the gate.

use crate::{Scratch, run, succeed, succeed_json};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A short import of headers, with an answer and a slower variant.
const PLANTED: &str = r#"
title = "Planted"
about = "A run that a busy loop makes five times as long, as much as any load would hide."
measures = "import"
compare = ["wall_s"]
budget_s = 60

[settings]
chain = "ethereum"
data = "headers"
headers = 3000
seed = 1
level = "headers"
seal = "off"
threads = 1
slow-down = 0

[answer]
tip_number = 3000

[sweep]
slow-down = [0, 4]
"#;

/// A folder of definitions with one file.
fn benchmarks(scratch: &Scratch, name: &str, text: &str) -> std::path::PathBuf {
    let folder = scratch.path("benchmarks");
    fs::create_dir_all(folder.join("definitions")).expect("a folder");
    fs::write(folder.join("definitions").join(name), text).expect("a file");
    folder
}

fn bench(words: &str, scratch: &Scratch, benchmarks: &Path) -> std::process::Command {
    let mut command = crate::bench(words);
    command.arg("--benchmarks").arg(benchmarks).arg("--scratch").arg(scratch.path("data"));
    command.arg("--out").arg(scratch.path("out"));
    command
}

#[test]
fn a_definition_of_ones_own_is_listed_and_measured_and_a_slower_run_is_found() {
    let scratch = Scratch::new("bench-planted");
    let folder = benchmarks(&scratch, "planted.toml", PLANTED);
    let listed = succeed(crate::bench("--list --benchmarks").arg(&folder));
    assert!(listed.contains("planted") && listed.contains("sweep slow-down"), "{listed}");
    assert!(listed.contains("headers") && listed.contains("ladder, ablation"), "{listed}");

    let words = "planted --sweep slow-down --pairs 12";
    let session = succeed_json(&mut bench(words, &scratch, &folder));
    let comparison = &session["comparisons"][0];
    assert_eq!(comparison["experiment"], "sweep slow-down");
    let slow = comparison["variants"].as_array().expect("variants").iter();
    let slow = slow.map(|one| one["label"].as_str().expect("a label")).collect::<Vec<_>>();
    assert_eq!(slow, ["blockmill", "again", "slow-down 4"]);
    let table = fs::read_to_string(scratch.path("out").join("table.md")).expect("a table");
    assert!(table.contains("| 4 |") && table.contains("**slower**"), "{table}");
    let page = fs::read_to_string(scratch.path("out").join("index.html")).expect("a page");
    assert!(page.contains("Planted"));
}

#[test]
fn a_wrong_answer_fails_the_bench() {
    let scratch = Scratch::new("bench-wrong-answer");
    let text = PLANTED.replace("tip_number = 3000", "tip_number = 2999");
    let folder = benchmarks(&scratch, "planted.toml", &text);
    let ended = run(&mut bench("planted --pairs 1", &scratch, &folder));
    assert_ne!(ended.code, Some(0));
    let reason = "expected tip_number 2999, found 3000";
    assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    // other settings have another answer, which nobody stated
    succeed(&mut bench("planted --pairs 1 --set headers=50", &scratch, &folder));
}

#[test]
fn a_check_writes_a_comment_also_when_it_fails() {
    let scratch = Scratch::new("bench-comment");
    let comment = scratch.path("out").join("comment.md");
    let folder = benchmarks(&scratch, "planted.toml", PLANTED);
    // the program with itself: one pair, so that no load decides the verdict
    let printed = succeed(&mut bench("planted --check . --pairs 1", &scratch, &folder));
    assert!(printed.contains(&format!("wrote {}", comment.display())), "{printed}");
    let text = fs::read_to_string(&comment).expect("a comment");
    let head = "<!-- blockmill bench -->\n**Too few pairs to compare with this program.**\n";
    assert!(text.starts_with(head) && text.contains("| Planted | whole run | "), "{text}");

    let wrong = PLANTED.replace("tip_number = 3000", "tip_number = 2999");
    let folder = benchmarks(&scratch, "planted.toml", &wrong);
    let ended = run(&mut bench("planted --check . --pairs 1", &scratch, &folder));
    assert_ne!(ended.code, Some(0));
    let text = fs::read_to_string(&comment).expect("a comment");
    assert!(text.contains("**Nothing was measured.**"), "{text}");
    assert!(text.contains("expected tip\\_number 2999, found 3000"), "{text}");
}

#[test]
fn a_definition_that_is_wrong_is_refused_by_its_name() {
    let scratch = Scratch::new("bench-wrong-definition");
    for (from, to, reason) in [
        (
            "measures = \"import\"",
            "measures = \"magic\"",
            "measures = 'magic'; available: benchmark-tests, evm, export, import",
        ),
        ("title", "titel", "unknown field `titel`"),
        ("chain = \"ethereum\"", "chain = \"other\"", "chain = 'other'; available: ethereum, "),
        ("level = \"headers\"", "level = \"all\"", "level = 'all'; available: headers, bodies"),
    ] {
        let folder = benchmarks(&scratch, "planted.toml", &PLANTED.replace(from, to));
        let ended = run(&mut bench("planted --pairs 1", &scratch, &folder));
        assert_ne!(ended.code, Some(0), "{to}");
        assert!(ended.stderr.contains(reason), "{to}: {}", ended.stderr);
    }
}

#[test]
fn a_store_goes_through_its_operations_in_one_folder() {
    let scratch = Scratch::new("bench-store");
    let words = "store --set keys=20000 --pairs 1";
    let session = succeed_json(&mut bench(words, &scratch, Path::new("benchmarks")));
    let record = &session["comparisons"][0]["runs"][0]["record"];
    for op in ["fill", "get", "get-absent", "get-many", "scan", "update"] {
        assert!(record["facts"][format!("{op}.time_ns")].as_f64() > Some(0.0), "{op}: {record}");
        let digest = record["answer"][format!("{op}.digest")].as_str();
        assert_eq!(digest == Some("0x0000000000000000"), op == "get-absent", "{op}: {record}");
    }
}

#[test]
fn a_state_that_is_loaded_goes_through_its_blocks_and_nobody_warms_up() {
    let scratch = Scratch::new("bench-store-share");
    let words = "store-pages-share --set keys=20000 --set blocks=20 --pairs 1";
    let session = succeed_json(&mut bench(words, &scratch, Path::new("benchmarks")));
    let runs = session["comparisons"][0]["runs"].as_array().expect("runs");
    assert!(runs.iter().all(|run| run["block"] == 1), "{runs:?}");
    let facts = &runs[0]["record"]["facts"];
    assert_eq!(facts["load.operations"], 20_000);
    // of 500 changes some meet in a key
    let changes = facts["blocks.operations"].as_u64().expect("changes");
    assert!((9_000..=10_000).contains(&changes), "{facts}");
    assert_eq!(runs[0]["record"]["settings"]["memory-bytes"], "53600");
}

#[test]
fn a_record_of_a_bench_is_a_report_and_others_are_not() {
    let scratch = Scratch::new("bench-report");
    let out = scratch.path("out");
    let words = "rlp --pairs 1 --set case=header --set op=hash --set samples=1 --set min-ms=0";
    let session = succeed_json(&mut bench(words, &scratch, Path::new("benchmarks")));
    let (again, markdown) = (scratch.path("again"), scratch.path("benches.md"));
    let mut command = crate::bench("report");
    command.arg(out.join("bench.json")).arg("--out").arg(&again).arg("--markdown").arg(&markdown);
    succeed(&mut command);
    let page = fs::read_to_string(&markdown).expect("a page");
    assert!(page.starts_with("# Benchmarks") && page.contains("RLP: one object"), "{page}");
    for name in ["table.md", "index.html"] {
        let read = |folder: &Path| fs::read_to_string(folder.join(name)).expect(name);
        assert_eq!(read(&out), read(&again), "{name}");
    }
    let mut other: Value = session;
    other["schema"] = 9.into();
    let path = scratch.path("other.json");
    fs::write(&path, other.to_string()).expect("a file");
    let ended = run(crate::bench("report").arg(&path).arg("--out").arg(scratch.path("never")));
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("schema 9; this program reads schema 2"), "{}", ended.stderr);
}

/// Names of the files in a folder, without the file that marks its owner.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

#[test]
fn the_pages_of_results_are_generated_from_the_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (docs, scratch) = (root.join("docs/results"), Scratch::new("bench-results"));
    let (pages, out) = (scratch.path("results"), scratch.path("out"));
    let mut command = crate::bench("report --results");
    succeed(command.arg(&pages).arg(root.join("benchmarks/record")).arg("--out").arg(out));
    let generated = names(&pages);
    let charts = generated.iter().filter(|name| name.ends_with(".svg")).count();
    assert!((10..=20).contains(&charts), "{charts} charts");
    // written by hand
    let mut expected = [&generated[..], &["other-commands.md".to_owned()]].concat();
    expected.sort();
    assert_eq!(names(&docs), expected);
    for file in generated {
        let same = fs::read(docs.join(&file)).ok() == fs::read(pages.join(&file)).ok();
        let again = "blockmill-bench report benchmarks/record --results docs/results --out DIR";
        assert!(same, "docs/results/{file}: expected what the records say ({again})");
    }
}

#[test]
fn records_in_the_repository_are_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/record");
    let files = names(&folder);
    let size = |name: &String| fs::metadata(folder.join(name)).expect("a record").len();
    let bytes: u64 = files.iter().map(size).sum();
    assert!(files.len() > 5 && bytes <= 1_000_000, "{} files, {bytes} bytes", files.len());
}
