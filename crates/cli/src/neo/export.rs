//! `export` of Neo dumps: verifies them as `verify` does, and writes tables.

use super::import::{Job, remove};
use crate::answer::Answer;
use crate::export::{self, Asked};
use crate::import::Run;
use anyhow::Result;
use blockmill_export::Facts;
use blockmill_export::neo::{consumer, tables};
use blockmill_neo::Error;
use blockmill_neo::import::Options;

/// `blockmill export` of dumps.
pub fn run(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    let json = run.is_quiet();
    let mut job = Job::prepare(asked.verification, None, run.cancel.clone())?;
    let (given, facts) = (tables::of_level(job.options.level), facts(&job.options)?);
    let writing = export::Job::new(asked, (&tables::ALL, &given), facts, job.options.threads)?;
    job.options.consumer = Some(consumer(writing.export.clone(), &writing.tables));
    let (mut sink, folder) = job.keeping_nothing()?;
    let (ended, mut outcome) = job.engine(&mut sink, &run)?;
    drop(sink);
    let is_whole = outcome.is_ok() && !ended.stopped;
    let verdict = is_whole.then(|| ended.outcome(&outcome).into());
    let files = writing.end(asked, verdict, &mut outcome);
    let answer = job.end(&ended, &outcome, run);
    remove(folder)?;
    export::answer(asked, answer?, &files, json)
}

/// The facts about the chain and its verification in the files.
fn facts(options: &Options) -> Result<Facts> {
    let rules = match &options.assume_valid {
        Some(hash) => format!("witnesses up to {hash} taken as valid"),
        None => String::new(),
    };
    let genesis = options.protocol.genesis_hash().map_err(Error::Genesis)?;
    Ok(Facts {
        chain: options.protocol.name.into(),
        genesis: genesis.to_string(),
        level: options.level.name(),
        rules,
        ..Facts::default()
    })
}
