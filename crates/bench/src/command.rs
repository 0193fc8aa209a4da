//! The command line of `blockmill-bench`.

mod args;
mod instructions;
mod list;
mod measure;
mod report;

use crate::child;
use anyhow::Result;
use blockmill_cli::answer::Answer;
use blockmill_cli::bench_flags::{self, Bench};
use blockmill_cli::front::{self, CommandLine};
use blockmill_cli::{Force, General, manual, stop};
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

/// What the manual has that the command line does not give.
const PAGES: &[manual::Page] = &[
    manual::Page {
        command: "blockmill-bench",
        see: &["blockmill", "blockmill-bench report"],
        examples: &[
            ("List what can be measured:", "blockmill-bench --list"),
            (
                "Compare every option with its baseline, in eight pairs:",
                "blockmill-bench headers --ablate --pairs 8 --out bench",
            ),
            (
                "Compare a release, every commit after it and this program:",
                "blockmill-bench headers --history v0.2.0..main . --out history",
            ),
        ],
    },
    manual::Page {
        command: "blockmill-bench report",
        see: &["blockmill-bench", "blockmill report"],
        examples: &[
            ("Draw the records of a bench:", "blockmill-bench report bench --out report"),
            (
                "Draw what two sessions measured over revisions:",
                "blockmill-bench report old/bench.json new/bench.json --out report",
            ),
        ],
    },
    manual::Page {
        command: "blockmill-bench completions",
        see: &["blockmill-bench man"],
        examples: &[("Complete in fish:", "blockmill-bench completions fish")],
    },
    manual::Page {
        command: "blockmill-bench man",
        see: &["blockmill-bench completions"],
        examples: &[("Write the manual:", "blockmill-bench man ~/.local/share/man/man1")],
    },
];

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
                manual::completions(bench_flags::with_names(Self::command()), *shell, json)
            }
            Some(Command::Man { folder, force }) => {
                manual::run(bench_flags::with_names(Self::command()), PAGES, folder, *force)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_manual_are_understood() {
        let names: Vec<_> =
            Cli::command().get_subcommands().map(|it| it.get_name().to_owned()).collect();
        assert_eq!(PAGES.len(), names.len() + 1);
        for (_, line) in PAGES.iter().flat_map(|page| page.examples) {
            let parsed = Cli::try_parse_from(line.split_whitespace());
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}
