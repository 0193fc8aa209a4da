//! The run record of a run.

use crate::Level;
use crate::fault::Error;
use crate::options::Options;
use crate::run::Run;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{
    BlockRef, Data, Facts, Outcome, Program, RunRecord, Series, Stage,
};
use blockmill_verdict::{Status, counted};

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
    let mut record = RunRecord::new(program, label);
    record.started_unix = run.started_unix;
    record.machine = blockmill_pipeline::machine::Machine::detect();
    let (first, last) = run.range.unwrap_or_default();
    record.data = Data {
        paths: files.files().iter().map(|file| file.path().display().to_string()).collect(),
        format: "blk".into(),
        chain: options.params.name.into(),
        first: first.into(),
        last: last.into(),
        blocks: run.blocks,
        bytes: run.bytes,
        checksum: checksum(run, options),
    };
    record.level = options.level.name().into();
    record.options = options.settings.to_map();
    // each batch passes through all stages of pass 2
    let phases: Vec<&str> = run.times.stages.iter().map(|times| times.name).collect();
    record.series.push(Series::of_chunks(&run.chunks, &phases));
    record.series.push(Series::of_slices(&run.times.timeline));
    record.took(run.wall_s);
    record.take_usage();
    let stages = run.times.stages.iter();
    record.stages = stages.map(|times| Stage::from_times(times, run.blocks, run.bytes)).collect();
    record.threads = run.times.threads.iter().map(Into::into).collect();
    facts(run, &mut record.facts);
    if options.level == Level::Execution {
        record.answer.insert("coins".into(), run.coins.to_string());
    }
    let fault = match outcome {
        Err(error) => Some(error.report()),
        Ok(()) if run.stopped => None,
        Ok(()) => run.damage_of_files(),
    };
    record.result = Outcome {
        tip_number: run.tip.map_or(0, |tip| tip.height.into()),
        tip_hash: run.tip.map_or(String::new(), |tip| tip.hash.to_string()),
        error: fault.as_ref().map(|fault| fault.message.clone()),
        status: match outcome {
            Err(error) => error.status(),
            Ok(()) if run.stopped => Status::Interrupted,
            Ok(()) => run.status_of_files(options.partial),
        },
        shortfalls: run.shortfalls.clone(),
        anchor: run.anchor.map(|anchor| BlockRef {
            number: anchor.height.unwrap_or(0).into(),
            hash: anchor.hash.to_string(),
        }),
        fault,
        ..Outcome::default()
    };
    record.notes = notes(run, options);
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

fn notes(run: &Run, options: &Options) -> Vec<String> {
    let mut notes = vec![];
    if let Some(tip) = run.resumed {
        notes.push(format!("resumed after height {}, committed by an earlier run", tip.height));
    }
    if let Some(anchor) = run.anchor {
        let id = anchor.hash;
        notes.push(format!(
            "all rests on block {id}, the first of these files, which is believed: rules that ask \
             for blocks before it are left out (median times of the first eleven, the difficulty \
             of its period)"
        ));
        if anchor.height.is_none() {
            notes.push(
                "the height is not known (--from HEIGHT gives it): rules that begin at a height \
                 are left out"
                    .into(),
            );
        }
    }
    notes.extend(run.proof.map(|proof| proof.to_string()));
    if let Some(unproven) = &run.unproven {
        notes.push(format!(
            "the coin multiset hash proves nothing, so a set of coins was kept: {unproven}"
        ));
    }
    if let Some(blocks) = run.rechecked {
        notes
            .push(format!("the {blocks} blocks that the store has were read again: all are whole"));
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
    if let Some(hash) = &options.assume_valid {
        notes.push(format!("scripts up to block {hash} were taken as valid"));
    }
    if run.stopped {
        notes.push("stopped on request; the next run continues from here".into());
    }
    notes.extend(places(run));
    notes
}

/// Notes on corrupt ranges that are not the error of the run: all corrupt length fields except the
/// first, and ranges without loss of a block.
pub fn places(run: &Run) -> Vec<String> {
    let more = run.wrong_lengths.iter().skip(1).map(ToString::to_string);
    let all: Vec<String> = more.chain(run.damage.iter().cloned()).collect();
    let unlisted = all.len().saturating_sub(MAX_LISTED);
    let last = (unlisted > 0).then(|| format!("and {unlisted} more corrupt places"));
    all.into_iter().take(MAX_LISTED).chain(last).collect()
}
