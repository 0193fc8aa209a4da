//! `export` of Ethereum archives: verified as by `verify`, and written as tables.

use super::import::{Job, VERIFY_SEAL, settings};
use super::shard;
use crate::answer::Answer;
use crate::export::{self, Asked};
use crate::import::Run;
use crate::shard::sealed;
use anyhow::Result;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::shard::summary::ShardSummary;
use blockmill_ethereum::shard::verify_shard;
use blockmill_export::Facts;
use blockmill_export::ethereum::{consumer, tables};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Hex, Progress, Status};
use serde_json::json;

/// `blockmill export` of an archive.
pub fn run(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    let json = run.is_quiet();
    let settings = settings(&asked.verification.with)?;
    let cancel = run.cancel.clone();
    let mut job = Job::prepare(asked.verification, settings, None, VERIFY_SEAL, cancel)?;
    let facts = facts(&job.options, asked);
    let threads = job.options.threads;
    let given = tables::of_level(job.options.level, job.archive.has_receipts());
    let writing = export::Job::new(asked, (&tables::ALL, &given), facts, threads)?;
    let format = job.archive.format();
    job.options.consumer = Some(consumer(writing.export.clone(), &writing.tables, format));
    let (ended, mut outcome) = job.engine(&mut Sink::Discard, &run)?;
    let is_whole = outcome.is_ok() && !ended.stopped;
    let verdict = is_whole.then(|| ended.outcome(&outcome).into());
    let files = writing.end(asked, verdict, &mut outcome);
    let answer = job.end(&ended, &outcome, None, run)?;
    export::answer(asked, answer, &files, json)
}

/// Writes the tables of one shard, verified as by `verify --shard`.
pub fn of_shard(asked: &Asked<'_>, after: Option<&ShardSummary>, cancel: Cancel) -> Result<Answer> {
    let Job { archive, mut options, .. } = shard::job(asked.verification, after, cancel)?;
    let given = tables::of_level(options.level, archive.has_receipts());
    let facts = facts(&options, asked);
    let writing = export::Job::new(asked, (&tables::ALL, &given), facts, options.threads)?;
    options.consumer = Some(consumer(writing.export.clone(), &writing.tables, archive.format()));
    let live = options.cancel.live();
    let progress = |progress: &Progress| live.progress(progress);
    let summary = verify_shard(&archive, &options, after, progress)?;
    let is_whole = summary.status == Status::Verified;
    let files = if is_whole { writing.export.finish()? } else { vec![] };
    shard::answer_of(&summary).with(json!({ "summary": sealed(&summary)?, "files": files }))
}

/// What the files say of the chain, and of what else decides on its verdict. A random seed is left
/// out, so that equal blocks make equal files.
fn facts(options: &Options, asked: &Asked<'_>) -> Facts {
    let seed = asked.verification.seal_seed.map(|seed| format!(", seed {seed}"));
    Facts {
        chain: options.spec.name.clone(),
        genesis: Hex(&options.spec.genesis.hash).to_string(),
        level: options.level.name(),
        rules: format!("seal {}{}", options.seal.mode, seed.unwrap_or_default()),
        ..Facts::default()
    }
}
