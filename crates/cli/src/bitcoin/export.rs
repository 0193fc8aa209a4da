//! `export` of Bitcoin block files: verified as by `verify`, and written as tables.

use super::import::Job;
use super::{network, shard};
use crate::answer::Answer;
use crate::export::plan::{self, Contents, SAMPLE, Sample};
use crate::export::{self, Asked, expect_bodies};
use crate::import::Run;
use crate::shard::{Documents, sealed};
use anyhow::{Context, Result, bail};
use blockmill_archive::blkdat::{BlockFiles, BodyReader};
use blockmill_bitcoin::import::{Options, import};
use blockmill_bitcoin::inspect::inspect;
use blockmill_bitcoin::types::Block;
use blockmill_bitcoin::{Error, Level};
use blockmill_export::bitcoin::{consumer, consumer_of_file, count, tables};
use blockmill_export::{Facts, Verdict};
use blockmill_pipeline::Cancel;
use serde_json::json;

/// Every level but `headers` gives all tables.
const ALL: export::Tables<'static> = (&tables::ALL, &tables::ALL);

/// `blockmill export` of block files.
pub fn run(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    let json = run.json;
    let mut job = Job::prepare(asked.verification, None, run.cancel.clone())?;
    job.expect_set_of_coins()?;
    network::refuse_headers(&job.files)?;
    expect_bodies(job.options.level)?;
    // the files say their level before the first block is there
    let is_default = std::mem::take(&mut job.default_level);
    let begin = |job: &mut Job| -> Result<export::Job> {
        let facts = facts(&job.options);
        let writing = export::Job::new(asked, ALL, facts, job.options.threads)?;
        job.options.consumer = Some(consumer(writing.export.clone(), &writing.tables));
        Ok(writing)
    };
    let mut writing = begin(&mut job)?;
    // of a name that is free: what a killed process left may have the number of this one
    let folder = tempfile::Builder::new().prefix("blockmill-export-").tempdir();
    let folder = folder.context("cannot create a folder for coins")?;
    blockmill_archive::output::will_go(folder.path());
    let mut ran = job.engine(folder.path(), &run);
    if is_default && ran.as_ref().is_err_and(begins_in_the_middle) {
        // the deepest that such files can be verified to
        job.options.level = Level::Bodies;
        writing = begin(&mut job)?;
        ran = job.engine(folder.path(), &run);
    }
    let (ended, mut outcome) = ran?;
    // what is missing or corrupt in the files is no error of the engine
    let is_there = ended.status_of_files(job.options.partial).is_success();
    let is_whole = outcome.is_ok() && is_there && !ended.stopped;
    let verdict = is_whole.then(|| Verdict {
        // its height may not be known
        anchor: ended.anchor.map(|anchor| anchor.hash.to_string()),
        ..ended.outcome(&outcome, job.options.partial).into()
    });
    let files = writing.end(asked, verdict, &mut outcome);
    let answer = job.end(&ended, &outcome, (folder.path(), false), run)?;
    folder.close().context("cannot remove the folder of the coins")?;
    writing.answer(asked, answer, &files, json)
}

/// Whether a run ended before its first block, as the files lack the blocks before it.
fn begins_in_the_middle(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::NoBeginning(_)))
}

/// Describes what an export of block files would write.
pub fn describe(asked: &Asked<'_>, json: bool, cancel: Cancel) -> Result<Answer> {
    let Job { files, mut options, .. } = Job::prepare(asked.verification, None, cancel)?;
    network::refuse_headers(&files)?;
    expect_bodies(options.level)?;
    let inspection = inspect(&files, options.threads, false, options.now, options.cancel.live())?;
    if asked.verification.level.is_none() && !inspection.is_linked() {
        options.level = Level::Bodies;
    }
    let writing = export::Job::new(asked, ALL, facts(&options), 1)?;
    let tree = &inspection.tree;
    let chain = tree.best_chain();
    let (found, (first, last)): (Vec<_>, _) = match inspection.is_linked() {
        true => {
            let last = (chain.len() as u64).max(1) - 1;
            (chain.iter().filter_map(|block| tree.record(*block)).collect(), (0, last))
        }
        // nothing links these records before they are read as a chain of their own
        false => (tree.found().iter().collect(), range(&files, &options)?),
    };
    let step = (found.len() as u64 / SAMPLE).max(1) as usize;
    let (mut reader, mut block) = (BodyReader::new(&files, 1), Block::default());
    let mut sample = Sample::default();
    for found in found.into_iter().step_by(step) {
        reader.read(found.location(), &mut block.raw)?;
        // a block that is none ends the export, but says nothing of the others
        if block.decode().is_ok() {
            sample.blocks += 1;
            count(&block).for_each(|(table, rows)| sample.add(table, rows));
        }
    }
    let contents = Contents {
        chain: options.params.name.into(),
        level: options.level.name(),
        first,
        last,
        is_stated: true,
        counted: "the headers",
        files: None,
        sample,
    };
    plan::answer(asked, &contents, &writing, json)
}

/// Heights of the first and the last block of files from the middle of a chain.
fn range(files: &BlockFiles, options: &Options) -> Result<(u64, u64)> {
    let folder = tempfile::tempdir().context("cannot create a folder for an index")?;
    let options = Options { level: Level::Headers, ..options.clone() };
    let (ended, outcome) = import(files, &options, folder.path(), |_| {});
    outcome?;
    let (first, last) = ended.range.unwrap_or_default();
    Ok((first.into(), last.into()))
}

/// Writes the tables of one block file, verified as by `verify --shard --after`. The rows are those
/// of its blocks in the table that a merge of all headers built for it, one of the documents
/// `after`.
pub fn of_shard(
    asked: &Asked<'_>,
    after: Option<&Documents<'_>>,
    cancel: Cancel,
) -> Result<Answer> {
    let after =
        after.context("expected the table of this shard, as a merge of all headers builds it")?;
    let Job { files, mut options, .. } = Job::prepare(asked.verification, None, cancel)?;
    let [file] = files.files() else { bail!("expected one block file as a shard") };
    options.level = shard::level(asked.verification, &options)?;
    let writing = export::Job::new(asked, ALL, facts(&options), options.threads)?;
    let path = file.path();
    options.consumer = Some(consumer_of_file(writing.export.clone(), &writing.tables, path));
    let (answer, summary) = shard::verify_table(&files, after, &options)?;
    let files = writing.export.finish()?;
    answer.with(json!({ "summary": sealed(&summary)?, "files": files }))
}

/// What the files say of the chain, and of what else decides on its verdict.
fn facts(options: &Options) -> Facts {
    let rules = match &options.assume_valid {
        Some(hash) if options.level >= Level::Execution => {
            format!("scripts up to {hash} taken as valid")
        }
        _ => String::new(),
    };
    Facts {
        chain: options.params.name.into(),
        genesis: options.params.genesis_hash.to_string(),
        level: options.level.name(),
        rules,
        ..Facts::default()
    }
}
