//! `verify --unit` and `verify --join` of Ethereum archives.

use super::import::{CACHES, Job, VERIFY_SEAL, hint, settings};
use super::network;
use crate::answer::Answer;
use crate::args::Verification;
use crate::host;
use crate::progress::Display;
use crate::unit::with_boundary;
use anyhow::{Context, Result, ensure};
use blockmill_archive::ChunkLimit;
use blockmill_ethereum::Level;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::unit::boundary::Boundary;
use blockmill_ethereum::unit::{join as join_units, verify_unit};
use blockmill_pipeline::Cancel;
use blockmill_verdict::{Status, grouped};
use std::sync::Arc;

/// Verifies an archive as a unit, behind the blocks of `after`.
pub fn verify(
    asked: &Verification,
    after: Option<&Boundary>,
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let Job { archive, options, .. } = job(asked, after, cancel)?;
    let display = Display::new(archive.disk_bytes(), options.level.name(), json);
    let live = options.cancel.live();
    let boundary = display.watch(|display| {
        verify_unit(&archive, &options, after, |progress| {
            live.progress(progress);
            display.update(progress);
        })
    })?;
    with_boundary(answer_of(&boundary), &boundary, json)
}

/// A unit to be verified, behind the blocks of `after`.
pub(super) fn job(asked: &Verification, after: Option<&Boundary>, cancel: Cancel) -> Result<Job> {
    let mut job = Job::prepare(asked, settings(&asked.with)?, None, VERIFY_SEAL, cancel)?;
    if let Some(before) = after.map(|after| &after.asked) {
        let ChainSpec { name, genesis, .. } = &*job.options.spec;
        let found = &before.chain;
        ensure!(
            before.genesis.0 == genesis.hash,
            "--after: expected the boundary of blocks of {name}, found one of {found}"
        );
    }
    if asked.level.is_none() {
        // no unit but the first has the state that execution begins with
        job.options.level = job.options.level.min(Level::Bodies);
    }
    Ok(job)
}

/// The answer of a unit that has this boundary.
pub(super) fn answer_of(boundary: &Boundary) -> Answer {
    let fault = boundary.fault.as_ref().map(|fault| fault.fault().report());
    Answer { error: fault, ..answer(boundary) }
}

/// Joins boundaries.
pub fn join(
    asked: &Verification,
    units: &[Boundary],
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let options = options(asked, units, cancel)?;
    let joined = join_units(units, &options)?;
    let (status, boundary) = (joined.status(), &joined.boundary);
    let shortfalls = joined.shortfalls.clone();
    let mut answer = Answer { status, shortfalls, ..answer(boundary) };
    if let Err(error) = &joined.outcome {
        let mut report = error.report();
        report.hint = hint(error).map(str::to_owned);
        answer.error = Some(report);
    }
    if let Some(again) = joined.again {
        answer.notes.push(format!(
            "the first block at fault may stand before the one that is named: verify unit {} \
             again --after the boundary of all units before it",
            again + 1
        ));
    }
    if !json {
        tell(units, boundary, status);
        answer.notes.iter().for_each(|note| eprintln!("note: {note}"));
    }
    with_boundary(answer, boundary, json)
}

/// Says what was joined, and what the verdict rests on.
fn tell(units: &[Boundary], boundary: &Boundary, status: Status) {
    let (Some(first), Some(last)) = (&boundary.first, &boundary.last) else { return };
    let (from, to) = (grouped(first.number), grouped(last.number));
    let units = blockmill_report::counted(units.len() as u64, "unit");
    let chain = &boundary.asked.chain;
    let anchor = boundary.anchor.as_ref().map_or(String::new(), |anchor| {
        format!(", as far as block {} is right", grouped(anchor.number))
    });
    eprintln!("{status}: {units}, blocks {from} to {to} of {chain}{anchor}");
}

/// What both have in common.
fn answer(boundary: &Boundary) -> Answer {
    Answer {
        shortfalls: boundary.shortfalls.clone(),
        notes: boundary.notes.clone(),
        ..Answer::of(boundary.status)
    }
}

/// The options of a join: what the units were asked for, as the first of them says it.
fn options(asked: &Verification, units: &[Boundary], cancel: Cancel) -> Result<Options> {
    let first = &units.first().context("expected boundaries to join, found none")?.asked;
    let spec = match &asked.chain {
        Some(chain) => network::named(chain, None)?.spec,
        None => ChainSpec::by_genesis_hash(&first.genesis.0).with_context(|| {
            format!("--chain: expected the genesis.json of {}, which is not built in", first.chain)
        })?,
    };
    ensure!(asked.level.is_none_or(|level| level == first.level), "--level is that of the units");
    let mode: SealMode = first.seal.parse().context("seals of a unit")?;
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
        trust: first.trust.iter().map(|hash| hash.0).collect(),
        caches: Caches::new(None, CACHES),
        now: Some(asked.now.unwrap_or_else(host::unix_seconds)),
        cancel,
    })
}
