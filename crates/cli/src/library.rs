//! The commands as functions: what another program calls that has this one linked. They take the
//! arguments of the command line and return the document of `--json` as text, so options, verdicts
//! and messages are those of the program. Nothing is printed, but warnings; no signal is
//! waited for; no config file is read.

use crate::answer::Answer;
use crate::args::{Cli, Command, Read, Verify};
use crate::front::usage;
use crate::unit::{self, Documents};
use crate::{bitcoin, export, run};
use anyhow::{Result, bail, ensure};
use blockmill_export::RecordBatch;
use blockmill_pipeline::Cancel;
use clap::Parser;
use std::ffi::OsString;
use std::ops::Deref;
use std::sync::mpsc::SyncSender;

/// What the boundary before a unit is called.
const AFTER: &str = "after";

/// In the place of the paths of a command that is given documents instead.
const IN_MEMORY: &str = "-";

/// What `blockmill ARGS --json` prints, where `args` begin with a command that reads archives or
/// works on a store: all but those that serve, measure, generate or report.
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

/// What `blockmill verify --unit ARGS --json` prints: an archive as a unit, behind the blocks of
/// the boundary `after`.
pub fn verify_unit(args: &[OsString], after: Option<&str>, cancel: &Cancel) -> String {
    let args = verify(&["--unit"], args, &[]);
    document(&args, |cli| {
        let after = after.map(|text| Documents::new(AFTER, text)).transpose()?;
        unit::verify(verification(cli)?, after.as_ref(), true, cancel.clone())
    })
}

/// What `blockmill verify --join ARGS --json` prints for these boundaries.
pub fn join<T: Deref<Target = str>>(
    boundaries: &[T],
    args: &[OsString],
    cancel: &Cancel,
) -> String {
    let args = verify(&["--join"], args, &[IN_MEMORY]);
    document(&args, |cli| {
        let units = boundaries.iter().map(|unit| Documents::new("boundaries", unit));
        unit::join(verification(cli)?, &units.collect::<Result<Vec<_>>>()?, true, cancel.clone())
    })
}

/// Tables of one unit: `args` are those of `blockmill export`. The `result` of the document has its
/// `boundary`, as [`verify_unit`] gives it, and `files` as the manifest of an export has them.
pub fn export_unit(args: &[OsString], after: Option<&str>, cancel: &Cancel) -> String {
    let export = [OsString::from("export")].into_iter();
    let args: Vec<_> = export.chain(args.iter().cloned()).collect();
    document(&args, |cli| {
        let after = after.map(|text| Documents::new(AFTER, text)).transpose()?;
        match &cli.command {
            Command::Export(args) => export::of_unit(args, after.as_ref(), cancel.clone()),
            _ => bail!("expected the arguments of export"),
        }
    })
}

/// Gives the rows of one table to a reader as they are verified: `args` are those of
/// `blockmill export` without `--to`. Returns the document of a `verify` when the last row was
/// given, or when the reader is gone; only with its status are the rows those of a verified chain.
pub fn read(args: &[OsString], reader: SyncSender<RecordBatch>, cancel: &Cancel) -> String {
    blockmill_ethereum::stored::register();
    let program = OsString::from("blockmill read");
    let answer = match Read::try_parse_from([program].iter().chain(args)) {
        Ok(mut args) => read_rows(&mut args, reader, cancel.clone())
            .unwrap_or_else(|error| Answer::failed(&error)),
        Err(error) => usage(&error),
    };
    answer.text("read")
}

fn read_rows(args: &mut Read, reader: SyncSender<RecordBatch>, cancel: Cancel) -> Result<Answer> {
    let tables = &args.rows.tables;
    ensure!(tables.len() == 1, "expected one table to read, found {}", tables.join(", "));
    let asked = &mut args.verification;
    asked.stores = bitcoin::sources::replaced(&mut asked.paths)?;
    export::read(args, reader, cancel)
}

/// The arguments of a `verify` between flags and paths.
fn verify(flags: &[&str], args: &[OsString], paths: &[&str]) -> Vec<OsString> {
    let flags = ["verify"].iter().chain(flags).map(OsString::from);
    flags.chain(args.iter().cloned()).chain(paths.iter().map(OsString::from)).collect()
}

fn verification(cli: &Cli) -> Result<&Verify> {
    match &cli.command {
        Command::Verify(args) => Ok(args),
        _ => bail!("expected the arguments of verify"),
    }
}

/// How the command of `args` ends that `run` runs.
fn document(args: &[OsString], run: impl FnOnce(&mut Cli) -> Result<Answer>) -> String {
    blockmill_ethereum::stored::register();
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
