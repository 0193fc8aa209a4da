//! `convert` of Bitcoin block files: to a datadir of Bitcoin Core, or to block files in order.

use crate::answer::Answer;
use crate::args::{Convert, Target};
use crate::import::cores;
use crate::output;
use crate::outputs;
use crate::progress::Display;
use crate::reindex::{cache, failure, network_of, of_chain, open, parse_id};
use crate::sources;
use crate::stop;
use anyhow::{Result, ensure};
use archive::blkdat::{BlockFiles, WriterOptions, XorKey};
use bitcoin::Error;
use bitcoin::datadir::SharedFiles;
use bitcoin::export;
use bitcoin::import::{Options, import};
use chain::{Shortfall, Status};
use chain::{counted, grouped};
use pipeline::Cancel;

/// `blockmill convert --to core|blk`.
pub fn run(args: &Convert, json: bool, cancel: Cancel) -> Result<Answer> {
    ensure!(args.from.is_none(), "--from: Bitcoin chains are written from the genesis block on");
    let (files, params) = open(&args.paths, args.chain.as_deref())?;
    let mut options = Options {
        threads: cores(),
        memory: cache(args.cache)?,
        assume_valid: args.assume_valid.as_deref().map(parse_id).transpose()?,
        until: args.until.map(|height| height.try_into().unwrap_or(u32::MAX)),
        partial: args.partial,
        // each body is read by the conversion
        recheck: false,
        now: Some(output::unix_seconds()),
        cancel,
        ..Options::new(params)
    };
    sources::expect_tips(&args.stores, &mut options)?;
    let mut answer = match args.to {
        Target::Blk => block_files(args, &files, &options, json),
        _ => datadir(args, &files, &options, json),
    }?;
    answer.notes.extend(sources::notes(&args.stores));
    Ok(answer)
}

/// Brings the store up to date, then writes it out for Bitcoin Core.
fn datadir(args: &Convert, files: &BlockFiles, options: &Options, json: bool) -> Result<Answer> {
    let (number, bytes) = (files.files().len(), files.bytes());
    let (out, data) = (args.out.display(), args.data.display());
    stop::leaves_after_commit(format!(
        "nothing was written to {out}; what was committed to {data} stays, and a second run goes on"
    ));
    let (total, mut done) = (bytes, 0);
    stop::writes(&args.data, total);
    let mut display = Display::indexing(number, bytes, options.level.name(), json);
    let (run, outcome) = import(files, options, &args.data, |progress| {
        done = progress.bytes;
        display.update(&of_chain(progress));
    });
    display.finish();
    stop::still_to_come(total.saturating_sub(done));
    let mut answer = Answer::ok();
    if let Err(error) = outcome {
        answer = failure(&error, &args.data, options);
        // a bad block ends the chain, which is good up to there
        if !matches!(error, Error::Fault(_)) {
            return Ok(answer);
        }
    } else if run.stopped {
        return Ok(Answer::of(Status::Interrupted));
    } else {
        answer = with_shortfalls(answer, options, run.shortfalls, run.damage);
    }
    stop::leaves(format!("nothing was written to {out}; the store is up to date"));
    stop::writes(&args.out, total);
    let room = |needed| expect_room(args, needed);
    let written = export::to_core(files, options, &args.data, &args.out, !args.copy, |_| {}, room)?;
    let Some(written) = written else { return Ok(Answer::of(Status::Interrupted)) };
    if json {
        return answer.with(serde_json::json!({
            "out": out.to_string(),
            "height": written.blocks - 1,
            "tip": bitcoin::Id(&written.tip).to_string(),
            "coins": written.coins,
            "bytes": written.block_bytes + written.undo_bytes + written.coin_bytes,
            "reflinked_files": written.shared.reflinks,
            "hard_linked_files": written.shared.hard_links,
            "linked_bytes": written.shared.bytes,
        }));
    }
    let (blocks, coins) = (grouped(written.blocks.into()), grouped(written.coins));
    println!("wrote {blocks} blocks, their undo data and {coins} coins to {out}");
    print_shared(&written.shared);
    println!("start Bitcoin Core with -datadir={out}: it goes on from there");
    print_shortfalls(&answer);
    Ok(answer)
}

/// Says which bytes were not copied.
fn print_shared(shared: &SharedFiles) {
    let bytes = report::bytes(shared.bytes);
    let how = match (shared.reflinks, shared.hard_links) {
        (0, 0) => return,
        (_, 0) => "share their bytes on disk with the source's",
        _ => "are the source's under other names (hard links)",
    };
    let files = counted((shared.reflinks + shared.hard_links).into(), "block file");
    println!("{files} of {bytes} {how}; --copy makes copies");
}

/// Writes the best chain as block files in its order.
fn block_files(
    args: &Convert,
    files: &BlockFiles,
    options: &Options,
    json: bool,
) -> Result<Answer> {
    let network = network_of(&options.params);
    let key = if args.xor { XorKey::random() } else { XorKey::default() };
    let writer = WriterOptions { key, ..WriterOptions::core(network) };
    stop::leaves(format!("nothing was written to {}", args.out.display()));
    stop::writes(&args.out, files.bytes());
    let room = |needed| expect_room(args, needed);
    let copied = export::to_block_files(files, options, &args.out, writer, |_| {}, room)?;
    let Some(copied) = copied else { return Ok(Answer::of(Status::Interrupted)) };
    let (out, last) = (args.out.display().to_string(), copied.last);
    let answer = with_shortfalls(Answer::ok(), options, copied.shortfalls, copied.damage);
    if json {
        return answer.with(serde_json::json!({ "out": out, "first": 0, "last": last }));
    }
    println!("wrote blocks 0 to {} to {out}", grouped(last.into()));
    println!("conversion checks headers, not bodies; `blockmill verify` does");
    print_shortfalls(&answer);
    Ok(answer)
}

/// Asks for room on disk where the output will be.
fn expect_room(args: &Convert, needed: u64) -> Result<(), Error> {
    let (action, path) = ("write", args.out.clone());
    let room = outputs::expect_room(&path, needed, args.outputs);
    room.map_err(|source| Error::System { action, path, source })
}

/// An answer that has what the files lack.
fn with_shortfalls(
    answer: Answer,
    options: &Options,
    shortfalls: Vec<Shortfall>,
    notes: Vec<String>,
) -> Answer {
    let status = match (shortfalls.is_empty(), options.partial) {
        (true, _) => answer.status,
        (false, true) => Status::Partial,
        (false, false) => Status::Incomplete,
    };
    Answer { status, shortfalls, notes, ..answer }
}

/// Says that the chain that was written is not all.
fn print_shortfalls(answer: &Answer) {
    for note in &answer.notes {
        println!("note: {note}");
    }
    if answer.shortfalls.is_empty() {
        return;
    }
    println!("incomplete: the files lack blocks, what they connect to is written");
    for shortfall in &answer.shortfalls {
        println!("missing: {shortfall}");
    }
}
