//! `blockmill`: imports blockchain archives, verifies them, and shows where the time went.

// first, because its macros stand in for those of the standard library in all that follows
#[macro_use]
mod print;

mod args;
mod bench_bodies;
mod bench_headers;
mod bench_reindex;
mod bench_rlp;
mod bench_signatures;
mod config;
mod convert;
mod demo;
mod ethereum_chain;
mod generate;
mod hand_over;
mod import;
mod inspect;
mod output;
mod progress;
mod reindex;
mod report;

use anyhow::{Context, Result};
use args::{Bench, Cli, Command};
use bench::counting::CountingAllocator;
use clap::{CommandFactory, Parser};
use output::Exit;
use pipeline::Cancel;
use std::path::Path;
use std::process::ExitCode;

/// So that `bench rlp` can count allocations instead of estimating them.
#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    let exit = match run() {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    };
    print::ended(exit)
}

fn run() -> Result<ExitCode> {
    let args = config::with_config(std::env::args_os().collect())?;
    match Cli::try_parse_from(args) {
        Ok(cli) => command(&cli).map(ExitCode::from),
        // that is also how the text of --help comes
        Err(error) => {
            print::parser(&error);
            Ok(ExitCode::from(error.exit_code().try_into().unwrap_or(u8::MAX)))
        }
    }
}

fn command(cli: &Cli) -> Result<Exit> {
    match &cli.command {
        Command::Import(args) => import::run_import(args, cli.json, stop_on_signal()?),
        Command::Verify(args) => import::run_verify(args, cli.json, stop_on_signal()?),
        Command::Inspect(args) => inspect::run(args, cli.json),
        Command::Convert(args) => convert::run(args, cli.json, stop_on_signal()?),
        Command::Bench(Bench::Headers(args)) => bench_headers::run(args, cli.json),
        Command::Bench(Bench::Bodies(args)) => bench_bodies::run(args, cli.json),
        Command::Bench(Bench::Rlp(args)) => bench_rlp::run(args, cli.json),
        Command::Bench(Bench::Signatures(args)) => bench_signatures::run(args, cli.json),
        Command::Bench(Bench::Reindex(args)) => bench_reindex::run(args, cli.json),
        Command::Bench(Bench::BodiesOnce(args)) => bench_bodies::run_once(args),
        Command::Bench(Bench::HeadersOnce(args)) => bench_headers::run_once(args),
        Command::Bench(Bench::ReindexOnce(args)) => bench_reindex::run_once(args),
        Command::Bench(Bench::RlpOnce(args)) => bench_rlp::run_once(args),
        Command::Generate(command) => generate::run(command, cli.json),
        Command::Report(args) => report::run(args, cli.json),
        Command::Demo(args) => demo::run(args, cli.json),
        Command::Completions { shell } => {
            // the generator panics when it cannot write, so it writes to memory
            let mut script = vec![];
            clap_complete::generate(*shell, &mut Cli::command(), "blockmill", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(Exit::Success)
        }
        Command::Man { folder } => man_pages(folder),
    }
}

/// The first Ctrl-C lets the run finish the chunk at hand; the second one ends the process, which
/// loses nothing that is committed.
fn stop_on_signal() -> Result<Cancel> {
    let cancel = Cancel::new();
    let handler = cancel.clone();
    ctrlc::set_handler(move || {
        if handler.is_cancelled() {
            std::process::exit(130);
        }
        handler.cancel();
        eprintln!("stopping after the chunk at hand; press Ctrl-C again to stop at once");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(cancel)
}

fn man_pages(folder: &Path) -> Result<Exit> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write man pages to {}", folder.display()))?;
    Ok(Exit::Success)
}
