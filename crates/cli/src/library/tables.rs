//! Verified blocks as tables: files, or rows for another program.

use super::VerifyOptions;
use super::answers::{answered, documents};
use crate::answer::Answer;
use crate::args::{Export, Rows};
use crate::export;
use anyhow::{Result, ensure};
use blockmill_export::RecordBatch;
use std::path::Path;
use std::sync::mpsc::SyncSender;

/// `blockmill export` into the folder `to`. The result is the list of files.
pub fn export(
    paths: &[impl AsRef<Path>],
    to: &Path,
    rows: &Rows,
    options: &VerifyOptions,
) -> Answer {
    answered(|| export::run(&arguments(paths, to, rows, options)?, true, options.cancel.clone()))
}

/// Verifies a shard after the documents of `after`, and writes its tables into the folder `to`. The
/// result has its `summary`, as [`verify_shard`](super::answers::verify_shard) returns it, and
/// `files`, as in the manifest of an export.
pub fn export_shard(
    paths: &[impl AsRef<Path>],
    to: &Path,
    rows: &Rows,
    after: Option<&str>,
    options: &VerifyOptions,
) -> Answer {
    answered(|| {
        let args = arguments(paths, to, rows, options)?;
        export::of_shard(&args, documents(after)?.as_ref(), options.cancel.clone())
    })
}

/// Sends the rows of one table to a reader while they are verified. Returns the answer of a
/// `verify` after the last row, or when the reader is dropped. The rows are those of a verified
/// chain only if its status says so.
pub fn read(
    paths: &[impl AsRef<Path>],
    rows: &Rows,
    options: &VerifyOptions,
    reader: SyncSender<RecordBatch>,
) -> Answer {
    answered(|| {
        let tables = &rows.tables;
        ensure!(tables.len() == 1, "expected one table to read, found {}", tables.join(", "));
        export::read(&options.verification(paths)?, rows, reader, options.cancel.clone())
    })
}

fn arguments(
    paths: &[impl AsRef<Path>],
    to: &Path,
    rows: &Rows,
    options: &VerifyOptions,
) -> Result<Export> {
    ensure!(!rows.tables.is_empty(), "expected tables, found none");
    Ok(Export {
        verification: options.verification(paths)?,
        to: to.to_path_buf(),
        rows: rows.clone(),
    })
}
