//! `convert` of Ethereum archives: to another format of archives.

use super::import::CACHES;
use super::network;
use crate::answer::Answer;
use crate::args::Convert;
use crate::convert::{expect_room, status, verify, written};
use crate::{host, stop};
use anyhow::{Context, Result};
use blockmill_archive::{Archive, ChunkLimit, Files, Format, Want};
use blockmill_ethereum::Level;
use blockmill_ethereum::convert::{self, Conversion};
use blockmill_ethereum::error::Error;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_pipeline::Cancel;
use blockmill_verdict::Shortfall;
use std::path::PathBuf;
use std::sync::Arc;

/// `blockmill convert --to FORMAT`, a format of Ethereum archives.
pub fn run(
    args: &Convert,
    (format, gzip): (Format, bool),
    json: bool,
    cancel: Cancel,
) -> Result<Answer> {
    let archive = Archive::open(&args.paths)?;
    let detected = network::detect(args.chain.as_deref(), &archive, &args.paths, None);
    let found = match (detected, args.chain.is_some() || args.to.names_network) {
        (Ok(found), _) => Some(found),
        // only some files carry the network's name
        (Err(_), false) => None,
        (Err(error), true) => return Err(error),
    };
    let (spec, file) = found.map(|found| (found.spec, found.file)).unzip();
    let conversion = Conversion {
        spec: spec.as_ref(),
        format,
        gzip,
        from: args.from,
        until: args.until,
        replace: args.outputs.replace.force,
        cancel: &cancel,
    };
    let room = expect_room(args, blocks(args, &archive).saturating_mul(args.to.least_block));
    room.with_context(|| format!("cannot write {}", args.out.display()))?;
    let out = args.out.display();
    stop::writes(&args.out, archive.disk_bytes());
    stop::leaves(match args.to.files {
        Files::InFolder(_) => format!("the {format}s in {out} are complete; there is nothing else"),
        Files::One | Files::Folder(_) => format!("nothing was written to {out}"),
    });
    let survey = archive.survey(Want { bodies: true, receipts: true }, args.until.is_some())?;
    let done = match &spec {
        Some(spec) if convert::needs_execution(&archive, &conversion) => {
            let options = execution(spec.clone(), cancel.clone());
            convert::convert_executed(&archive, &conversion, options, &args.out)?
        }
        _ => convert::convert(&archive, &conversion, &args.out)?,
    };
    let beyond = Shortfall::after_last(args.until, done.range.1);
    let shortfalls = survey.shortfalls.into_iter().chain(beyond).collect();
    let mut answer = answer(shortfalls, args.partial);
    answer.notes.extend(done.note);
    answer.notes.extend(left_out(done.lists_left_out, format));
    answer.notes.extend(without_receipts(done.without_receipts, &archive));
    let chain = chain_of(args, spec.as_ref(), file.flatten(), done.range.0);
    let next = Some(verify(args, chain.as_deref()));
    written(args, answer, done.range, ("encodings", "the rules of the chain"), next, json)
}

/// The `--chain` that a verification of the output needs: its genesis.json, or the name of a
/// network that neither the first block nor the name of the output shows. `NAME` if the chain is
/// unknown.
fn chain_of(
    args: &Convert,
    spec: Option<&ChainSpec>,
    file: Option<PathBuf>,
    first: u64,
) -> Option<String> {
    let is_shown = first == 0 || args.to.names_network;
    let name = match spec {
        Some(spec) => (!is_shown).then(|| spec.name.clone()),
        None => Some("NAME".to_owned()),
    };
    args.chain.clone().or_else(|| file.map(|file| file.display().to_string())).or(name)
}

/// How the blocks of a store are executed again, for their receipts.
fn execution(spec: ChainSpec, cancel: Cancel) -> Options {
    Options {
        spec: Arc::new(spec),
        level: Level::Execution,
        // the import checked them as far as it was asked to
        seal: SealPolicy { mode: SealMode::Off, seed: 0 },
        settings: Settings::default(),
        threads: host::cores(),
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: Caches::new(None, CACHES),
        now: None,
        consumer: None,
        cancel,
    }
}

/// What the blocks had and the output has not.
fn left_out(access_lists: u64, format: Format) -> Option<String> {
    let lists = blockmill_report::counted(access_lists, "block access list");
    (access_lists > 0).then(|| format!("left out: {lists} (EIP-7928), which no {format} has"))
}

/// The files whose names say that they have no receipts.
fn without_receipts(blocks: u64, archive: &Archive) -> Option<String> {
    let blocks = (blocks > 0).then(|| blockmill_report::counted(blocks, "block"))?;
    let source = match archive.format() {
        Format::Store => "the store has none",
        _ => "the archive has none",
    };
    Some(format!("the receipts of {blocks} are left out, as {source} (-noreceipts in the names)"))
}

/// What was written may be all that is there, and still not all that there should be.
fn answer(shortfalls: Vec<Shortfall>, partial: bool) -> Answer {
    if shortfalls.is_empty() {
        return Answer::ok();
    }
    let error = Error::Incomplete(shortfalls.clone()).report();
    let status = status(&shortfalls, partial);
    Answer { error: (!partial).then_some(error), shortfalls, ..Answer::with_status(status) }
}

/// The number of blocks to write, as far as the archive determines it.
fn blocks(args: &Convert, archive: &Archive) -> u64 {
    let Some((first, Some(last))) = archive.range() else { return 0 };
    let (from, until) = (args.from.unwrap_or(0).max(first), args.until.unwrap_or(last).min(last));
    (until + 1).saturating_sub(from)
}
