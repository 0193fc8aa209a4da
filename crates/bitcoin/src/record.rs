//! The run record of a run.

use crate::Level;
use crate::error::Error;
use crate::options::Options;
use crate::run::{PHASES, Run};
use blockmill_archive::blkdat::BlockFiles;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{Data, Facts, Program, RunRecord, Work};
use blockmill_verdict::{counted, grouped};

/// Maximum number of listed corrupt ranges.
const MAX_LISTED: usize = 20;

/// The record of `run` by `program`, with the name `label` in tables.
pub fn of(
    run: &Run,
    outcome: &Result<(), Error>,
    files: &BlockFiles,
    options: &Options,
    program: Program,
    label: &str,
) -> RunRecord {
    let run_outcome = run.outcome(outcome, options.partial);
    // without batches there was no pass 2
    let phases = if run.chunks.is_empty() { &[][..] } else { &PHASES };
    let chunks = (&run.chunks[..], phases);
    let mut record = RunRecord::of_run(program, label, &run_outcome, chunks, &run.times);
    record.data = Data {
        paths: files.files().iter().map(|file| file.path().display().to_string()).collect(),
        format: if files.headers_only().is_some() { "btc-headers" } else { "blk" }.into(),
        chain: options.params.name.into(),
        checksum: checksum(run, options),
        ..record.data
    };
    record.level = options.level.name().into();
    record.options = options.settings.to_map();
    facts(run, &mut record.facts);
    record.result.checked = checked(run, options);
    record.result.unchecked = unchecked(run, options);
    record.result.work = run.tip_work.map(|work| Work {
        chain: format!("{work:064x}"),
        known: options.params.known_work.map(|work| format!("{work:064x}")),
    });
    if options.level == Level::Execution {
        record.answer.insert("coins".into(), run.coins.to_string());
    }
    record.notes = notes(run, options);
    if let Err(error) = outcome {
        let error = error.to_string();
        record.notes.retain(|note| *note != error);
    }
    record
}

/// The checksum of the new blocks of the best chain, or of all its headers.
fn checksum(run: &Run, options: &Options) -> Option<String> {
    let all = (options.level == Level::Headers).then_some((0, 0));
    let ((first, _), tip) = (run.range.or(all)?, run.tip?);
    Some(blockmill_archive::chain_checksum(first.into(), tip.height.into(), &tip.hash.0))
}

/// Facts about block files: the index of their headers, then the connected blocks.
fn facts(run: &Run, facts: &mut Facts) {
    let counts = &run.counts;
    for (name, count) in [
        ("files", counts.files),
        ("file_bytes", counts.file_bytes),
        ("index_bytes", counts.bytes_read),
        ("found", counts.blocks),
        ("out_of_order", counts.out_of_order),
        ("orphans", counts.orphans),
        ("stale", run.stale),
        ("commits", run.commits),
        ("transactions", run.transactions),
        ("inputs", run.inputs),
        ("scripts", run.scripts),
        ("by_library", run.by_library),
        ("coins", run.coins),
        ("coins_memory_bytes", run.coins_memory),
        ("tree_memory_bytes", run.tree_memory),
        ("disconnected", run.disconnected),
    ] {
        facts.count(name, count);
    }
    facts.set("scan_s", run.scan_s);
    facts.set("index_s", run.index_s);
    facts.set("connect_s", (run.wall_s - run.index_s).max(0.0));
    facts.set("commit_s", run.commit_s);
}

/// What was checked of every connected block.
fn checked(run: &Run, options: &Options) -> Vec<String> {
    let mut checked = vec!["links".into(), "proof of work".into(), "header rules".into()];
    if options.level >= Level::Bodies && run.blocks > 0 {
        checked.push("Merkle roots".into());
        checked.push(counted(run.transactions, "transaction"));
    }
    if options.level >= Level::Execution && run.blocks > 0 {
        checked.extend(["coins".into(), "amounts".into()]);
        if run.scripts > 0 {
            checked.push(counted(run.scripts, "script"));
        }
    }
    checked
}

/// What was not checked, although the level asks for it.
#[must_use]
pub fn unchecked(run: &Run, options: &Options) -> Vec<String> {
    let mut unchecked = vec![];
    if let Some(anchor) = run.anchor {
        let id = anchor.hash;
        unchecked.push(format!(
            "what comes before block {id}, the first of these files, on which all rests: rules \
             that ask for blocks before it are left out (median times of the first eleven, the \
             difficulty of its period)"
        ));
        if anchor.height.is_none() {
            unchecked.push(
                "rules that begin at a height, as the height is not known (--from HEIGHT gives it)"
                    .into(),
            );
        }
    }
    if let Some(hash) = &options.assume_valid {
        unchecked.push(format!("scripts up to block {hash}, which were taken as valid"));
    }
    unchecked
}

fn notes(run: &Run, options: &Options) -> Vec<String> {
    let mut notes = vec![];
    if let Some(tip) = run.resumed {
        let height = grouped(tip.height.into());
        notes.push(format!("resumed after height {height}, committed by an earlier run"));
    }
    notes.extend(run.proof.map(|proof| proof.to_string()));
    if let Some(unproven) = &run.unproven {
        notes.push(format!(
            "the coin multiset hash proves nothing, so a set of coins was kept: {unproven}"
        ));
    }
    if let Some(blocks) = run.rechecked {
        let blocks = grouped(blocks);
        notes.push(format!("{blocks} blocks that the store has were read again: all are whole"));
    }
    if options.level == Level::Bodies {
        notes.push("level bodies keeps no coins and no blocks: of an import only the index".into());
    }
    if run.disconnected > 0 {
        notes.push(format!(
            "disconnected for a better chain: {}",
            counted(run.disconnected, "block")
        ));
    }
    if run.stale > 0 {
        notes.push(format!(
            "in branches other than the best chain: {}",
            counted(run.stale, "block")
        ));
    }
    notes.extend(places(run));
    notes
}

/// Notes on corrupt ranges that are not the error of the run: all corrupt length fields except the
/// first, and ranges without loss of a block.
pub fn places(run: &Run) -> Vec<String> {
    let more = run.wrong_lengths.iter().skip(1).map(ToString::to_string);
    let all: Vec<String> = more.chain(run.notes.iter().cloned()).collect();
    let unlisted = all.len().saturating_sub(MAX_LISTED);
    let last = (unlisted > 0).then(|| format!("and {unlisted} more corrupt places"));
    all.into_iter().take(MAX_LISTED).chain(last).collect()
}
