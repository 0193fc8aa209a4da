//! `bench rlp`: what encoding and hashing cost, our writers and the peers side by side, each
//! measurement in a process of its own, so that none warms the caches or the heap for another.

mod case;
pub mod instructions;
mod measure;
pub mod objects;
mod once;

pub use case::{Case, Op};
pub use measure::Sampling;
pub use once::{Writer, once};

use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use pipeline::machine::Machine;
use pipeline::writer_record::{WriterEngine, WriterLine, WriterRecord, WriterRun};

use crate::answers::Answers;
use crate::peers::process;
use crate::peers::programs::{Peers, ReadyProgram, read_line};

/// What to compare.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The objects.
    pub cases: Vec<Case>,
    /// The file that names the peers, when they are to run.
    pub engines: Option<PathBuf>,
    /// Rounds.
    pub rounds: u32,
    /// How each operation is repeated.
    pub sampling: Sampling,
    /// The program to run as a child, `blockmill` itself.
    pub program: PathBuf,
}

/// A writer of ours or a peer.
enum Contestant {
    Ours(Writer),
    Peer(Box<ReadyProgram>),
}

impl Contestant {
    fn engine(&self) -> WriterEngine {
        match self {
            Self::Ours(writer) => writer.engine(),
            Self::Peer(ready) => ready.engine(),
        }
    }

    fn does(&self, op: Op) -> bool {
        match self {
            Self::Ours(writer) => writer.does(op),
            Self::Peer(_) => true,
        }
    }
}

/// Measures everything that `plan` names, round by round. In a round, all writers do the same
/// operation on the same object before the next one comes; who begins changes from round to round.
///
/// # Errors
/// When a process fails, or when two writers do not give the same bytes.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<WriterRecord> {
    let mut record = WriterRecord::new(Machine::detect());
    record.command = crate::child::command_line();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    record.started_unix = since_1970.as_secs_f64();
    let contestants = contestants(plan, &mut record.notes, &mut tell)?;
    record.engines = contestants.iter().map(Contestant::engine).collect();
    let mut answers = Answers::default();
    for round in 1..=plan.rounds {
        for op in Op::ALL {
            tell(&format!("round {round} of {}: {}", plan.rounds, op.name()));
            for case in plan.cases.iter().copied().filter(|case| case.takes(op)) {
                let mut turn: Vec<_> = contestants.iter().filter(|c| c.does(op)).collect();
                let first = (round as usize - 1) % turn.len().max(1);
                turn.rotate_left(first);
                for contestant in turn {
                    let line = plan.measure(contestant, case, op)?;
                    answers.agree(op.question(), &line)?;
                    record.runs.push(WriterRun { round, line });
                }
            }
        }
    }
    Ok(record)
}

/// Our writers and the peers that can take part; `notes` gets a line for each that cannot.
fn contestants(
    plan: &Plan,
    notes: &mut Vec<String>,
    tell: &mut impl FnMut(&str),
) -> Result<Vec<Contestant>> {
    let ours = Writer::all().into_iter().map(Contestant::Ours);
    let peers = match &plan.engines {
        Some(engines) => Peers::Rlp.prepare_all(engines, notes, tell)?,
        None => vec![],
    };
    let peers = peers.into_iter().map(|peer| Contestant::Peer(Box::new(peer)));
    Ok(ours.chain(peers).collect())
}

impl Plan {
    /// Runs one process.
    fn measure(&self, contestant: &Contestant, case: Case, op: Op) -> Result<WriterLine> {
        let name = contestant.engine().name;
        let what = || format!("{name}, {} of {case}", op.name());
        let line = match contestant {
            Contestant::Ours(writer) => self.child(*writer, case, op),
            Contestant::Peer(ready) => ready.measure(&[
                ("-case", case.to_string()),
                ("-op", op.name().to_owned()),
                ("-samples", self.sampling.samples.to_string()),
                ("-min-ms", self.sampling.min_ms.to_string()),
            ]),
        };
        let line = line.with_context(what)?;
        let (asked, said) = ((&*name, op.name()), (&*line.engine, &*line.op));
        ensure!(
            asked == said && line.case == case.to_string(),
            "expected {}, found {}, {} of {}",
            what(),
            line.engine,
            line.op,
            line.case
        );
        Ok(line)
    }

    /// Measures one of our writers in a child process.
    fn child(&self, writer: Writer, case: Case, op: Op) -> Result<WriterLine> {
        let mut command = Command::new(&self.program);
        command.args(["bench", "rlp-once", "--case", &case.to_string(), "--op", op.name()]);
        command.args(["--writer", &writer.to_string()]);
        command.args(["--samples", &self.sampling.samples.to_string()]);
        command.args(["--min-ms", &self.sampling.min_ms.to_string()]);
        read_line(&process::watch(&mut command).context("cannot run the program again")?)
    }
}
