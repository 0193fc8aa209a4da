//! Builds the run record of an import.

use crate::fault::Error;
use crate::import::CHECK;
use crate::options::Options;
use crate::run::{PHASES, Run};
use blockmill_archive::acc::Dumps;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{Data, Outcome, Program, RunRecord, Series, Stage};
use blockmill_verdict::{Level, Status, grouped};

/// Builds the record of `run`. `label` is its name in tables, `program` the running program.
#[must_use]
pub fn of(
    run: &Run,
    outcome: &Result<(), Error>,
    dumps: &Dumps,
    options: &Options,
    program: Program,
    label: &str,
) -> RunRecord {
    let mut record = RunRecord::new(program, label);
    record.started_unix = run.started_unix;
    record.machine = blockmill_pipeline::machine::Machine::detect();
    let (first, last) = run.range.unwrap_or_default();
    let (first, last) = (first.into(), last.into());
    record.data = Data {
        paths: dumps.files().iter().map(|dump| dump.path.display().to_string()).collect(),
        format: "acc".into(),
        chain: options.protocol.name.into(),
        first,
        last,
        blocks: run.blocks,
        bytes: run.bytes,
        checksum: run.tip.map(|(_, hash)| blockmill_archive::chain_checksum(first, last, &hash.0)),
    };
    record.level = options.level.name().into();
    record.options = options.settings.to_map();
    record.facts.count("transactions", run.transactions);
    if run.wall_s > 0.0 {
        let taken = (run.wall_s - run.sync_s).max(f64::MIN_POSITIVE);
        record.facts.set("rps", run.transactions as f64 / taken);
        record.facts.set("tps", run.transactions as f64 / run.wall_s);
    }
    if let Some(root) = run.root {
        record.answer.insert("root".into(), root.to_string());
    }
    record.series.push(Series::of_chunks(&run.chunks, &PHASES));
    record.series.push(Series::of_slices(&run.times.timeline));
    record.took(run.wall_s);
    record.take_usage();
    record.stages = stages(run);
    record.threads = run.times.threads.iter().map(Into::into).collect();
    record.result = result(run, outcome);
    record.notes = notes(run, options);
    record
}

/// The stages by name. The check stage is shown as decoding and verification, which share its waiting
/// time in proportion to their busy time.
fn stages(run: &Run) -> Vec<Stage> {
    let sum = |phase: usize| run.chunks.iter().map(|chunk| chunk.busy_s[phase]).sum::<f64>();
    let (decode, verify) = (sum(1), sum(2));
    let share = if decode + verify > 0.0 { decode / (decode + verify) } else { 0.5 };
    let mut stages = vec![];
    for times in &run.times.stages {
        let stage = Stage::from_times(times, run.blocks, run.bytes);
        let part = |name: &str, share: f64| Stage {
            name: name.into(),
            busy_s: stage.busy_s * share,
            wait_s: stage.wait_s * share,
            ..stage.clone()
        };
        match times.name == CHECK {
            true => stages.extend([part("decode", share), part("verify", 1.0 - share)]),
            false => stages.push(stage),
        }
    }
    stages
}

fn result(run: &Run, outcome: &Result<(), Error>) -> Outcome {
    Outcome {
        tip_number: run.tip.map_or(0, |(index, _)| index.into()),
        tip_hash: run.tip.map_or(String::new(), |(_, hash)| hash.to_string()),
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

/// Notes for the reader of the record.
fn notes(run: &Run, options: &Options) -> Vec<String> {
    let mut notes = run.left_out.clone();
    if let Some(height) = run.resumed {
        notes.push(format!("resumed after height {}", grouped(height.into())));
    }
    if run.repeated > 0 {
        let repeated = grouped(run.repeated);
        notes.push(format!("{repeated} repeated blocks equal the earlier ones: skipped"));
    }
    if let Some(hash) = options.assume_valid {
        notes.push(format!(
            "witnesses and rules of transactions up to block {hash} were not checked"
        ));
    }
    if options.level >= Level::Bodies && run.blocks > 0 {
        let (transactions, witnesses) = (grouped(run.transactions), grouped(run.witnesses));
        let by = options.settings.signatures.verifier().width().name();
        notes.push(format!(
            "{transactions} transactions with {witnesses} witnesses verified by signatures={by}"
        ));
    }
    if let Some(root) = run.root {
        notes.push(format!("state root {root} after the last block"));
    }
    if run.unverified > 0 {
        let unverified = grouped(run.unverified);
        notes.push(format!("{unverified} witnesses need the virtual machine: not verified"));
    }
    if run.tolerated > 0 {
        let tolerated = grouped(run.tolerated);
        notes.push(format!(
            "{tolerated} blocks have a transaction that breaks a rule; this network stores them \
             (VerifyTransactions is off in its configuration)"
        ));
        let first = run.first_tolerated.iter();
        notes.extend(first.map(|(block, violation)| format!("block {block}: {violation}")));
    }
    if run.stopped {
        notes.push("stopped on request; the next run resumes here".into());
    }
    if run.sync_s >= 0.001 {
        notes.push(format!("of the wall time, the last sync to disk took {:.3} s", run.sync_s));
    }
    notes
}
