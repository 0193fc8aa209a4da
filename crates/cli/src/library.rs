//! The commands as functions, for programs that link this one.
//!
//! [`verify()`], [`blocks()`] and [`inspect()`] take typed options and return typed results;
//! [`answers`] returns the answers of the commands. The other functions take the arguments of the
//! command line, and return the document of `--json` as text. All of them have the options,
//! verdicts and messages of the program. They print warnings only, handle no signals, and read no
//! config file.

pub mod answers;
mod blocks;
mod inspect;
mod options;
#[cfg(feature = "export")]
mod tables;
mod verify;

pub use blocks::{Block, BlockSender, Blocks, blocks};
pub use inspect::{BitcoinFiles, BlockId, Contents, Inspection, NeoDumps, inspect};
pub use options::VerifyOptions;
#[cfg(feature = "export")]
pub use tables::{export_shard, read};
pub use verify::{Outcome, Verified, verify};

use crate::answer::Answer;
use crate::args::{Cli, Command, Verify};
use crate::front::usage;
use crate::shard::{self, Documents};
use crate::{ethereum, run};
use anyhow::{Result, bail, ensure};
use blockmill_pipeline::Cancel;
use clap::Parser;
use std::ffi::OsString;
use std::ops::Deref;

/// The source of the summary before a shard, for messages.
const AFTER: &str = "after";

/// Replaces the paths of a command that is given documents instead.
const IN_MEMORY: &str = "-";

/// Returns what `blockmill ARGS --json` prints, for commands that read archives or work on a store:
/// all except those that serve, measure, generate or report.
pub fn answer(args: &[OsString], cancel: &Cancel) -> String {
    document(args, |cli| match &cli.command {
        Command::Import(_) | Command::Verify(_) | Command::Export(_) | Command::Inspect(_) => {
            run(cli, cancel.clone())
        }
        Command::Check(_) | Command::Unwind(_) | Command::Heal(_) | Command::Prove(_) => {
            run(cli, cancel.clone())
        }
        Command::Convert(_) | Command::Witness(_) => run(cli, cancel.clone()),
        _ => bail!("expected a command for archives or stores: other commands need a process"),
    })
}

/// Returns what `blockmill verify --shard ARGS --json` prints, with the documents of `after`.
pub fn verify_shard(args: &[OsString], after: Option<&str>, cancel: &Cancel) -> String {
    let args = of_verify(&["--shard"], args, &[]);
    document(&args, |cli| {
        let after = after.map(|text| Documents::new(AFTER, text)).transpose()?;
        shard::verify(verification(cli)?, after.as_ref(), true, cancel.clone())
    })
}

/// Returns what `blockmill verify --merge ARGS --json` prints for these summaries.
pub fn merge<T: Deref<Target = str>>(
    summaries: &[T],
    args: &[OsString],
    cancel: &Cancel,
) -> String {
    let args = of_verify(&["--merge"], args, &[IN_MEMORY]);
    document(&args, |cli| {
        let shards = summaries.iter().map(|shard| Documents::new("summaries", shard));
        shard::merge(verification(cli)?, &shards.collect::<Result<Vec<_>>>()?, true, cancel.clone())
    })
}

/// The arguments of `verify`, with flags before and paths after them.
fn of_verify(flags: &[&str], args: &[OsString], paths: &[&str]) -> Vec<OsString> {
    let flags = ["verify"].iter().chain(flags).map(OsString::from);
    flags.chain(args.iter().cloned()).chain(paths.iter().map(OsString::from)).collect()
}

fn verification(cli: &Cli) -> Result<&Verify> {
    match &cli.command {
        Command::Verify(args) => Ok(args),
        _ => bail!("expected the arguments of verify"),
    }
}

/// Parses `args`, calls `run`, and returns the document of the answer.
fn document(args: &[OsString], run: impl FnOnce(&mut Cli) -> Result<Answer>) -> String {
    ethereum::register();
    let program = [OsString::from("blockmill"), OsString::from("--json")];
    let name = args.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let answer = match Cli::try_parse_from(program.into_iter().chain(args.iter().cloned())) {
        Ok(mut cli) => expect_no_files_of_the_program(&cli)
            .and_then(|()| run(&mut cli))
            .unwrap_or_else(|error| Answer::failed(&error)),
        Err(error) => usage(&error),
    };
    answer.text(&name)
}

fn expect_no_files_of_the_program(cli: &Cli) -> Result<()> {
    ensure!(cli.general.config.is_none(), "--config: only the program reads config files");
    ensure!(cli.general.log.is_none(), "--log: only the program writes what it prints");
    Ok(())
}
