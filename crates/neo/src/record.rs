//! Builds the run record of an import.

use crate::error::Error;
use crate::import::CHECK;
use crate::options::Options;
use crate::run::{Run, phases};
use blockmill_archive::acc::Dumps;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::record::{CHECK_DECODE, CHECK_VERIFY, Data, Program, RunRecord};
use blockmill_verdict::{Level, counted, grouped};

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
    let run_outcome = run.outcome(outcome);
    let phases = phases(run.root.is_some());
    let chunks = (&run.chunks[..], &phases[..]);
    let mut record = RunRecord::of_run(program, label, &run_outcome, chunks, &run.times);
    let (first, last) = (record.data.first, record.data.last);
    record.data = Data {
        paths: dumps.files().iter().map(|dump| dump.path.display().to_string()).collect(),
        format: "acc".into(),
        chain: options.protocol.name.into(),
        checksum: run.tip.map(|(_, hash)| blockmill_archive::chain_checksum(first, last, &hash.0)),
        ..record.data
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
    split_check(&mut record);
    record.result.checked = checked(run, options);
    record.result.unchecked = unchecked(run, options);
    record.notes = notes(run);
    record.details = details(run, options);
    record
}

/// Shows the check stage as decoding and verification, which share its time.
fn split_check(record: &mut RunRecord) {
    let parts = [CHECK_DECODE, CHECK_VERIFY].map(|part| (part, record.busy_s(part)));
    record.split_stage(CHECK, &parts);
}

/// What was checked of every block.
fn checked(run: &Run, options: &Options) -> Vec<String> {
    let mut checked = vec!["links".into(), "header rules".into(), "witnesses of blocks".into()];
    if options.level >= Level::Bodies && run.blocks > 0 {
        checked.push("Merkle roots".into());
        checked.push(counted(run.transactions, "transaction"));
        checked.push(format!("{} of their witnesses", grouped(run.witnesses)));
    }
    if run.root.is_some() {
        checked.push("execution".into());
    }
    checked
}

/// What was not checked, although the level asks for it.
fn unchecked(run: &Run, options: &Options) -> Vec<String> {
    let mut unchecked = vec![];
    if let Some(hash) = options.assume_valid {
        unchecked.push(format!("witnesses and rules of transactions up to block {hash}"));
    }
    if run.unverified > 0 {
        let unverified = grouped(run.unverified);
        unchecked.push(format!("{unverified} witnesses that the virtual machine would run"));
    }
    unchecked
}

/// Notes for the reader of the record.
fn notes(run: &Run) -> Vec<String> {
    let mut notes = run.left_out.clone();
    if let Some(height) = run.resumed {
        notes.push(format!("resumed after height {}", grouped(height.into())));
    }
    if run.repeated > 0 {
        let repeated = grouped(run.repeated);
        notes.push(format!("{repeated} repeated blocks equal the earlier ones: skipped"));
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
    notes
}

/// How the work was done.
fn details(run: &Run, options: &Options) -> Vec<String> {
    let mut details = vec![];
    if options.level >= Level::Bodies && run.blocks > 0 {
        let (transactions, witnesses) = (grouped(run.transactions), grouped(run.witnesses));
        let by = options.settings.signatures.verifier().width().name();
        details.push(format!(
            "{transactions} transactions with {witnesses} witnesses verified by signatures={by}"
        ));
    }
    if let Some(root) = run.root {
        details.push(format!("state root {root} after the last block"));
    }
    if run.sync_s >= 0.001 {
        details.push(format!("of the wall time, the last sync to disk took {:.3} s", run.sync_s));
    }
    details
}
