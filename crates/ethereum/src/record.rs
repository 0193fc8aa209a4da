//! A run as a run record.

mod notes;

use crate::Level;
use crate::fault::Error;
use crate::import::CHECK;
use crate::link::BlockId;
use crate::options::Options;
use crate::run::{PHASES, Run};
use blockmill_archive::Archive;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{BlockRef, Data, Outcome, Program, RunRecord, Series, Stage};
use blockmill_verdict::{Hex, Status};

/// The record of `run`, called `label` in tables; `program` is this one.
pub fn of(
    run: &Run,
    outcome: &Result<(), Error>,
    archive: &Archive,
    options: &Options,
    program: Program,
    label: &str,
) -> RunRecord {
    let mut record = RunRecord::new(program, label);
    record.started_unix = run.started_unix;
    record.machine = blockmill_pipeline::machine::Machine::detect();
    let (first, last) = run.range.unwrap_or_default();
    record.data = Data {
        paths: archive.files().iter().map(|path| path.display().to_string()).collect(),
        format: archive.format().name().into(),
        chain: options.spec.name.clone(),
        first,
        last,
        blocks: run.blocks,
        bytes: run.bytes,
        checksum: checksum(run),
    };
    record.level = options.level.name().into();
    record.options = options.settings.to_map();
    record.settings.insert("seal".into(), options.seal.mode.to_string());
    record.settings.insert("seal-seed".into(), options.seal.seed.to_string());
    record.facts.count("seals", run.seals_checked);
    record.facts.set("setup_s", options.caches.stats().busy.as_secs_f64());
    record.series.push(Series::of_chunks(&run.chunks, &PHASES));
    record.series.push(Series::of_slices(&run.times.timeline));
    record.series.extend(run.blocks_executed.series());
    run.blocks_executed.facts(run.wall_s, &mut record.facts);
    record.took(run.wall_s);
    record.take_usage();
    record.stages = stages(run);
    record.threads = run.times.threads.iter().map(Into::into).collect();
    record.result = result(run, outcome);
    if options.level >= Level::Execution
        && let Some(tip) = &run.tip
    {
        let header = tip.header.view();
        record.answer.insert("state_root".into(), Hex(header.state_root).to_string());
        record.facts.count("speculations_committed", run.speculation.committed);
        record.facts.count("speculations_aborted", run.speculation.aborted);
        record.facts.count("speculations_aborted_gas", run.speculation.aborted_gas);
        record.facts.count("prefetched_used", run.prefetch.used);
        record.facts.count("prefetched_unused", run.prefetch.unused);
        record.facts.count("transactions", run.transactions);
    }
    record.notes = notes::of(run, archive, options);
    record
}

/// The checksum of the new blocks.
fn checksum(run: &Run) -> Option<String> {
    let ((first, _), tip) = (run.range?, run.tip.as_ref()?);
    Some(blockmill_archive::chain_checksum(first, tip.id.number, &tip.id.hash))
}

/// The stages by their names. The check stage is shown in its parts, which share its waiting time
/// in proportion to their busy time.
fn stages(run: &Run) -> Vec<Stage> {
    let mut stages = vec![];
    for times in &run.times.stages {
        let stage = Stage::from_times(times, run.blocks, run.bytes);
        if times.name == CHECK {
            stages.extend(parts(&stage, run));
        } else {
            stages.push(stage);
        }
    }
    stages
}

/// Decoding, the rules and, where there are any, the senders.
fn parts(stage: &Stage, run: &Run) -> Vec<Stage> {
    let sum = |phase: usize| run.chunks.iter().map(|chunk| chunk.busy_s[phase]).sum();
    let (decode, validate): (f64, f64) = (sum(1), sum(2));
    let all = decode + validate;
    let decode = if all > 0.0 { decode / all } else { 0.5 };
    let senders = run.senders_busy.as_secs_f64();
    let senders = if senders < validate { senders / all } else { 0.0 };
    let part = |name: &str, share: f64| Stage {
        name: name.into(),
        busy_s: stage.busy_s * share,
        wait_s: stage.wait_s * share,
        ..stage.clone()
    };
    let mut parts = vec![part("decode", decode), part("verify", 1.0 - decode - senders)];
    // senders that are recovered by the executing thread are part of its time
    if senders > 0.0 {
        parts.push(Stage { items: run.senders, ..part("senders", senders) });
    }
    parts
}

fn result(run: &Run, outcome: &Result<(), Error>) -> Outcome {
    let block = |id: &BlockId| BlockRef { number: id.number, hash: Hex(&id.hash).to_string() };
    let tip = run.tip.as_ref();
    Outcome {
        tip_number: tip.map_or(0, |tip| tip.id.number),
        tip_hash: tip.map_or(String::new(), |tip| Hex(&tip.id.hash).to_string()),
        total_difficulty: tip.and_then(|tip| tip.total_difficulty).map(|total| total.to_string()),
        anchor: run.anchor.as_ref().map(block),
        trusted: run.trusted.iter().map(block).collect(),
        accumulators: run.accumulators,
        committed: run.committed,
        error: outcome.as_ref().err().map(ToString::to_string),
        status: match outcome {
            Err(error) => error.status(),
            Ok(()) if run.stopped => Status::Interrupted,
            Ok(()) if !run.shortfalls.is_empty() => Status::Partial,
            Ok(()) => Status::Verified,
        },
        fault: outcome.as_ref().err().map(Error::report),
        shortfalls: run.shortfalls.clone(),
        ..Outcome::default()
    }
}
