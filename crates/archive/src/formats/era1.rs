//! era1: the blocks before the merge in files of up to 8,192, with bodies, receipts, total
//! difficulties and an accumulator. Bytes: `docs/formats/era1.md`.

mod inspect;
mod layout;
mod read;
#[cfg(test)]
mod tests;
mod write;

use blockmill_verdict::Digits;
use std::path::Path;

use super::e2store::read::BlockFile;
use super::e2store::{self, Kind};
use crate::Error;

pub use super::e2store::accumulator::{Accumulator, ERA_BLOCKS};
pub(crate) use inspect::{inspect, survey};
pub(crate) use layout::Layout;
pub(crate) use write::Writer;

/// A reader of era1 files.
pub(crate) type Reader = e2store::read::Reader<Layout>;

/// Returns the usual name of an era1 file: network, number of the era, first four bytes of its
/// accumulator.
pub fn file_name(network: &str, era: u64, accumulator: &[u8; 32]) -> String {
    format!("{network}-{era:05}-{}.era1", Digits(&accumulator[..4]))
}

/// Whether a file is an era1 file. Fails for foreign e2store files.
pub(crate) fn recognise(path: &Path, head: &[u8]) -> Result<bool, Error> {
    Ok(e2store::kind_of(path, head)? == Some(Kind::Era1))
}

/// Whether a file, by its path in the folder, is an era1 file.
pub(crate) fn is_own_file(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_some_and(|ending| ending == "era1")
}

/// Numbers of the first and the last block of a file, from its index.
pub(crate) fn block_range(path: &Path) -> Result<Option<(u64, u64)>, Error> {
    let layout = Layout::open(path)?;
    Ok(Some((layout.first, layout.first + layout.blocks() as u64 - 1)))
}
