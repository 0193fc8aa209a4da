//! The command line of `blockmill-bench`.

mod args;
mod instructions;
mod measure;
mod report;

use crate::child;
use anyhow::Result;
use args::Bench;
use blockmill_cli::answer::Answer;
use blockmill_cli::front::{self, CommandLine};
use blockmill_cli::{Force, General, manual, print, stop};
use blockmill_pipeline::Cancel;
use clap::{CommandFactory, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The program, with the arguments of this process. The first thread of the process calls it.
#[must_use]
pub fn main() -> ExitCode {
    stop::ends_with(child::kill_all);
    front::main::<Cli>()
}

/// Measures blockmill, side by side with earlier designs and other clients.
#[derive(Debug, Parser)]
#[command(name = "blockmill-bench", version, about, max_term_width = 100)]
#[command(args_override_self = true, propagate_version = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    bench: Bench,
    #[command(flatten)]
    general: General,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Draw records of benches and of runs: tables, charts, one HTML page
    Report(args::Report),
    /// Print completions for a shell
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        /// The folder
        folder: PathBuf,
        #[command(flatten)]
        force: Force,
    },
}

impl CommandLine for Cli {
    const UNNAMED: &'static str = "bench";

    fn general(&self) -> &General {
        &self.general
    }

    fn run(&mut self, _: Cancel) -> Result<Answer> {
        let json = self.general.json;
        match &self.command {
            None => measure::run(&self.bench, json),
            Some(Command::Report(args)) => report::run(args, json),
            Some(Command::Completions { shell }) => {
                manual::completions(Self::command(), *shell, json)
            }
            Some(Command::Man { folder, force }) => manual::run(Self::command(), folder, *force),
        }
    }
}

/// Prints a line of progress.
fn progress(line: &str) {
    print::err(format_args!("{line}\n"));
}
