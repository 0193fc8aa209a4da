//! A session: comparisons of several definitions on one machine, one after the other, and the
//! document that holds them.

mod budget;
mod case;
mod programs;

use crate::comparison::{NoTime, Rules};
use crate::definition::{Definition, Settings};
use crate::experiment::Experiment;
use crate::findings::Comparison;
use crate::scratch::Scratch;
use crate::workloads::{self, Workload};
use anyhow::{Context, Result};
use blockmill_pipeline::machine::{Disk, Machine};
use blockmill_pipeline::record::{Program, RecordError, read_json, unix_time, write_json};
use budget::TimeBudget;
use case::Case;
use programs::Programs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The schema version that this program writes and reads.
pub const SCHEMA: u32 = 2;
/// The name of a [`Session`] in messages.
const NAME: &str = "record of a bench";

/// Everything that was measured in one session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Version of this layout; see [`SCHEMA`].
    pub schema: u32,
    /// The program that measured.
    pub program: Program,
    /// The command line, one entry for each argument.
    pub command: Vec<String>,
    /// When it began, in seconds since 1970-01-01T00:00:00Z.
    pub started_unix: f64,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// The machine.
    pub machine: Machine,
    /// The comparisons, in the order of time.
    pub comparisons: Vec<Comparison>,
    /// What was requested and not measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Comparisons that failed, with their errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Session {
    /// Writes the document to `path`, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        // thousands of runs: without line breaks the file has less than half the size
        write_json(serde_json::to_vec(self), NAME, path)
    }

    /// Reads the document in `path`.
    ///
    /// # Errors
    /// When it cannot be read, is none, or has another schema.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        read_json(path, NAME, SCHEMA)
    }
}

/// What to measure, and with what.
#[derive(Debug)]
pub struct Plan {
    /// What, and in which experiment.
    pub comparisons: Vec<(Definition, Experiment)>,
    /// What was requested and cannot be measured, and why.
    pub left_out: Vec<String>,
    /// When a comparison ends; its budget is that of its definition unless `budget` says otherwise.
    pub rules: Rules,
    /// The variants to measure, by their names; all without a name.
    pub only: Vec<String>,
    /// The flags of the command line that a comparison needs to be repeated as it was.
    pub flags: Vec<String>,
    /// How long everything may take, preparations included. No comparison starts after that.
    pub budget: Option<Duration>,
    /// Does each comparison in turn get the time of its definition, instead of an equal share?
    pub in_turn: bool,
    /// The folder of `peers.toml`.
    pub benchmarks: PathBuf,
    /// The folder for data and for the output of runs.
    pub scratch: Scratch,
    /// This program.
    pub program: PathBuf,
    /// The repository of revisions.
    pub repository: PathBuf,
}

/// Runs all comparisons of `plan`. If one fails, the record names its error, and the session
/// continues with the next.
///
/// # Errors
/// Returns an error if a definition does not fit its workload.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Session> {
    let start = Instant::now();
    let mut machine = Machine::detect();
    machine.disk = Disk::holding(plan.scratch.folder());
    let mut session = Session {
        schema: SCHEMA,
        program: blockmill_cli::program::this(),
        command: blockmill_cli::program::command_line(),
        started_unix: unix_time(),
        machine,
        left_out: plan.left_out.clone(),
        ..Session::default()
    };
    let mut built = Programs::default();
    let mut time = TimeBudget::of(plan, start);
    let mut without_time = BTreeMap::<&str, Vec<String>>::new();
    for (definition, experiment) in &plan.comparisons {
        let workload = workloads::by_name(&definition.measures)?;
        let cases = cases(definition, workload)?;
        let own_s = definition.seconds(experiment) / cases.len().max(1) as f64;
        for (at, (case, settings)) in cases.iter().enumerate() {
            let Some(budget) = time.take(own_s) else {
                let some = if at > 0 { "the rest of " } else { "" };
                without_time
                    .entry(&definition.name)
                    .or_default()
                    .push(format!("{some}{experiment}"));
                break;
            };
            let one = Case { plan, definition, workload, experiment, case, settings, budget };
            match one.compare(&mut built, progress) {
                Ok(comparison) => session.comparisons.push(comparison),
                Err(error) if error.is::<NoTime>() => {
                    let why = format!("{}, {experiment}: {error}", definition.name);
                    progress(&format!("left out: {why}"));
                    session.left_out.push(why);
                }
                Err(error) => {
                    let error = format!("{}, {experiment}: {error:#}", definition.name);
                    // all cases of a definition may fail in the same way
                    if session.failed.contains(&error) {
                        continue;
                    }
                    // the error of the only comparison is reported at the end
                    if plan.comparisons.len() > 1 {
                        progress(&format!("error: {error}"));
                    }
                    session.failed.push(error);
                }
            }
        }
    }
    for (name, experiments) in without_time {
        let why = format!("{name}: no time was left for {}", experiments.join(", "));
        progress(&why);
        session.left_out.push(why);
    }
    session.took_s = start.elapsed().as_secs_f64();
    Ok(session)
}

/// The cases of a definition that its workload has.
fn cases(
    definition: &Definition,
    workload: &'static dyn Workload,
) -> Result<Vec<(String, Settings)>> {
    let mut cases = vec![];
    for (name, settings) in definition.cases() {
        if workload.fits(&settings).with_context(|| definition.name.clone())? {
            cases.push((name, settings));
        }
    }
    Ok(cases)
}
