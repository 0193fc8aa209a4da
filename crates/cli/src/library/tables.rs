//! Verified blocks as tables: files, or rows for another program.

use super::VerifyOptions;
use super::answers::{answered, documents};
use crate::answer::Answer;
use crate::args::{Export, Rows};
use crate::export;
use anyhow::{Result, ensure};
use blockmill_export::RecordBatch;
use blockmill_export::schema::Table;
use blockmill_verdict::Level;
use serde::Serialize;
use std::path::Path;
use std::sync::mpsc::SyncSender;

/// What an export writes.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Which rows, and how they look.
    pub rows: Rows,
    /// How blocks are divided into folders: `blocks=N` or `date`. The default is one folder.
    pub partition: Option<String>,
    /// Continue the export in the folder.
    pub append: bool,
}

/// `blockmill export` into the folder `to`. The result is the list of files.
pub fn export(
    paths: &[impl AsRef<Path>],
    to: &Path,
    tables: &Tables,
    options: &VerifyOptions,
) -> Answer {
    answered(|| export::run(&arguments(paths, to, tables, options)?, true, options.cancel.clone()))
}

/// A column of a table.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnInfo {
    /// The chain: `ethereum`, `bitcoin` or `neo`.
    pub chain: &'static str,
    /// The table.
    pub table: &'static str,
    /// The name of the column.
    pub column: &'static str,
    /// Its type in Arrow, and whether values may be null.
    pub r#type: String,
    /// The least level that fills it, if it is null below that; `None` if its table decides.
    pub null_below_level: Option<Level>,
    /// What a value is, with its unit.
    pub about: &'static str,
}

/// The columns of all tables, in order, in the form that `rows` asks for.
pub fn columns(rows: &Rows) -> Vec<ColumnInfo> {
    let form = export::form(rows);
    let column = |(chain, table): (&'static str, &'static Table)| {
        table.columns.iter().map(move |column| ColumnInfo {
            chain,
            table: table.name,
            column: form.name_of(column),
            r#type: column.type_name(form),
            null_below_level: column.level,
            about: column.about,
        })
    };
    blockmill_export::all_tables().flat_map(column).collect()
}

/// Verifies a shard after the documents of `after`, and writes its tables into the folder `to`. The
/// result has its `summary`, as [`verify_shard`](super::answers::verify_shard) returns it, and
/// `files`, as in the manifest of an export.
pub fn export_shard(
    paths: &[impl AsRef<Path>],
    to: &Path,
    tables: &Tables,
    after: Option<&str>,
    options: &VerifyOptions,
) -> Answer {
    answered(|| {
        ensure!(!tables.append, "--append is for a whole export, not for a shard");
        let args = arguments(paths, to, tables, options)?;
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
    tables: &Tables,
    options: &VerifyOptions,
) -> Result<Export> {
    let Tables { rows, partition, append } = tables.clone();
    ensure!(!rows.tables.is_empty(), "expected tables, found none");
    Ok(Export {
        verification: options.verification(paths)?,
        to: to.to_path_buf(),
        rows,
        partition,
        append,
        dry_run: false,
    })
}
