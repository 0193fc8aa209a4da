//! `export` of Bitcoin block files: verified as by `verify`, and written as tables.

use super::import::Job;
use crate::answer::Answer;
use crate::export::{self, Asked};
use crate::import::Run;
use anyhow::{Context, Result};
use bitcoin::import::{Options, Run as Ended};
use bitcoin::{Error, Level};
use columns::bitcoin::{making, tables};
use columns::{Facts, Verdict};
use pipeline::NotMade;

/// `blockmill export` of block files.
pub fn run(asked: &Asked<'_>, run: Run) -> Result<Answer> {
    let json = run.is_quiet();
    let mut job = Job::prepare(asked.verification, run.cancel.clone())?;
    job.expect_set_of_coins()?;
    // the files say their level before the first block is there
    job.default_level = false;
    let writing = export::Job::new(asked, &tables::ALL, facts(&job.options), job.options.threads)?;
    job.options.making = Some(making(writing.export.clone(), &writing.tables));
    // of a name that is free: what a killed process left may have the number of this one
    let folder = tempfile::Builder::new().prefix("blockmill-export-").tempdir();
    let folder = folder.context("cannot create a folder for coins")?;
    archive::output::will_go(folder.path());
    let (ended, mut outcome) = job.engine(folder.path(), &run)?;
    let mut files = vec![];
    // what is missing is no error of the engine
    let is_there = ended.shortfalls.is_empty() || job.options.partial;
    if outcome.is_ok() && is_there && !ended.stopped {
        match writing.finish(asked, verdict(&ended)) {
            Ok(written) => files = written,
            Err(error) => {
                let (status, message) = (error.status(), error.to_string());
                outcome = Err(Error::NotMade(NotMade { message, status }));
            }
        }
    }
    let answer = job.end(&ended, &outcome, (folder.path(), false), run)?;
    folder.close().context("cannot remove the folder of the coins")?;
    export::answer(asked, answer, &files, json)
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

fn verdict(ended: &Ended) -> Verdict {
    let (first, last) = ended.range.unwrap_or_default();
    let tip = ended.tip.map(|tip| tip.hash.to_string());
    let anchor = ended.anchor.as_ref().map(|anchor| anchor.hash.to_string());
    Verdict {
        partial: !ended.shortfalls.is_empty(),
        first: first.into(),
        last: last.into(),
        tip: tip.unwrap_or_default(),
        anchor,
    }
}
