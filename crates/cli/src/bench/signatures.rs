//! `bench signatures`.

use crate::answer::Answer;
use crate::args::BenchSignatures;
use crate::host::cores;
use crate::outputs;
use anyhow::{Context, Result, ensure};
use bench::signatures::{self, OPERATIONS, Operation, Plan};
use report::Colour;
use std::time::Duration;

/// `blockmill bench signatures`.
pub fn run(args: &BenchSignatures, json: bool) -> Result<Answer> {
    let plan = Plan {
        operations: operations(&args.operations)?,
        batches: ascending(&args.batches),
        threads: threads(&args.threads, cores())?,
        rounds: args.runs,
        least: Duration::from_millis(args.min_ms.into()),
    };
    outputs::results(&args.out, args.force)?;
    let record = signatures::run(&plan, |line| eprintln!("{line}"))?;
    let path = args.out.join("signatures.json");
    record.write(&path)?;
    let mut files = vec![path];
    files.extend(bench::output::write_signatures(&record, &args.out)?);
    let tables = report::signatures_table(&record, Colour::of_stdout());
    Answer::results(&record, &tables, &files, json)
}

/// The operations that were asked for, each once, in the order of the tables.
fn operations(names: &[String]) -> Result<Vec<&'static Operation>> {
    let asked = names.iter().map(|name| Operation::by_name(name).context("--operations"));
    let asked = asked.collect::<Result<Vec<_>>>()?;
    let is_asked = |operation: &&Operation| {
        asked.is_empty() || asked.iter().any(|asked| asked.name == operation.name)
    };
    Ok(OPERATIONS.iter().filter(is_asked).collect())
}

/// More threads than cores would take turns on them: no time would be that of a core.
fn threads(asked: &[u32], cores: usize) -> Result<Vec<usize>> {
    let threads = ascending(asked);
    for threads in &threads {
        ensure!(
            *threads <= cores,
            "--threads: expected 1 to {cores}, as many as there are cores, found {threads}"
        );
    }
    Ok(match threads.is_empty() {
        true if cores > 1 => vec![1, cores],
        true => vec![1],
        false => threads,
    })
}

fn ascending(numbers: &[u32]) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.iter().map(|number| *number as usize).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_one_and_all_cores_unless_others_are_asked_for() {
        assert_eq!(threads(&[], 8).unwrap(), [1, 8]);
        assert_eq!(threads(&[], 1).unwrap(), [1]);
        assert_eq!(threads(&[4, 2, 4], 8).unwrap(), [2, 4]);
        let error = threads(&[9], 8).unwrap_err().to_string();
        assert!(error.contains("expected 1 to 8") && error.ends_with("found 9"), "{error}");
    }

    #[test]
    fn operations_come_once_and_in_the_order_of_the_tables() {
        let names = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
            let found = operations(&asked).unwrap();
            found.iter().map(|operation| operation.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["schnorr", "ecdsa", "schnorr"]), ["ecdsa", "schnorr"]);
        assert_eq!(names(&[]).len(), OPERATIONS.len());
    }
}
