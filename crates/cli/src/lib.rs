//! The program `blockmill`, which imports blockchain archives, verifies them, and shows where the
//! time went: [`main`] is all of it. Other programs call the commands as functions ([`library`]),
//! or are programs of the same kind ([`front`]).

// first, because its macros replace those of the standard library in all other modules
#[macro_use]
pub mod print;

#[cfg(not(any(feature = "bitcoin", feature = "ethereum", feature = "neo")))]
compile_error!("a program without a chain does nothing: enable bitcoin, ethereum or neo");

mod absent;
pub mod answer;
mod args;
mod bench;
#[cfg(feature = "bitcoin")]
mod bitcoin;
#[cfg(not(feature = "bitcoin"))]
#[path = "absent/bitcoin.rs"]
mod bitcoin;
mod check;
mod checksums;
mod config;
mod convert;
mod data_folder;
mod demo;
pub mod documents;
#[cfg(feature = "ethereum")]
mod ethereum;
#[cfg(not(feature = "ethereum"))]
#[path = "absent/ethereum.rs"]
mod ethereum;
#[cfg(feature = "export")]
mod export;
#[cfg(not(feature = "export"))]
#[path = "absent/export.rs"]
mod export;
mod follow;
pub mod front;
mod generate;
mod host;
mod import;
mod inspect;
pub mod library;
mod log;
pub mod manual;
#[cfg(feature = "neo")]
mod neo;
#[cfg(not(feature = "neo"))]
#[path = "absent/neo.rs"]
mod neo;
mod next;
pub mod outputs;
pub mod paths;
mod profile;
pub mod program;
pub mod progress;
#[cfg(feature = "remote")]
mod remote;
#[cfg(not(feature = "remote"))]
#[path = "absent/remote.rs"]
mod remote;
pub mod report;
#[cfg(feature = "monitor")]
mod serve;
#[cfg(not(feature = "monitor"))]
#[path = "absent/serve.rs"]
mod serve;
mod shard;
pub mod stop;
mod unwind;
/// Files of public tests, and threads that work on them.
#[cfg(feature = "ethereum")]
pub mod public_tests {
    pub use crate::ethereum::suite::{find, parallel};
}
/// Files of witnesses, and the blocks that belong to them.
#[cfg(feature = "ethereum")]
pub mod witnesses {
    pub use crate::ethereum::witness::files::{Job, jobs, read};
}

use answer::Answer;
use anyhow::Result;
use args::{Cli, Command};
/// Flags of `bench`, for the program that it starts.
pub mod bench_flags {
    pub use crate::args::bench::{BENCHMARKS, Bench, DISTURBED, SEED, in_percent, with_names};
}

pub use args::{Force, General};
use blockmill_pipeline::Cancel;
use front::CommandLine;
use std::process::ExitCode;

/// The program, with the arguments of this process. The first thread of the process calls it.
#[must_use]
pub fn main() -> ExitCode {
    front::main::<Cli>()
}

impl CommandLine for Cli {
    const UNNAMED: &'static str = "";

    fn general(&self) -> &General {
        &self.general
    }

    fn leaves(&self) -> &'static str {
        match self.command {
            Command::Verify(_) => "verify keeps nothing",
            _ => "nothing was written",
        }
    }

    fn run(&mut self, cancel: Cancel) -> Result<Answer> {
        run(self, cancel)
    }
}

/// Runs the command, and shows how far it is, if there is something to wait for.
fn run(cli: &mut Cli, cancel: Cancel) -> Result<Answer> {
    let live = cancel.live().clone();
    match cli.command.waits() {
        Some(name) => progress::watch(&live, name, cli.general.json, || answer(cli, cancel)),
        None => answer(cli, cancel),
    }
}

fn answer(cli: &mut Cli, cancel: Cancel) -> Result<Answer> {
    bitcoin::sources::resolve(&mut cli.command)?;
    // the block files of a store may be at URLs, too
    let _mounted = remote::of_command(&cli.command)?;
    let json = cli.general.json;
    match &cli.command {
        Command::Import(args) => import::run_import(args, json, cancel),
        Command::Verify(args) => import::run_verify(args, json, cancel),
        Command::Inspect(args) => inspect::run(args, json),
        Command::Check(args) => check::run(args, json, cancel),
        Command::Unwind(args) => unwind::run(args, json, &cancel),
        Command::Witness(args) => ethereum::witness::run(args, json, &cancel),
        Command::Heal(args) => ethereum::heal::run(args, json, &cancel),
        Command::Prove(args) => ethereum::prove::run(args, json, &cancel),
        Command::Test(args) => ethereum::suite::run(args, json, &cancel),
        Command::Convert(args) => convert::run(args, json, cancel),
        Command::Export(args) => export::run(args, json, cancel),
        Command::Bench { args } => bench::run(args, &cli.general),
        Command::Generate(command) => generate::run(command, json),
        Command::Report(args) => report::run(args, &cli.general),
        Command::Serve(args) => serve::run(args, &cancel),
        Command::Demo(args) => demo::run(args, json),
        Command::Completions { shell } => manual::completions(args::documented(), *shell, json),
        Command::Man { folder, force } => {
            manual::run(args::documented(), manual::pages::PAGES, folder, *force)
        }
    }
}
