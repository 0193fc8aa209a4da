//! `bench bodies`.

use crate::answer::Answer;
use crate::args::{BenchBodies, BodiesOnce};
use crate::host::cores;
use crate::outputs;
use anyhow::{Context, Result};
use bench::bodies::{self, Once, Plan};
use bench::generate::transfers::Recipe;
use bench::scratch::Scratch;
use pipeline::disk::replace_file;
use report::Colour;

/// `blockmill bench bodies`.
pub fn run(args: &BenchBodies, json: bool) -> Result<Answer> {
    outputs::results(&args.out, args.force)?;
    let scratch = Scratch::claim(args.scratch.as_deref())?;
    let block_transfers = args.block_transfers.unwrap_or(u64::MAX);
    let plan = Plan {
        chain: Recipe { transfers: args.transfers, block_transfers, seed: 1 },
        ladder: args.ladder,
        ablate: args.ablate,
        runs: args.runs.max(1),
        threads: args.threads.unwrap_or_else(cores).max(1),
        out: args.out.clone(),
        scratch,
        program: std::env::current_exe().context("cannot find this program")?,
    };
    let records = bodies::run(&plan, |line| eprintln!("{line}"))?;
    let mut files = bench::output::write(&records, &args.out)?;
    let table = args.out.join("table.md");
    replace_file(&table, report::senders_markdown(&records).as_bytes())
        .with_context(|| format!("cannot write {}", table.display()))?;
    files.push(table);
    let tables = report::senders_table(&records, Colour::of_stdout());
    Answer::results(&records, &tables, &files, json)
}

/// One run, for the parent process that compares.
pub fn run_once(args: &BodiesOnce) -> Result<Answer> {
    let mut record = bodies::once(&Once {
        folder: args.folder.clone(),
        label: args.label.clone(),
        with: args.with.clone(),
        threads: args.threads,
        scratch: args.scratch.clone(),
    })?;
    record.command = bench::child::command_line();
    record.write(&args.record)?;
    Ok(Answer::ok())
}
