//! The results of `test`: a line a case, the totals, and the exit code.

use super::junit::Junit;
use crate::answer::Answer;
use anyhow::{Error, Result, ensure};
use blockmill_ethereum::suite::{Case, Verdict};
use blockmill_verdict::{FaultReport, Hex, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// How many cases of a network passed, failed, were not run.
type Counts = BTreeMap<String, [u64; 3]>;

/// The name of the line of cases without a network.
const NO_NETWORK: &str = "no network";

/// The results so far.
pub struct Report {
    json: bool,
    filter: Option<String>,
    counts: Counts,
    /// Files of which nothing was run, and whether this machine is the reason.
    unread: u64,
    trouble: bool,
    junit: Junit,
}

impl Report {
    /// No results.
    pub fn new(json: bool, filter: Option<String>) -> Self {
        let (counts, junit) = (Counts::new(), Junit::default());
        Self { json, filter, counts, unread: 0, trouble: false, junit }
    }

    /// Adds the cases of a file, or the reason why it was not run, and prints them.
    pub fn add_file(&mut self, file: &Path, outcome: Result<Vec<Case>>) {
        match outcome {
            Ok(cases) => {
                cases.iter().for_each(|case| self.add(file, case));
                self.junit.add_file(file, &cases);
            }
            Err(error) => self.add_unread(file, &error),
        }
    }

    fn add(&mut self, file: &Path, case: &Case) {
        let at = match case.verdict {
            Verdict::Passed => 0,
            Verdict::Failed { .. } => 1,
            Verdict::Skipped { .. } => 2,
        };
        let network = if case.network.is_empty() { NO_NETWORK } else { &case.network };
        self.counts.entry(network.to_owned()).or_default()[at] += 1;
        match self.json {
            true => println!("{}", document(file, case)),
            false => print(case),
        }
    }

    /// Counts a file that is not understood, or cannot be read, as one that was not run.
    fn add_unread(&mut self, file: &Path, error: &Error) {
        let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
        self.trouble |= io.is_some_and(|error| Status::of_io(error) == Status::Environment);
        self.unread += 1;
        let reason = format!("{error:#}");
        self.junit.add_unread(file, &reason);
        let file = file.display().to_string();
        match self.json {
            true => println!("{}", json!({ "file": file, "pass": null, "error": reason })),
            false => println!("skip  {file}: {reason}"),
        }
    }

    /// The results as JUnit's XML.
    pub fn junit(&self) -> String {
        self.junit.document()
    }

    /// The totals, and the status that they lead to.
    ///
    /// # Errors
    /// Returns an error if no case has the text of the filter.
    pub fn end(self, stopped: bool) -> Result<Answer> {
        let Self { json, filter, counts, unread, trouble, .. } = self;
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
        if let Some(text) = filter.filter(|_| cases == 0 && !stopped && !trouble) {
            ensure!(false, "no case has {text:?} in its name and network: see --filter");
        }
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
        Answer { in_lines: true, ..answer }.with(json!({
            "passed": passed, "failed": failed, "skipped": skipped, "unread_files": unread,
            "networks": counts,
        }))
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
    let root = case.end.state_root.map(|root| Hex(&root).to_string());
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
