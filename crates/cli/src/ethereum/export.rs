//! `export` of Ethereum archives: verified as by `verify`, and written as tables.

use super::import::{Job, VERIFY_SEAL, settings};
use super::shard;
use crate::answer::Answer;
use crate::export::plan::{self, Contents, SAMPLE, Sample};
use crate::export::{self, Asked};
use crate::import::Run;
use crate::progress;
use crate::shard::sealed;
use anyhow::{Result, bail};
use blockmill_archive::{Archive, Chunk, ChunkLimit, Packed, Want};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::shard::summary::ShardSummary;
use blockmill_ethereum::shard::verify_shard;
use blockmill_export::Facts;
use blockmill_export::ethereum::{consumer, count, is_partition_a_file, tables};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Hex, Status};
use serde_json::json;

/// Places of an archive that a sample is from.
const PLACES: u64 = 4;

/// `blockmill export` of an archive.
pub fn run(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    let json = run.json;
    let settings = settings(&asked.verification.with)?;
    let cancel = run.cancel.clone();
    let mut job = Job::prepare(asked.verification, settings, None, VERIFY_SEAL, cancel)?;
    let facts = facts(&job.options, asked);
    let threads = job.options.threads;
    let given = tables::of_level(job.options.level, job.archive.has_receipts());
    let mut writing = export::Job::new(asked, (&tables::ALL, &given), facts, threads)?;
    writing.begins_anywhere = job.options.level < Level::Execution;
    let format = job.archive.format();
    job.options.consumer = Some(consumer(writing.export.clone(), &writing.tables, format));
    let (ended, mut outcome) = job.engine(&mut Sink::Discard, &run)?;
    let is_whole = outcome.is_ok() && !ended.stopped;
    let verdict = is_whole.then(|| ended.outcome(&outcome).into());
    let files = writing.end(asked, verdict, &mut outcome);
    let answer = job.end(&ended, &outcome, None, run)?;
    writing.answer(asked, answer, &files, json)
}

/// Describes what an export of an archive would write.
pub fn describe(asked: &Asked<'_>, json: bool, cancel: Cancel) -> Result<Answer> {
    let settings = settings(&asked.verification.with)?;
    let Job { archive, options, .. } =
        Job::prepare(asked.verification, settings, None, VERIFY_SEAL, cancel)?;
    let facts = facts(&options, asked);
    let given = tables::of_level(options.level, archive.has_receipts());
    let writing = export::Job::new(asked, (&tables::ALL, &given), facts, 1)?;
    let names: Vec<_> = given.iter().map(|table| table.name).collect();
    if let Some(table) = writing.tables.iter().find(|table| !names.contains(&table.name)) {
        let (name, level, given) = (table.name, options.level.name(), names.join(", "));
        bail!("--tables {name}: level {level} of these blocks does not give it, only {given}");
    }
    let (first, stated) = archive.range().unwrap_or_default();
    let (sample, bytes) = sample(&archive, options.level, (first, stated))?;
    let all = u128::from(archive.disk_bytes()) * u128::from(sample.blocks);
    let about = all.checked_div(bytes.into()).unwrap_or(sample.blocks.into());
    let about = first.saturating_add(u64::try_from(about).unwrap_or(u64::MAX).max(1) - 1);
    let contents = Contents {
        chain: options.spec.name.clone(),
        level: options.level.name(),
        first,
        last: stated.unwrap_or(about),
        is_stated: stated.is_some(),
        counted: if stated.is_some() {
            "the index of the archive"
        } else {
            "the size of the files"
        },
        files: is_partition_a_file(archive.format()).then(|| archive.files().len()),
        sample,
    };
    plan::answer(asked, &contents, &writing, json)
}

/// Reads some blocks, in several places if the archive states its last one. Returns their rows and
/// their bytes on disk.
fn sample(
    archive: &Archive,
    level: Level,
    (first, last): (u64, Option<u64>),
) -> Result<(Sample, u64)> {
    let want = Want { bodies: level > Level::Headers, receipts: archive.has_receipts() };
    let places =
        last.map_or(1, |last| if last < first.saturating_add(SAMPLE) { 1 } else { PLACES });
    let size = SAMPLE / places;
    let (mut sample, mut bytes) = (Sample::default(), 0);
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    for place in 0..places {
        let start = first + last.map_or(0, |last| last.saturating_sub(first) / places * place);
        let limit = ChunkLimit { blocks: size as usize, ..ChunkLimit::default() };
        let range = start..=start.saturating_add(size - 1);
        if !archive.reader(want, limit, range)?.read(&mut packed)? {
            continue;
        }
        bytes += packed.disk_bytes();
        chunk.clear();
        packed.unpack(&mut chunk)?;
        sample.blocks += chunk.blocks() as u64;
        count(&chunk).for_each(|(table, rows)| sample.add(table, rows));
    }
    Ok((sample, bytes))
}

/// Writes the tables of one shard, verified as by `verify --shard`.
pub fn of_shard(asked: &Asked<'_>, after: Option<&ShardSummary>, cancel: Cancel) -> Result<Answer> {
    let Job { archive, mut options, .. } = shard::job(asked.verification, after, cancel)?;
    let given = tables::of_level(options.level, archive.has_receipts());
    let facts = facts(&options, asked);
    let writing = export::Job::new(asked, (&tables::ALL, &given), facts, options.threads)?;
    options.consumer = Some(consumer(writing.export.clone(), &writing.tables, archive.format()));
    let live = options.cancel.live();
    live.verify(options.level, archive.disk_bytes());
    let summary =
        progress::blocks(live, |progress| verify_shard(&archive, &options, after, progress))?;
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
