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

use crate::Error;

pub(crate) use inspect::inspect;
pub(crate) use read::{Packed, Reader};
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

/// Numbers of the first and the last header in the folder `tables`; none when it has no items.
pub(crate) fn block_range(tables: &Path) -> Result<Option<(u64, u64)>, Error> {
    let range = table::Table::open(tables, table::HEADERS)?.map(|table| table.range());
    Ok(range.filter(|range| !range.is_empty()).map(|range| (range.start, range.end - 1)))
}
