//! `bench bodies`.

use crate::answer::Answer;
use crate::args::{BenchBodies, BodiesOnce};
use crate::import::cores;
use crate::outputs;
use anyhow::{Context, Result};
use bench::bodies::{self, Once, Plan};
use bench::generate::transfers::Recipe;
use pipeline::disk::replace_file;
use report::Colour;
use std::fs;

/// `blockmill bench bodies`.
pub fn run(args: &BenchBodies, json: bool) -> Result<Answer> {
    let scratch = args.scratch.clone().unwrap_or_else(|| std::env::temp_dir().join("blockmill"));
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
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
    outputs::results(&args.out, args.force)?;
    let records = bodies::run(&plan, |line| eprintln!("{line}"))?;
    let mut files = bench::output::write(&records, &args.out)?;
    let table = args.out.join("table.md");
    replace_file(&table, report::senders_markdown(&records).as_bytes())
        .with_context(|| format!("cannot write {}", table.display()))?;
    files.push(table);
    if json {
        return Answer::ok().with(&records);
    }
    print!("{}", report::senders_table(&records, Colour::of_stdout()));
    files.iter().for_each(|file| println!("wrote {}", file.display()));
    Ok(Answer::ok())
}

/// One run, for the parent process that compares.
pub fn run_once(args: &BodiesOnce) -> Result<Answer> {
    let mut record = bodies::once(&Once {
        folder: args.folder.clone(),
        label: args.label.clone(),
        with: args.variants.clone(),
        threads: args.threads,
        scratch: args.scratch.clone(),
    })?;
    record.command = bench::child::command_line();
    record.write(&args.record)?;
    Ok(Answer::ok())
}
