//! `convert` of Bitcoin block files: to a datadir of Bitcoin Core, or to block files in order.

use super::import::{bring_up_to_date, cache, failure, parse_id};
use super::{network, sources};
use crate::answer::Answer;
use crate::args::Convert;
use crate::convert::{self, expect_room, written};
use crate::host;
use crate::stop;
use anyhow::{Context, Result, ensure};
use blockmill_archive::Output;
use blockmill_archive::blkdat::{BlockFiles, WriterOptions, XorKey};
use blockmill_archive::output::{keep_apart, keep_store_apart, will_go};
use blockmill_bitcoin::Error;
use blockmill_bitcoin::datadir::{SharedFiles, network_flags};
use blockmill_bitcoin::export::{self, Copied};
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::record;
use blockmill_pipeline::Cancel;
use blockmill_store::disk::ScratchDisk;
use blockmill_verdict::{Status, counted, grouped};
use std::path::Path;
use std::sync::Arc;

/// Writes the chain of some files; without printing when the last is true.
type Write = fn(&Convert, &BlockFiles, &Options, bool) -> Result<Answer>;

/// `blockmill convert --to core|blk|headers`.
pub fn run(args: &Convert, write: Write, json: bool, cancel: Cancel) -> Result<Answer> {
    ensure!(args.from.is_none(), "--from: Bitcoin chains are written from the genesis block on");
    let (files, params) = network::open(&args.paths, args.chain.as_deref(), &args.stores)?;
    let mut options = Options {
        threads: host::cores(),
        memory: cache(args.cache)?,
        assume_valid: args.assume_valid.as_deref().map(parse_id).transpose()?,
        until: args.until.map(|height| height.try_into().unwrap_or(u32::MAX)),
        partial: args.partial,
        // each body is read by the conversion
        recheck: false,
        now: Some(host::unix_seconds()),
        cancel,
        ..Options::new(params)
    };
    sources::expect_tips(&args.stores, &mut options)?;
    if !matches!(args.to.output, Output::Blocks(..)) {
        network::refuse_headers(&files)?;
    }
    let mut answer = write(args, &files, &options, json)?;
    answer.notes.extend(sources::notes(&args.stores));
    Ok(answer)
}

/// Brings the store up to date, then writes it out for Bitcoin Core. Without a store of the user's
/// there is one for as long as the conversion takes.
pub fn datadir(
    args: &Convert,
    files: &BlockFiles,
    options: &Options,
    json: bool,
) -> Result<Answer> {
    let out = args.out.display();
    if let Some(data) = &args.data {
        if !args.stores.contains(data) {
            keep_store_apart(data, &args.paths)?;
        }
        keep_apart(&args.out, std::slice::from_ref(data), args.to.shape())?;
        let kept = data.display();
        stop::leaves_after_commit(format!(
            "nothing was written to {out}; what was committed to {kept} stays, and a second run \
             resumes after it"
        ));
        return from_store(args, files, options, data, json);
    }
    stop::leaves(format!("nothing was written to {out}"));
    let folder = tempfile::Builder::new().prefix("blockmill-convert-").tempdir();
    let folder = folder.context("cannot create a folder for coins")?;
    will_go(folder.path());
    let options = Options { disk: Arc::new(ScratchDisk), ..options.clone() };
    let mut answer = from_store(args, files, &options, folder.path(), json)?;
    // nothing of the store is left
    answer.kept = None;
    folder.close().context("cannot remove the folder of the coins")?;
    Ok(answer)
}

fn from_store(
    args: &Convert,
    files: &BlockFiles,
    options: &Options,
    data: &Path,
    json: bool,
) -> Result<Answer> {
    let (out, total) = (args.out.display(), files.bytes());
    options.cancel.live().plan(&["index", "verify execution", "copy blocks", "write coins"]);
    let (run, outcome) = bring_up_to_date(files, options, data);
    let answer = match outcome {
        // a bad block ends the chain, which is good up to there
        Err(error @ Error::Fault(_)) => failure(&error, data, options),
        Err(error) => return Ok(failure(&error, data, options)),
        Ok(()) if run.stopped => return Ok(Answer::with_status(Status::Interrupted)),
        Ok(()) => answer(options, &run),
    };
    if args.data.is_some() {
        stop::leaves(format!("nothing was written to {out}; the store is up to date"));
    }
    stop::writes(&args.out, total);
    let room = |needed| room(args, needed);
    let written = export::to_core(files, options, data, &args.out, !args.copy, room)?;
    let Some(written) = written else { return Ok(Answer::with_status(Status::Interrupted)) };
    if json {
        return answer.with(serde_json::json!({
            "out": out.to_string(),
            "height": written.blocks - 1,
            "tip": written.tip.to_string(),
            "coins": written.coins,
            "bytes": written.block_bytes + written.undo_bytes + written.coin_bytes,
            "reflinked_files": written.shared.reflinks,
            "hard_linked_files": written.shared.hard_links,
            "linked_bytes": written.shared.bytes,
        }));
    }
    let (blocks, coins) = (grouped(written.blocks.into()), grouped(written.coins));
    let (height, flags) = (u64::from(written.blocks) - 1, network_flags(&options.params));
    let shown = convert::Written {
        what: format!("{blocks} blocks, their undo data and {coins} coins"),
        facts: [("range", format!("0 to {}", grouped(height)))]
            .into_iter()
            .chain(shared(&written.shared).map(|text| ("shared", text)))
            .collect(),
        checked: "all, as by import at level execution",
        unchecked: "",
        next: Some(format!("start Bitcoin Core with -datadir={out}{flags}: it continues there")),
    };
    shown.show(args, &answer);
    Ok(answer)
}

/// Which bytes were not copied.
fn shared(shared: &SharedFiles) -> Option<String> {
    let bytes = blockmill_report::bytes(shared.bytes);
    let how = match (shared.reflinks, shared.hard_links) {
        (0, 0) => return None,
        (_, 0) => "share their bytes on disk with the source's",
        _ => "are the source's under other names (hard links)",
    };
    let files = counted((shared.reflinks + shared.hard_links).into(), "block file");
    Some(format!("{files} of {bytes} {how}; --copy makes copies"))
}

/// Writes the best chain as block files in its order.
pub fn block_files(
    args: &Convert,
    files: &BlockFiles,
    options: &Options,
    json: bool,
) -> Result<Answer> {
    let network = network::network_of(&options.params);
    let key = if args.xor { XorKey::random() } else { XorKey::default() };
    let writer = WriterOptions { key, ..WriterOptions::core(network) };
    stop::leaves(format!("nothing was written to {}", args.out.display()));
    stop::writes(&args.out, files.bytes());
    options.cancel.live().plan(&["index", "copy blocks"]);
    let room = |needed| room(args, needed);
    let copied = export::to_block_files(files, options, &args.out, writer, room)?;
    let Some(copied) = copied else { return Ok(Answer::with_status(Status::Interrupted)) };
    let range = (0, copied.last.into());
    let next = Some(convert::verify(args, args.chain.as_deref()));
    written(args, answer_of_copy(options, copied), range, ("headers", "bodies"), next, json)
}

/// Writes the headers of the best chain.
pub fn headers(
    args: &Convert,
    files: &BlockFiles,
    options: &Options,
    json: bool,
) -> Result<Answer> {
    stop::leaves(format!("nothing was written to {}", args.out.display()));
    let copied = export::to_headers(files, options, &args.out, |needed| room(args, needed))?;
    let Some(copied) = copied else { return Ok(Answer::with_status(Status::Interrupted)) };
    let range = (0, copied.last.into());
    let next = Some(convert::verify(args, args.chain.as_deref()));
    written(args, answer_of_copy(options, copied), range, ("headers", "bodies"), next, json)
}

/// Asks for room on disk where the output will be.
fn room(args: &Convert, needed: u64) -> Result<(), Error> {
    let (action, path) = ("write", args.out.clone());
    expect_room(args, needed).map_err(|source| Error::System { action, path, source })
}

/// How a conversion ended, with what the files lack, and what is corrupt in them.
fn answer(options: &Options, run: &Run) -> Answer {
    let status = match run.status_of_files(options.partial) {
        Status::Verified => Status::Ok,
        status => status,
    };
    let (shortfalls, notes) = (run.shortfalls.clone(), record::places(run));
    Answer { error: run.corruption_of_files(), shortfalls, notes, ..Answer::with_status(status) }
}

/// How a conversion ended that checks headers only. A header that breaks a rule ends the chain, and
/// is the fault of the files, as for a verification.
fn answer_of_copy(options: &Options, copied: Copied) -> Answer {
    let mut answer = answer(options, &copied.run);
    if let Some(refused) = copied.refused.map(Error::from) {
        let text = refused.to_string();
        answer.notes.retain(|note| *note != text);
        (answer.status, answer.error) = (refused.status(), Some(refused.report()));
    }
    answer
}
