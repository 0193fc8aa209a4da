//! Many witnesses: blocks are executed in parallel, and reported in the order of their files.
//!
//! Memory has a file for each thread; of a block that was executed it has a line.

use super::chains::Chains;
use super::files::{Job, NO_BLOCK, jobs, read};
use super::status_of;
use super::summary::Summary;
use crate::answer::Answer;
use crate::{args, host};
use anyhow::{Error, Result, ensure};
use blockmill_ethereum::witness::{Document, Stateless, Witness};
use blockmill_pipeline::Cancel;
use blockmill_verdict::Status;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// What came of a file.
pub struct Outcome {
    pub file: PathBuf,
    pub result: Result<Executed, Failure>,
}

/// A block that was executed.
pub struct Executed {
    pub done: Stateless,
    /// Time to decode the file and to hash its nodes and codes.
    pub decode: Duration,
    /// Time to recover the senders, to execute the block, and to compute the roots.
    pub execute: Duration,
}

/// Why a block was not executed, or is not right.
pub struct Failure {
    pub status: Status,
    pub rule: Option<String>,
    pub message: String,
}

/// Executes the blocks of all files at and below the paths.
pub fn run(args: &args::Witness, json: bool, cancel: &Cancel) -> Result<Answer> {
    let jobs = jobs(&args.files)?;
    ensure!(!jobs.is_empty(), "expected files named *.json or *.rlp, found none");
    let chains = Chains::new(args)?;
    let threads = args.threads.unwrap_or_else(host::cores).min(jobs.len());
    let mut summary = Summary::new(json, threads);
    cancel.live().count("execute", "blocks", jobs.len() as u64);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(threads);
        for _ in 0..threads {
            let (sender, next, jobs, chains) = (sender.clone(), &next, &jobs, &chains);
            scope.spawn(move || {
                while !cancel.is_cancelled() {
                    let turn = next.fetch_add(1, Relaxed);
                    let Some(job) = jobs.get(turn) else { break };
                    let outcome = Outcome { file: job.file.clone(), result: job.run(chains) };
                    if sender.send((turn, outcome)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        // blocks are reported in the order of their files, whatever thread was first
        let (mut turn, mut early) = (0, BTreeMap::new());
        for (place, outcome) in receiver {
            early.insert(place, outcome);
            while let Some(outcome) = early.remove(&turn) {
                summary.add(&outcome);
                cancel.live().advance(1);
                turn += 1;
            }
        }
    });
    summary.end(cancel.is_cancelled())
}

impl Job {
    /// Executes the block of a file.
    fn run(&self, chains: &Chains) -> Result<Executed, Failure> {
        let bytes = read(&self.file)?;
        let block = match &self.block {
            Some(block) => Some(read(block)?),
            None => None,
        };
        let start = Instant::now();
        let witness = witness(&bytes, block.as_deref())?;
        drop((bytes, block));
        let decode = start.elapsed();
        let spec = chains.of(&witness)?;
        let start = Instant::now();
        let done = witness.execute_with(&spec, &chains.codes, chains.reading);
        let execute = start.elapsed();
        match done {
            Ok(done) => Ok(Executed { done, decode, execute }),
            Err(error) => {
                let (status, rule) = status_of(&error);
                Err(Failure { status, rule, message: error.to_string() })
            }
        }
    }
}

/// The witness in a file, or in two.
fn witness(bytes: &[u8], block: Option<&[u8]>) -> Result<Witness, Failure> {
    let read = |bytes: &[u8]| {
        Document::read(bytes).map_err(|error| {
            let (status, rule) = status_of(&error);
            Failure { status, rule, message: error.to_string() }
        })
    };
    let alone = |message: &str| {
        let message = message.to_owned();
        Failure { status: Status::Incomplete, rule: None, message }
    };
    match read(bytes)? {
        Document::Whole(witness) => Ok(witness),
        Document::Block(_) => Err(alone("a block without a witness")),
        Document::Bare(parts) => match block.map(read).transpose()? {
            Some(Document::Block(block)) => Ok(Witness::from_parts(block, parts)),
            _ => Err(alone(NO_BLOCK)),
        },
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let answer = Answer::failed(&error);
        let is_of_system = error.chain().any(|cause| cause.is::<io::Error>());
        let message = match answer.error {
            Some(report) => report.message,
            None => error.to_string(),
        };
        // a chain that is not known concerns one file of many
        let status = match answer.status {
            Status::Usage if !is_of_system => Status::Unrecognised,
            status => status,
        };
        Self { status, rule: None, message }
    }
}
