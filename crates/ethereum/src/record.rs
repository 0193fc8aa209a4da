//! A run as a run record.

mod notes;

use crate::Level;
use crate::error::Error;
use crate::import::CHECK;
use crate::link::BlockId;
use crate::options::Options;
use crate::run::{PHASES, Run};
use blockmill_archive::Archive;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{
    CHECK_DECODE, CHECK_SENDERS, CHECK_VERIFY, Data, Outcome, Program, RunRecord,
};
use blockmill_verdict::Hex;
pub(crate) use notes::unchecked;

/// The record of `run`, called `label` in tables; `program` is this one.
pub fn of(
    run: &Run,
    outcome: &Result<(), Error>,
    archive: &Archive,
    options: &Options,
    program: Program,
    label: &str,
) -> RunRecord {
    let run_outcome = run.outcome(outcome);
    let mut record =
        RunRecord::of_run(program, label, &run_outcome, (&run.chunks, &PHASES), &run.times);
    record.data = Data {
        paths: archive.files().iter().map(|path| path.display().to_string()).collect(),
        format: archive.format().name().into(),
        chain: options.spec.name.clone(),
        checksum: checksum(run),
        ..record.data
    };
    record.level = options.level.name().into();
    record.options = options.settings.to_map();
    record.settings.insert("seal".into(), options.seal.mode.to_string());
    record.settings.insert("seal-seed".into(), options.seal.seed.to_string());
    record.facts.count("seals", run.seals_checked);
    record.facts.set("setup_s", options.caches.stats().busy.as_secs_f64());
    record.series.extend(run.blocks_executed.series());
    run.blocks_executed.facts(run.wall_s, &mut record.facts);
    split_check(run, &mut record);
    let tip = run.tip.as_ref();
    record.result = Outcome {
        total_difficulty: tip.and_then(|tip| tip.total_difficulty).map(|total| total.to_string()),
        trusted: run.trusted.iter().map(BlockId::shown).collect(),
        accumulators: run.accumulators,
        checked: notes::checked(run, archive, options),
        unchecked: unchecked(run, options),
        ..record.result
    };
    if options.level >= Level::Execution
        && let Some(tip) = &run.tip
    {
        let header = tip.header.view();
        record.answer.insert("state_root".into(), Hex(header.state_root).to_string());
        record.facts.count("speculations_committed", run.speculation.committed);
        record.facts.count("speculations_aborted", run.speculation.aborted);
        record.facts.count("speculations_aborted_gas", run.speculation.aborted_gas);
        record.facts.count("by_access_list", run.by_access_list);
        record.facts.count("prefetched_used", run.prefetch.used);
        record.facts.count("prefetched_unused", run.prefetch.unused);
        record.facts.count("transactions", run.transactions);
    }
    record.notes = notes::of(run, archive, options);
    record.details = notes::details(run, archive, options);
    record
}

/// The checksum of the new blocks.
fn checksum(run: &Run) -> Option<String> {
    let ((first, _), tip) = (run.range?, run.tip.as_ref()?);
    Some(blockmill_archive::chain_checksum(first, tip.id.number, &tip.id.hash))
}

/// Shows the check in its parts, which share its time: decoding, the rules and, if any were
/// recovered there, the senders.
fn split_check(run: &Run, record: &mut RunRecord) {
    let parts = [CHECK_DECODE, CHECK_VERIFY, CHECK_SENDERS].map(|part| (part, record.busy_s(part)));
    record.split_stage(CHECK, &parts);
    let stages = record.stages.iter_mut();
    stages.filter(|stage| stage.name == CHECK_SENDERS).for_each(|stage| stage.items = run.senders);
}
