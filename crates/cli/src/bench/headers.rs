//! `bench headers`.

use crate::answer::Answer;
use crate::args::{BenchHeaders, GenerateEthereum, HeadersOnce, Outputs};
use crate::ethereum::generate;
use crate::host::cores;
use crate::outputs;
use anyhow::{Context, Result};
use bench::headers::{self, Once, Plan};
use bench::scratch::Scratch;
use ethereum::seal::SealMode;
use pipeline::disk::replace_file;
use report::Colour;
use std::path::{Path, PathBuf};

/// `blockmill bench headers`.
pub fn run(args: &BenchHeaders, json: bool) -> Result<Answer> {
    outputs::results(&args.out, args.force)?;
    let scratch = Scratch::claim(args.scratch.as_deref())?;
    let generated = args.paths.is_empty();
    let paths = if generated {
        vec![headers_in(scratch.folder(), args.headers)?]
    } else {
        args.paths.clone()
    };
    let seal = match &args.seal {
        Some(seal) => seal.parse().context("--seal")?,
        None if generated => SealMode::Off,
        None => SealMode::Sample(100),
    };
    let plan = Plan {
        paths,
        ladder: args.ladder,
        ablate: args.ablate,
        engines: args.peers.then(|| args.engines.join("engines.toml")),
        runs: args.runs.max(1),
        seal,
        threads: args.threads.unwrap_or_else(cores),
        out: args.out.clone(),
        scratch,
        program: std::env::current_exe().context("cannot find this program")?,
    };
    let records = headers::run(&plan, |line| eprintln!("{line}"))?;
    let files = bench::output::write(&records, &args.out)?;
    let table = report::ladder_markdown(&records) + &bench::ratios::against_peers(&records);
    replace_file(&args.out.join("table.md"), table.as_bytes())
        .with_context(|| format!("cannot write to {}", args.out.display()))?;
    let tables = report::ladder_table(&records, Colour::of_stdout())
        + &bench::ratios::against_peers(&records);
    Answer::results(&records, &tables, &files, json)
}

/// The chain, generated once.
fn headers_in(scratch: &Path, headers: u64) -> Result<PathBuf> {
    let out = scratch.join(format!("generated-{headers}.headers"));
    if !out.exists() {
        eprintln!("generating {headers} headers");
        let format = archive::Target::by_name("headers").context("a stream of headers")?;
        let out = out.clone();
        let (transfers, block_transfers) = (None, None);
        let outputs = Outputs::default();
        let args =
            GenerateEthereum { headers, transfers, block_transfers, seed: 1, format, out, outputs };
        generate::headers(&args, false)?;
    }
    Ok(out)
}

/// One run, for the parent process that compares.
pub fn run_once(args: &HeadersOnce) -> Result<Answer> {
    let record = headers::once(&Once {
        paths: args.paths.clone(),
        label: args.label.clone(),
        with: args.with.clone(),
        rung: args.rung.clone(),
        seal: args.seal.parse().context("--seal")?,
        threads: args.threads,
        scratch: args.scratch.clone(),
        ethash_cache: args.ethash_cache.clone(),
    })?;
    record.write(&args.record)?;
    Ok(Answer::ok())
}
