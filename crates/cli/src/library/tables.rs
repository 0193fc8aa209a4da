//! Rows of verified blocks for another program.

use super::{AFTER, document};
use crate::answer::Answer;
use crate::args::{Command, Read};
use crate::front::usage;
use crate::unit::Documents;
use crate::{bitcoin, ethereum, export};
use anyhow::{Result, bail, ensure};
use blockmill_export::RecordBatch;
use blockmill_pipeline::Cancel;
use clap::Parser;
use std::ffi::OsString;
use std::sync::mpsc::SyncSender;

/// Tables of one unit: `args` are those of `blockmill export`. The `result` of the document has its
/// `boundary`, as [`verify_unit`](super::verify_unit) gives it, and `files` as the manifest of an
/// export has them.
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
    ethereum::register();
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
