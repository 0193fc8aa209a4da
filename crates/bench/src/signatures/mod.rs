//! `bench signatures`: what signatures in batches cost, every variant that this CPU has beside the
//! scalar library, in one process and in turn, so that a machine that becomes slower or faster does
//! so for all of them. Every verdict of every measurement is compared with the right one.

mod made;
mod made_p256;
mod measure;
mod operations;

pub use operations::{OPERATIONS, Operation};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use crypto::{Signatures, Variant};
use pipeline::machine::Machine;
use pipeline::signature_record::{SignatureOperation, SignatureRecord, SignatureRun};

use measure::{Pools, Work};
use operations::Input;

/// Batches of signatures that no lane can decide: those that fill vectors in part, for whose lanes
/// a whole vector is paid, and full ones.
const UNDECIDED_BATCHES: [usize; 15] = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 32, 256];

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The operations.
    pub operations: Vec<&'static Operation>,
    /// Signatures of a batch, above zero.
    pub batches: Vec<usize>,
    /// Threads that work at once, above zero.
    pub threads: Vec<usize>,
    /// Rounds.
    pub rounds: u32,
    /// Least time of a measurement.
    pub least: Duration,
}

/// One row of the tables, all of whose variants are measured in turn.
struct Row<'a> {
    operation: &'a Operation,
    input: Input,
    batch: usize,
    threads: usize,
    /// Batches of a measurement on each thread, for each variant.
    batches: Vec<u64>,
}

/// Measures everything that `plan` names, round by round. In a round, each row is measured with all
/// variants from the slowest to the fastest, and then from the fastest to the slowest.
///
/// # Errors
/// When a verdict is wrong.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<SignatureRecord> {
    let mut record = SignatureRecord::new(Machine::detect());
    record.command = crate::child::command_line();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    record.started_unix = since_1970.as_secs_f64();
    let variants: Vec<Signatures> = Variant::ALL.into_iter().filter_map(Signatures::with).collect();
    record.variants = variants.iter().map(|with| with.variant().name().to_owned()).collect();
    record.operations = plan.operations.iter().map(|operation| operation.entry()).collect();

    let most_threads = plan.threads.iter().copied().max().unwrap_or(1);
    let largest = plan.batches.iter().chain(&UNDECIDED_BATCHES).copied().max().unwrap_or(1);
    let mut work = vec![];
    for operation in &plan.operations {
        tell(&format!("making signatures: {}", operation.label));
        let pools = Pools::make(operation, most_threads, largest)?;
        let mut rows = plan.rows(operation);
        for row in &mut rows {
            let times = variants.iter().map(|with| {
                pools.batches(&row.work(1), with, plan.least).with_context(|| row.name(with))
            });
            row.batches = times.collect::<Result<_>>()?;
        }
        work.push((pools, rows));
    }
    for round in 1..=plan.rounds {
        for (pools, rows) in &work {
            if let Some(row) = rows.first() {
                tell(&format!("round {round} of {}: {}", plan.rounds, row.operation.label));
            }
            for (i, row) in rows.iter().enumerate() {
                if i == 0 || rows[i - 1].input != row.input {
                    let lanes = variants.iter().filter(|with| with.variant() != Variant::Scalar);
                    lanes.clone().try_for_each(|with| {
                        pools.settle(&row.work(1), with).with_context(|| row.name(with))
                    })?;
                }
                let turn = variants.iter().zip(&row.batches);
                for (with, batches) in turn.clone().chain(turn.rev()) {
                    let wall = pools.measure(&row.work(*batches), with);
                    let wall = wall.with_context(|| row.name(with))?;
                    record.runs.push(row.run(round, with, *batches, wall));
                }
            }
        }
    }
    Ok(record)
}

impl Plan {
    /// The rows of one operation: good signatures, then those that no lane can decide.
    fn rows<'a>(&self, operation: &'a Operation) -> Vec<Row<'a>> {
        let row = |input, batch, threads| Row { operation, input, batch, threads, batches: vec![] };
        let mut rows = vec![];
        for threads in &self.threads {
            rows.extend(self.batches.iter().map(|batch| row(Input::Good, *batch, *threads)));
        }
        for input in [Input::Undecided, Input::HalfUndecided] {
            rows.extend(UNDECIDED_BATCHES.map(|batch| row(input, batch, 1)));
        }
        rows
    }
}

impl Row<'_> {
    fn work(&self, batches: u64) -> Work {
        Work { input: self.input, batch: self.batch, threads: self.threads, batches }
    }

    fn name(&self, with: &Signatures) -> String {
        let Self { operation, input, batch, threads, .. } = self;
        let (name, variant) = (operation.name, with.variant().name());
        format!("{name}, {variant}, {} in batches of {batch}, {threads} threads", input.name())
    }

    fn run(&self, round: u32, with: &Signatures, batches: u64, wall: Duration) -> SignatureRun {
        SignatureRun {
            round,
            operation: self.operation.name.to_owned(),
            input: self.input.name().to_owned(),
            batch: self.batch as u64,
            threads: self.threads as u32,
            variant: with.variant().name().to_owned(),
            signatures: batches * (self.batch * self.threads) as u64,
            wall_ns: wall.as_nanos() as u64,
        }
    }
}

impl Operation {
    /// The operation, for the record.
    fn entry(&self) -> SignatureOperation {
        let [name, label, library] = [self.name, self.label, self.library].map(str::to_owned);
        SignatureOperation { name, label, library }
    }
}
