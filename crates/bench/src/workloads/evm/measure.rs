//! Runs the programs of a plan, each several times in a row, and computes the times of operations.

use super::machine::{Call, Machine};
use super::plan::Plan;
use crate::job::Job;
use anyhow::{Context, Result, ensure};
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_generate::ethereum::assembly::bytes;
use blockmill_pipeline::RunClock;
use blockmill_pipeline::record::{MGAS_PER_S, RunRecord};
use std::fs;
use std::path::Path;

/// The files of a plan, in its folder.
pub const PLAN: &str = "programs.json";
/// See [`PLAN`].
pub const GENESIS: &str = "genesis.json";

/// How long a program took: the median of its runs, and the longest, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    median: f64,
    worst: f64,
}

/// Reads a plan, and a machine over its accounts.
///
/// # Errors
/// Returns an error if the files are not a plan.
pub fn read(folder: &Path, fork: Fork) -> Result<(Plan, Machine)> {
    let read = |name| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let plan = serde_json::from_str(&read(PLAN)?).context(PLAN)?;
    let spec = ChainSpec::from_genesis_json(&read(GENESIS)?).context(GENESIS)?;
    let accounts = spec.genesis.accounts().context(GENESIS)?;
    Ok((plan, Machine::new(fork, &accounts)?))
}

/// Measures once.
///
/// # Errors
/// A program that does not do what the plan says.
pub fn once(job: &Job, fork: Fork) -> Result<RunRecord> {
    let clock = RunClock::start();
    let samples: usize = job.parsed("samples")?;
    ensure!(samples > 0, "samples: expected at least 1, found 0");
    let (plan, mut machine) = read(Path::new(job.setting("plan")?), fork)?;
    let mut took = vec![];
    for at in 0..plan.programs.len() {
        took.push(program(&plan, at, samples, &mut machine)?);
    }
    let mut record = RunRecord::new(blockmill_cli::program::this(), "");
    progress(&plan, &took, &mut record);
    record.take_usage(clock.cpu());
    Ok(record)
}

/// Runs a program: once to warm up, then for the samples.
fn program(plan: &Plan, at: usize, samples: usize, machine: &mut Machine) -> Result<Took> {
    let program = &plan.programs[at];
    let to = bytes(&program.to)?.try_into().ok().context("programs.json: an address")?;
    let input = bytes(&program.input)?;
    let tx = Call { to, input: &input, blobs: program.blobs }.transaction();
    let mut times = vec![];
    for sample in 0..=samples {
        let (outcome, took) = machine.execute(&tx)?;
        let (expected, found) = (program.gas_used, outcome.gas_used);
        let fails = || format!("program {at}: expected {expected} gas, found {found}");
        ensure!(outcome.success && expected == found, fails());
        if sample > 0 {
            times.push(took.as_nanos() as f64);
        }
    }
    times.sort_by(f64::total_cmp);
    let worst = times.last().copied().unwrap_or_default();
    Ok(Took { median: times[times.len() / 2], worst })
}

/// The answers of a run, in the form that peers use too.
fn progress(plan: &Plan, took: &[Took], record: &mut RunRecord) {
    let (mut gas, mut time) = (0.0, 0.0);
    for operation in &plan.operations {
        let name = &operation.name;
        let own = operation.program;
        let mgas = |gas: f64, ns: f64| if ns > 0.0 { gas / ns * 1e3 } else { 0.0 };
        let whole = plan.programs[own].gas_used as f64;
        gas += whole;
        time += took[own].median;
        let facts = &mut record.facts;
        let ns = operation.time(|at| took[at].median);
        facts.set(&format!("{name}.{MGAS_PER_S}"), mgas(operation.gas, ns));
        if operation.baseline.is_none() {
            continue;
        }
        let worst = operation.time(|at| if at == own { took[at].worst } else { took[at].median });
        facts.set(&format!("{name}.time_ns"), ns);
        facts.set(&format!("{name}.worst_ns"), worst);
        facts.set(&format!("{name}.gas"), operation.gas);
        let whole = mgas(whole, took[own].median);
        facts.set(&format!("{name}.program_{MGAS_PER_S}"), whole);
    }
    record.facts.set(MGAS_PER_S, gas / time * 1e3);
    record.facts.count("programs", plan.programs.len() as u64);
    let used: u64 = plan.programs.iter().map(|program| program.gas_used).sum();
    record.answer.insert("gas_used".into(), used.to_string());
    record.answer.insert("operations".into(), plan.operations.len().to_string());
}
