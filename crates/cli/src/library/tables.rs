//! Rows of verified blocks for another program.

use super::{AFTER, document};
use crate::answer::Answer;
use crate::args::{Command, Read};
use crate::front::usage;
use crate::shard::Documents;
use crate::{bitcoin, ethereum, export};
use anyhow::{Result, bail, ensure};
use blockmill_export::RecordBatch;
use blockmill_pipeline::Cancel;
use clap::Parser;
use std::ffi::OsString;
use std::sync::mpsc::SyncSender;

/// Writes the tables of one shard, with the arguments of `blockmill export`. The `result` of the
/// document has its `summary`, as [`verify_shard`](super::verify_shard) gives it, and `files`, as
/// in the manifest of an export.
pub fn export_shard(args: &[OsString], after: Option<&str>, cancel: &Cancel) -> String {
    let export = [OsString::from("export")].into_iter();
    let args: Vec<_> = export.chain(args.iter().cloned()).collect();
    document(&args, |cli| {
        let after = after.map(|text| Documents::new(AFTER, text)).transpose()?;
        match &cli.command {
            Command::Export(args) => export::of_shard(args, after.as_ref(), cancel.clone()),
            _ => bail!("expected the arguments of export"),
        }
    })
}

/// Sends the rows of one table to a reader while they are verified, with the arguments of
/// `blockmill export` without `--to`. Returns the document of a `verify` after the last row, or
/// when the reader is dropped. The rows are those of a verified chain only if its status says so.
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
