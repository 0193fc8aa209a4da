//! `test`: the public tests of the execution layer, with this program as one more client.

use crate::answer::Answer;
use crate::args::Test;
use anyhow::{Context, Result, ensure};
use chain::{FaultReport, Hex, Status};
use ethereum::suite::{self, Case, Verdict};
use pipeline::Cancel;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How many cases of a network passed, failed, were not run.
type Counts = BTreeMap<String, [u64; 3]>;

/// `blockmill test`.
pub fn run(args: &Test, json: bool, cancel: &Cancel) -> Result<Answer> {
    let mut files = vec![];
    for path in &args.paths {
        find(path, &mut files)?;
    }
    ensure!(!files.is_empty(), "expected a file with the ending .json, found none");
    let (mut counts, mut results) = (Counts::new(), vec![]);
    let mut stopped = false;
    for file in &files {
        if cancel.is_cancelled() {
            stopped = true;
            break;
        }
        let cases = cases(file)?;
        for case in &cases {
            count(&mut counts, case);
            if json {
                results.push(document(file, case));
            } else {
                print(case);
            }
        }
    }
    let sum = |at: usize| counts.values().map(|counts| counts[at]).sum::<u64>();
    let (passed, failed, skipped) = (sum(0), sum(1), sum(2));
    if !json {
        for (network, [passed, failed, skipped]) in &counts {
            println!("{network:<34}{passed:>8} passed{failed:>8} failed{skipped:>8} not run");
        }
        println!("{:<34}{passed:>8} passed{failed:>8} failed{skipped:>8} not run", "all");
    }
    let answer = match (failed, stopped) {
        (0, false) => Answer::ok(),
        (0, true) => Answer::of(Status::Interrupted),
        _ => {
            let message = format!("{failed} of {} cases failed", passed + failed);
            Answer { error: Some(FaultReport::new(message)), ..Answer::of(Status::Fault) }
        }
    };
    let (networks, cases) = (&counts, results);
    answer.with(json!({
        "passed": passed, "failed": failed, "skipped": skipped,
        "networks": networks, "cases": cases,
    }))
}

/// The cases of a file.
fn cases(file: &Path) -> Result<Vec<Case>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    suite::run(&text).with_context(|| file.display().to_string())
}

/// Files with tests at and below a path, in the order of their names.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = || format!("cannot read {}", path.display());
    if !fs::metadata(path).with_context(unreadable)?.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let entries: std::io::Result<Vec<_>> =
        fs::read_dir(path).with_context(unreadable)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries.with_context(unreadable)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|ending| ending == "json") {
            find(&entry, files)?;
        }
    }
    Ok(())
}

fn count(counts: &mut Counts, case: &Case) {
    let at = match case.verdict {
        Verdict::Passed => 0,
        Verdict::Failed { .. } => 1,
        Verdict::Skipped { .. } => 2,
    };
    counts.entry(case.network.clone()).or_default()[at] += 1;
}

/// A case with the fields that go-ethereum's `evm` has for one.
fn document(file: &Path, case: &Case) -> Value {
    let (pass, error) = match &case.verdict {
        Verdict::Passed => (Some(true), None),
        Verdict::Failed { expected, found } => {
            (Some(false), Some(format!("expected {expected}, found {found}")))
        }
        Verdict::Skipped { reason } => (None, Some((*reason).to_owned())),
    };
    let root = case.state_root.map(|root| Hex(&root).to_string());
    let file = file.display().to_string();
    json!({
        "file": file, "name": case.name, "pass": pass, "stateRoot": root, "fork": case.network,
        "error": error,
    })
}

fn print(case: &Case) {
    let Case { name, network, verdict, .. } = case;
    match verdict {
        Verdict::Passed => println!("pass  {name} ({network})"),
        Verdict::Failed { expected, found } => {
            println!("FAIL  {name} ({network}): expected {expected}, found {found}");
        }
        Verdict::Skipped { reason } => println!("skip  {name} ({network}): {reason}"),
    }
}
