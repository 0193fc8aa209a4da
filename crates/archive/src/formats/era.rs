//! era: the beacon blocks of 8,192 slots and the beacon state after them. From the merge on, beacon
//! blocks have the execution blocks in them. Bytes: `docs/formats/era.md`.

mod block;
mod forks;
mod index;
mod inspect;
mod layout;
mod name;
mod read;
pub(crate) mod ssz;
mod state;

use std::path::Path;

use super::e2store::{self, Kind};
use crate::{Error, Survey, Want};

pub(crate) use index::ERA_SLOTS;
pub(crate) use inspect::inspect;
pub(crate) use layout::Layout;

use index::Index;
use layout::Blocks;

/// A reader of era files.
pub(crate) type Reader = e2store::read::Reader<Layout>;

/// Whether a file is an era file.
pub(crate) fn recognise(path: &Path, head: &[u8]) -> Result<bool, Error> {
    Ok(e2store::kind_of(path, head)? == Some(Kind::Era))
}

/// Numbers of the first and the last execution block of a file; `None` if it is from before the
/// merge.
pub(crate) fn block_range(path: &Path) -> Result<Option<(u64, u64)>, Error> {
    let blocks = Blocks::open(path)?;
    let count = blocks.count() as u64;
    Ok((count > 0).then(|| (blocks.first, blocks.first + count - 1)))
}

/// Number of the era of a file.
pub(crate) fn era_of(path: &Path) -> Result<u64, Error> {
    Ok(Index::open(path)?.era())
}

/// Adds the notes on a file, and the parts of it that are not checked.
pub(crate) fn survey(path: &Path, _: Want, survey: &mut Survey) -> Result<(), Error> {
    // a file that cannot be opened is reported by its reader
    if let Ok(blocks) = Blocks::open(path) {
        inspect::survey_of(&blocks, survey);
    }
    Ok(())
}
