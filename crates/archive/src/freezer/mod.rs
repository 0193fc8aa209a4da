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

use std::path::{Path, PathBuf};

use crate::{Error, FileReport, Survey, TableReport, Want};

pub(crate) use inspect::inspect;
pub(crate) use read::Reader;
pub use write::{Layout, MAX_FILE, Writer};

/// The folder with the tables: `folder` itself (geth 1.9), its `chain` folder (newer ones), or
/// the same below `ancient`. None when there is no table of headers in any of them.
pub(crate) fn tables_folder(folder: &Path) -> Option<PathBuf> {
    let levels = ["", "chain", "ancient/chain", "ancient"];
    let folders = levels.iter().map(|level| match *level {
        "" => folder.to_path_buf(),
        level => folder.join(level),
    });
    folders.into_iter().find(|f| f.join(table::HEADERS.index_name()).is_file())
}

/// Is a file of a folder, by its path there, of a table? geth 1.17 keeps them in `chain`.
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

/// Compares every index with the data files and the tables with each other, just as [`inspect()`]
/// does, so that both have the same verdict. Tables that are not wanted are named as not checked.
pub(crate) fn survey(folder: &Path, want: Want, survey: &mut Survey) {
    let mut report = FileReport::default();
    inspect(folder, false, &mut report);
    survey.shortfalls.extend(report.damage.iter().map(Into::into));
    survey.notes.extend(report.notes);
    survey.notes.extend(unread(&report.tables, want));
}

/// Tables whose items are not looked at.
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
