//! `export` of Neo dumps: verifies them as `verify` does, and writes tables.

use super::import::{Job, remove};
use crate::answer::Answer;
use crate::export::plan::{self, Contents, SAMPLE, Sample};
use crate::export::{self, Asked, expect_bodies};
use crate::import::Run;
use anyhow::Result;
use blockmill_archive::ChunkLimit;
use blockmill_archive::acc::{self, Batch};
use blockmill_export::Facts;
use blockmill_export::neo::{consumer, tables};
use blockmill_hashes::ManySha256;
use blockmill_neo::Error;
use blockmill_neo::import::Options;
use blockmill_neo::types::Block;
use blockmill_pipeline::Cancel;

/// `blockmill export` of dumps.
pub fn run(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    let json = run.json;
    let mut job = Job::prepare(asked.verification, None, run.cancel.clone())?;
    expect_bodies(job.options.level)?;
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
    writing.answer(asked, answer?, &files, json)
}

/// Describes what an export of dumps would write.
pub fn describe(asked: &Asked<'_>, json: bool, cancel: Cancel) -> Result<Answer> {
    let Job { dumps, options, .. } = Job::prepare(asked.verification, None, cancel)?;
    expect_bodies(options.level)?;
    let (given, facts) = (tables::of_level(options.level), facts(&options)?);
    let writing = export::Job::new(asked, (&tables::ALL, &given), facts, 1)?;
    let (first, last) = dumps.range().unwrap_or_default();
    let limit = ChunkLimit { blocks: SAMPLE as usize, ..ChunkLimit::default() };
    let (mut batch, mut block) = (Batch::default(), Block::default());
    let mut sample = Sample::default();
    acc::Reader::new(&dumps, first, limit).read(&mut batch)?;
    for at in 0..batch.len() {
        block.raw.clear();
        block.raw.extend_from_slice(batch.block(at));
        let decoded = block.decode(options.protocol.state_root_in_header, &ManySha256::detect());
        // a block that is none ends the export, but says nothing of the others
        if decoded.is_ok() {
            sample.blocks += 1;
            sample.add("transactions", block.transactions.len());
        }
    }
    let contents = Contents {
        chain: options.protocol.name.into(),
        level: options.level.name(),
        first: first.into(),
        last: last.into(),
        is_stated: true,
        counted: "the heads of the dumps",
        files: None,
        sample,
    };
    plan::answer(asked, &contents, &writing, json)
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
