//! `export` of Ethereum archives: verified as by `verify`, and written as tables.

use super::import::{Job, VERIFY_SEAL, setting};
use crate::answer::Answer;
use crate::args::Export;
use crate::export;
use crate::import::Run;
use anyhow::Result;
use chain::Hex;
use columns::ethereum::{Sink as Columns, tables};
use columns::{Facts, Verdict};
use ethereum::commit::Sink;
use ethereum::fault::Error;
use ethereum::import::{Options, Run as Done};
use pipeline::NotMade;

/// `blockmill export` of an archive.
pub fn run(args: &Export, run: Run) -> Result<Answer> {
    let asked = &args.verification;
    let json = run.is_quiet();
    let setting = setting(&asked.with)?;
    let job = Job::prepare(asked, setting, None, VERIFY_SEAL, run.cancel.clone())?;
    let facts = facts(&job.options);
    let threads = job.options.threads;
    let writing = export::Job::new(args, &tables::ALL, facts, threads)?;
    let format = job.archive.format();
    let columns = Columns::new(writing.export.clone(), &writing.tables, format);
    let mut sink = Sink::Design(Box::new(columns));
    let (ended, mut outcome) = job.engine(&mut sink, &run)?;
    let mut files = vec![];
    if outcome.is_ok() && !ended.stopped {
        match writing.finish(verdict(&ended)) {
            Ok(written) => files = written,
            Err(error) => {
                let (status, message) = (error.status(), error.to_string());
                outcome = Err(Error::NotMade(NotMade { message, status }));
            }
        }
    }
    let answer = job.end(&ended, &outcome, None, run)?;
    export::answer(args, answer, &files, json)
}

/// What the files say of the chain, and of what else decides on its verdict.
fn facts(options: &Options) -> Facts {
    let seal = &options.seal;
    Facts {
        chain: options.spec.name.clone(),
        genesis: Hex(&options.spec.genesis.hash).to_string(),
        level: options.level.name(),
        rules: format!("seal {}, seed {}", seal.mode, seal.seed),
        ..Facts::default()
    }
}

fn verdict(ended: &Done) -> Verdict {
    let (first, last) = ended.range.unwrap_or_default();
    let tip = ended.tip.as_ref().map(|tip| Hex(&tip.id.hash).to_string());
    let anchor = ended.anchor.as_ref().map(|id| format!("{} {}", id.number, Hex(&id.hash)));
    let partial = !ended.shortfalls.is_empty();
    Verdict { partial, first, last, tip: tip.unwrap_or_default(), anchor }
}
