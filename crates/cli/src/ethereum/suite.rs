//! `test`: the public tests of the execution layer, with this program as one more client.

use crate::answer::Answer;
use crate::args::Test;
use crate::documents;
use anyhow::{Context, Error, Result, ensure};
use blockmill_ethereum::suite::{self, Case, Verdict};
use blockmill_pipeline::Cancel;
use blockmill_platform::files::{self, FileKind};
use blockmill_verdict::{FaultReport, Hex, Status};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many cases of a network passed, failed, were not run.
type Counts = BTreeMap<String, [u64; 3]>;

/// A file that may hold tests, or the reason why it cannot be reached.
type Found = (PathBuf, Result<()>);

/// What the line of cases without a network is called.
const NO_NETWORK: &str = "no network";

/// `blockmill test`.
pub fn run(args: &Test, json: bool, cancel: &Cancel) -> Result<Answer> {
    let (mut files, mut seen) = (vec![], HashSet::new());
    for path in &args.paths {
        // a path that the user names must exist
        fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        find(path, &mut seen, &mut files);
    }
    ensure!(!files.is_empty(), "expected a file with the ending .json, found none");
    let mut report = Report { json, ..Report::default() };
    let mut stopped = false;
    for (file, reachable) in files {
        if cancel.is_cancelled() {
            stopped = true;
            break;
        }
        match reachable.and_then(|()| cases(&file)) {
            Ok(cases) => cases.iter().for_each(|case| report.add(&file, case)),
            Err(error) => report.add_unread(&file, &error),
        }
    }
    report.end(stopped)
}

/// What was found so far.
#[derive(Default)]
struct Report {
    json: bool,
    counts: Counts,
    results: Vec<Value>,
    /// Files of which nothing was run, and whether this machine is the reason.
    unread: u64,
    trouble: bool,
}

impl Report {
    fn add(&mut self, file: &Path, case: &Case) {
        let at = match case.verdict {
            Verdict::Passed => 0,
            Verdict::Failed { .. } => 1,
            Verdict::Skipped { .. } => 2,
        };
        let network = if case.network.is_empty() { NO_NETWORK } else { &case.network };
        self.counts.entry(network.to_owned()).or_default()[at] += 1;
        if self.json {
            self.results.push(document(file, case));
        } else {
            print(case);
        }
    }

    /// Counts a file that is not understood, or cannot be read, as one that was not run.
    fn add_unread(&mut self, file: &Path, error: &Error) {
        let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        self.trouble |= io.is_some_and(|error| Status::of_io(error) == Status::Environment);
        self.unread += 1;
        let reason = format!("{error:#}");
        if self.json {
            let file = file.display().to_string();
            self.results.push(json!({ "file": file, "pass": null, "error": reason }));
        } else {
            println!("skip  {}: {reason}", file.display());
        }
    }

    /// The totals, and the status that they lead to.
    fn end(self, stopped: bool) -> Result<Answer> {
        let Self { json, counts, results, unread, trouble } = self;
        let sum = |at: usize| counts.values().map(|counts| counts[at]).sum::<u64>();
        let (passed, failed, skipped) = (sum(0), sum(1), sum(2));
        if !json {
            for (network, [passed, failed, skipped]) in &counts {
                println!("{network:<34}{passed:>8} passed{failed:>8} failed{skipped:>8} not run");
            }
            println!("{:<34}{passed:>8} passed{failed:>8} failed{skipped:>8} not run", "all");
            if unread > 0 {
                println!("{:<34}{unread:>8} not run", "files without a test that is understood");
            }
        }
        let cases = passed + failed + skipped;
        let (status, message) = match () {
            () if failed > 0 => {
                (Status::Invalid, Some(format!("{failed} of {} cases failed", passed + failed)))
            }
            () if stopped => (Status::Interrupted, None),
            () if trouble => {
                (Status::Environment, Some(format!("{unread} files could not be read")))
            }
            () if cases == 0 => (Status::Unrecognised, Some("no file holds a test".to_owned())),
            () if skipped + unread > 0 => {
                let text = format!("{skipped} of {cases} cases and {unread} files were not run");
                (Status::Incomplete, Some(text))
            }
            () => (Status::Ok, None),
        };
        let answer = Answer { error: message.map(FaultReport::new), ..Answer::with_status(status) };
        answer.with(json!({
            "passed": passed, "failed": failed, "skipped": skipped, "unread_files": unread,
            "networks": counts, "cases": results,
        }))
    }
}

/// The cases of a file.
fn cases(file: &Path) -> Result<Vec<Case>> {
    Ok(suite::run(&documents::read_text(file)?)?)
}

/// Files with tests at and below a path, in the order of their names. Folders that were seen are
/// passed over, as links may lead back.
fn find(path: &Path, seen: &mut HashSet<(u64, u64)>, files: &mut Vec<Found>) {
    let mut add = |found: io::Result<()>| {
        let found = found.with_context(|| format!("cannot read {}", path.display()));
        files.push((path.to_path_buf(), found));
    };
    match fs::metadata(path) {
        Ok(found) if FileKind::of(found.file_type()) == FileKind::Folder => {
            if !seen.insert((found.dev(), found.ino())) {
                return;
            }
        }
        Ok(_) => return add(Ok(())),
        Err(error) => return add(Err(error)),
    }
    let entries = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return add(Err(error)),
    };
    entries.sort();
    for entry in entries {
        let is_json = entry.extension().is_some_and(|ending| ending == "json");
        // what cannot be reached may be a folder
        if is_json || files::kind(&entry).map_or(true, |kind| kind == FileKind::Folder) {
            find(&entry, seen, files);
        }
    }
}

/// A case with the fields that go-ethereum's `evm` has for one.
fn document(file: &Path, case: &Case) -> Value {
    let (pass, error) = match &case.verdict {
        Verdict::Passed => (Some(true), None),
        Verdict::Failed { expected, found } => {
            (Some(false), Some(format!("expected {expected}, found {found}")))
        }
        Verdict::Skipped { reason } => (None, Some(reason.clone())),
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
        Verdict::Skipped { reason } if network.is_empty() => println!("skip  {name}: {reason}"),
        Verdict::Skipped { reason } => println!("skip  {name} ({network}): {reason}"),
    }
}
