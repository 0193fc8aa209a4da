//! `verify --shard` and `verify --merge` of Ethereum archives.

use super::import::{CACHES, Job, VERIFY_SEAL, hint, settings};
use super::network;
use crate::answer::Answer;
use crate::args::Verification;
use crate::host;
use crate::progress;
use crate::shard::{not_checked, with_summary};
use anyhow::{Context, Result, ensure};
use blockmill_archive::ChunkLimit;
use blockmill_ethereum::Level;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::shard::summary::ShardSummary;
use blockmill_ethereum::shard::{merge as merge_shards, verify_shard};
use blockmill_pipeline::Cancel;
use blockmill_report::left_out;
use blockmill_verdict::{Status, grouped};
use std::sync::Arc;

/// What executes the transactions of shards.
const EXECUTES: &str = "--level execution of a run over all blocks";

/// Verifies an archive as a shard, after the blocks of `after`.
pub fn verify(
    asked: &Verification,
    after: Option<&ShardSummary>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let Job { archive, options, .. } = job(asked, after, cancel)?;
    let live = options.cancel.live();
    live.verify(options.level, archive.disk_bytes());
    let summary =
        progress::blocks(live, |progress| verify_shard(&archive, &options, after, progress))?;
    with_summary(answer_of(&summary), &summary, json)
}

/// The job of a shard, after the blocks of `after`.
pub(super) fn job(
    asked: &Verification,
    after: Option<&ShardSummary>,
    cancel: Cancel,
) -> Result<Job> {
    let mut job = Job::prepare(asked, settings(&asked.with)?, None, VERIFY_SEAL, cancel)?;
    if let Some(before) = after.map(|after| &after.asked) {
        let ChainSpec { name, genesis, .. } = &*job.options.spec;
        let found = &before.chain;
        ensure!(
            before.genesis.0 == genesis.hash,
            "--after: expected the summary of blocks of {name}, found one of {found}"
        );
    }
    if asked.level.is_none() {
        // no shard but the first has the state that execution begins with
        job.options.level = job.options.level.min(Level::Bodies);
    }
    Ok(job)
}

/// The answer of a shard with this summary.
pub(super) fn answer_of(summary: &ShardSummary) -> Answer {
    let fault = summary.fault.as_ref().map(|fault| fault.fault().report());
    Answer { error: fault, ..answer(summary) }
}

/// Merges summaries.
pub fn merge(
    asked: &Verification,
    shards: &[ShardSummary],
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let options = options(asked, shards, cancel)?;
    let merged = merge_shards(shards, &options)?;
    let (status, summary) = (merged.status(), &merged.summary);
    let shortfalls = merged.shortfalls.clone();
    let mut answer = Answer { status, shortfalls, ..answer(summary) };
    if let Err(error) = &merged.outcome {
        let mut report = error.report();
        report.hint = hint(error).map(str::to_owned);
        answer.error = Some(report);
    }
    if let Some(again) = merged.again {
        answer.notes.push(format!(
            "an earlier block of the shard may be at fault, too: verify shard {} again --after the \
             summary of all earlier shards",
            again + 1
        ));
    }
    let level = summary.asked.level.name();
    let beyond = left_out(level, EXECUTES).filter(|_| summary.blocks > 0);
    answer.notes.extend(not_checked(beyond.into_iter().chain(merged.unchecked)));
    if !json {
        print_range(shards, summary, status);
        answer.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    with_summary(answer, summary, json)
}

/// Prints the range of the merge, and the block that its verdict depends on.
fn print_range(shards: &[ShardSummary], summary: &ShardSummary, status: Status) {
    let (Some(first), Some(last)) = (&summary.first, &summary.last) else { return };
    let (from, to) = (grouped(first.number), grouped(last.number));
    let shards = blockmill_report::counted(shards.len() as u64, "shard");
    let (chain, level) = (&summary.asked.chain, summary.asked.level.name());
    let anchor = summary.anchor.as_ref().map_or(String::new(), |anchor| {
        format!(", provided that block {} is right", grouped(anchor.number))
    });
    eprintln!("{status}: {shards}, blocks {from} to {to} of {chain} at level {level}{anchor}");
}

/// The common part of both answers.
fn answer(summary: &ShardSummary) -> Answer {
    Answer {
        shortfalls: summary.shortfalls.clone(),
        notes: summary.notes.clone(),
        ..Answer::with_status(summary.status)
    }
}

/// The options of a merge: those of the first shard.
fn options(asked: &Verification, shards: &[ShardSummary], cancel: Cancel) -> Result<Options> {
    let first = &shards.first().context("expected summaries to merge, found none")?.asked;
    let spec = match &asked.chain {
        Some(chain) => network::named(chain, None)?.spec,
        None => ChainSpec::by_genesis_hash(&first.genesis.0).with_context(|| {
            format!("--chain: expected the genesis.json of {}, which is not built in", first.chain)
        })?,
    };
    ensure!(asked.level.is_none_or(|level| level == first.level), "--level is that of the shards");
    let mode: SealMode = first.seal.parse().context("seals of a shard")?;
    Ok(Options {
        spec: Arc::new(spec),
        level: first.level,
        seal: SealPolicy { mode, seed: first.seal_seed },
        settings: settings(&asked.with)?,
        threads: 1,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: asked.partial,
        recheck: true,
        trust: first.trust.iter().map(|hash| hash.0).collect(),
        caches: Caches::new(None, CACHES),
        now: Some(asked.now.unwrap_or_else(host::unix_seconds)),
        consumer: None,
        cancel,
    })
}
