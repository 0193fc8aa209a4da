//! ere: blocks of every fork in files of up to 8,192, part after part: all headers, all bodies, all
//! slim receipts, all proofs, all total difficulties. Bytes: `docs/formats/ere.md`.

mod index;
mod inspect;
mod layout;
mod name;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;

use super::e2store::read::BlockFile;
use super::e2store::{self, Kind};
use crate::row::Contents;
use crate::{Error, Survey, Want};

pub(crate) use inspect::inspect;
pub(crate) use write::Writer;

use index::Index;
use layout::Layout;

/// A reader of ere files.
pub(crate) type Reader = e2store::read::Reader<Layout>;

/// Whether a file is an ere file. Fails for foreign e2store files.
pub(crate) fn recognise(path: &Path, head: &[u8]) -> Result<bool, Error> {
    Ok(e2store::kind_of(path, head)? == Some(Kind::Ere))
}

/// Whether a file, by its path in the folder, is an ere file.
pub(crate) fn is_own_file(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_some_and(|ending| ending == "ere")
}

/// Numbers of the first and the last block of a file, from its index.
pub(crate) fn block_range(path: &Path) -> Result<Option<(u64, u64)>, Error> {
    let index = Index::open(path)?;
    Ok(Some((index.first, index.first + index.count as u64 - 1)))
}

/// The parts of blocks in a file.
pub(crate) fn contents(path: &Path) -> Result<Contents, Error> {
    let index = Index::open(path)?;
    Ok(Contents {
        bodies: true,
        receipts: index.has(layout::RECEIPTS),
        total_difficulties: index.has(layout::TOTALS),
        ..Contents::default()
    })
}

/// Adds the notes on a file, and the parts of it that are not checked.
pub(crate) fn survey(path: &Path, want: Want, survey: &mut Survey) -> Result<(), Error> {
    // a file that cannot be opened is reported by its reader
    let Ok(layout) = Layout::open(path) else { return Ok(()) };
    inspect::survey(&layout, want.bodies, survey);
    if want.bodies && !want.receipts && layout.index.has(layout::RECEIPTS) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        survey.unchecked.push(format!("{name}: receipts, as other files have none"));
    }
    Ok(())
}
