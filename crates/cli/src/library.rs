//! The commands as functions, for programs that link this one.
//!
//! [`verify()`], [`blocks()`] and [`inspect()`] take typed options and return typed results.
//! [`answers`] returns the answers of the commands. [`answer`] takes the arguments of the command
//! line, and returns the document of `--json` as text. All of them have the options, verdicts and
//! messages of the program. They print warnings only, handle no signals, and read no config file.

pub mod answers;
mod blocks;
mod inspect;
mod options;
#[cfg(feature = "export")]
mod tables;
mod verify;

#[cfg(feature = "export")]
pub use crate::args::{ExportNames, Rows};
pub use blocks::{Block, BlockSender, Blocks, blocks};
pub use inspect::{BitcoinFiles, BlockId, Contents, Inspection, NeoDumps, inspect};
pub use options::VerifyOptions;
pub use verify::{Outcome, Verified, verify};

use crate::answer::Answer;
use crate::args::{Cli, Command};
use crate::front::usage;
use crate::{ethereum, run};
use anyhow::{Result, bail, ensure};
use blockmill_pipeline::Cancel;
use clap::Parser;
use std::ffi::OsString;

/// Returns what `blockmill ARGS --json` prints, for commands that read archives, work on a store or
/// report: all except those that serve, measure or generate.
pub fn answer(args: &[OsString], cancel: &Cancel) -> String {
    let name = args.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    command(args, cancel).text(&name)
}

/// Runs a command as [`answer`] does. Returns its answer.
pub fn command(args: &[OsString], cancel: &Cancel) -> Answer {
    ethereum::register();
    let program = [OsString::from("blockmill"), OsString::from("--json")];
    match Cli::try_parse_from(program.into_iter().chain(args.iter().cloned())) {
        Ok(mut cli) => run_here(&mut cli, cancel).unwrap_or_else(|error| Answer::failed(&error)),
        Err(error) => usage(&error),
    }
}

fn run_here(cli: &mut Cli, cancel: &Cancel) -> Result<Answer> {
    ensure!(cli.general.config.is_none(), "--config: only the program reads config files");
    ensure!(cli.general.log.is_none(), "--log: only the program writes what it prints");
    match &cli.command {
        Command::Import(_) | Command::Verify(_) | Command::Export(_) | Command::Inspect(_) => {
            run(cli, cancel.clone())
        }
        Command::Check(_) | Command::Unwind(_) | Command::Heal(_) | Command::Prove(_) => {
            run(cli, cancel.clone())
        }
        Command::Convert(_) | Command::Witness(_) | Command::Report(_) => run(cli, cancel.clone()),
        _ => bail!("expected a command for archives or stores: other commands need a process"),
    }
}
