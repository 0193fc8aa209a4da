//! geth's "ancient" folder (freezer): one append-only table for each part of a block, in numbered
//! data files with an index. Folders of geth 1.9 to 1.17 are read, and never changed; what is
//! written opens in geth 1.17. Bytes: `docs/formats/freezer.md`.

mod index;
mod inspect;
mod meta;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use blockmill_verdict::{Location, Status};

use crate::listing::is_file;
use crate::{Error, FileReport, Survey, TableReport, Want};

pub(crate) use inspect::inspect;
pub(crate) use read::Reader;
pub use write::{Layout, MAX_FILE, Writer};

/// The folder with the tables: `folder` itself (geth 1.9), its `chain` folder (newer ones), or the
/// same below `ancient`, in a `chaindata` folder or in a data folder of geth. None when there is no
/// table of headers in any of them.
pub(crate) fn tables_folder(folder: &Path) -> Result<Option<PathBuf>, Error> {
    let above =
        ["ancient", "chaindata/ancient", "geth/chaindata/ancient"].map(|at| folder.join(at));
    let levels = above.iter().flat_map(|ancient| [ancient.join("chain"), ancient.clone()]);
    for tables in [folder.to_path_buf(), folder.join("chain")].into_iter().chain(levels) {
        if is_file(&tables.join(table::HEADERS.index_name()))? {
            return Ok(Some(tables));
        }
    }
    Ok(None)
}

/// The error of a folder with empty tables.
pub(crate) fn without_blocks(tables: &Path) -> Error {
    Error::Missing {
        location: Location::new(tables.join(table::HEADERS.index_name()), 0),
        what: "ancient folder",
        expected: "blocks".into(),
        found: "empty tables: geth moves blocks here when they are 90,000 deep, and all of its \
                blocks are still in its database; have it export them with `geth export`"
            .into(),
    }
}

/// A note on a folder inside a database of geth, which has the later blocks.
fn newer_blocks(tables: &Path) -> Result<Option<String>, Error> {
    let ancient = tables.ancestors().find(|above| above.ends_with("ancient"));
    let Some(database) = ancient.and_then(Path::parent) else { return Ok(None) };
    let text = "the newest blocks, which geth has not moved to this folder, are in its database";
    let note = || format!("not read: {text} {}", database.display());
    Ok(is_file(&database.join("CURRENT"))?.then(note))
}

/// Whether a file, by its path in the folder, belongs to a table. geth 1.17 writes the tables to
/// `chain`.
pub(crate) fn is_own_file(path: &Path) -> bool {
    let table = path.strip_prefix("chain").unwrap_or(path);
    let ending = table.extension().and_then(|ending| ending.to_str());
    let is_table = ["cidx", "ridx", "cdat", "rdat", "meta"].iter().any(|e| Some(*e) == ending);
    table.components().count() == 1 && (is_table || table == Path::new("FLOCK"))
}

/// Numbers of the first and the last header in the folder `tables`; none when it has no items.
pub(crate) fn block_range(tables: &Path) -> Result<Option<(u64, u64)>, Error> {
    let range = table::Table::open(tables, table::HEADERS)?.map(|table| table.range());
    Ok(range.filter(|range| !range.is_empty()).map(|range| (range.start, range.end - 1)))
}

/// Compares every index with the data files and the tables with each other, as [`inspect()`] does,
/// so that both have the same verdict. Tables that are not wanted are listed as not checked.
///
/// # Errors
///
/// Returns [`Error::Io`] if a file cannot be opened or read.
pub(crate) fn survey(folder: &Path, want: Want, survey: &mut Survey) -> Result<(), Error> {
    let mut report = FileReport::default();
    inspect::compare(folder, false, &mut report);
    if let Some(trouble) =
        report.corruption.iter().find(|corruption| corruption.status == Status::Environment)
    {
        return Err(Error::io("cannot read", folder)(io::Error::other(trouble.text.clone())));
    }
    survey.shortfalls.extend(report.corruption.iter().map(Into::into));
    survey.notes.extend(report.notes);
    survey.notes.extend(unread(&report.tables, want));
    survey.notes.extend(newer_blocks(folder)?);
    Ok(())
}

/// A note on the tables that are not read.
fn unread(tables: &[TableReport], want: Want) -> Option<String> {
    let is_unread = |table: &&TableReport| match &*table.name {
        "bodies" | "bals" => !want.bodies,
        "receipts" => !want.receipts,
        _ => false,
    };
    let names = tables.iter().filter(|table| table.items > 0).filter(is_unread);
    let names: Vec<_> = names.map(|table| &*table.name).collect();
    let text = || format!("not checked at this level: the contents of {}", names.join(", "));
    (!names.is_empty()).then(text)
}
