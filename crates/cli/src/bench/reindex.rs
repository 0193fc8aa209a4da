//! `bench reindex`.

use crate::answer::Answer;
use crate::args::{BenchReindex, ReindexOnce};
use crate::bitcoin::import::parse_id;
use crate::host::cores;
use crate::outputs;
use anyhow::{Context, Result};
use bench::reindex::{self, Once, Plan, Sources};
use bench::scratch::Scratch;
use report::Colour;

/// `blockmill bench reindex`.
pub fn run(args: &BenchReindex, json: bool) -> Result<Answer> {
    outputs::results(&args.out, args.force)?;
    let scratch = Scratch::claim(args.scratch.as_deref())?;
    let plan = Plan {
        only: args.only.clone(),
        sources: Sources {
            block: args.block.clone(),
            mainnet: args.paths.clone(),
            gb: args.gb,
            inputs: args.inputs,
        },
        ladder: args.ladder,
        ablate: args.ablate,
        engines: args.peers.then(|| args.engines.join("engines.toml")),
        runs: args.runs.max(1),
        threads: args.threads.unwrap_or_else(cores).max(1),
        cache: args.cache,
        cold: args.cold,
        out: args.out.clone(),
        scratch,
        program: std::env::current_exe().context("cannot find this program")?,
    };
    let records = reindex::run(&plan, |line| eprintln!("{line}"))?;
    let files = bench::output::write_reindex(&records, &args.out)?;
    let tables = report::reindex_table(&records, Colour::of_stdout())
        + &bench::ratios::reindex_against_peers(&records);
    Answer::results(&records, &tables, &files, json)
}

/// One run, for the parent process that compares.
pub fn run_once(args: &ReindexOnce) -> Result<Answer> {
    let record = reindex::once(&Once {
        blocks: args.blocks.clone(),
        label: args.label.clone(),
        definition: args.definition,
        rung: args.rung.clone(),
        with: args.with.clone(),
        threads: args.threads,
        cache: args.cache,
        assume_valid: args.assume_valid.as_deref().map(parse_id).transpose()?,
        digest: args.digest,
        scratch: args.scratch.clone(),
    })?;
    record.write(&args.record)?;
    Ok(Answer::ok())
}
