//! era1: the blocks before the merge in files of up to 8,192, with bodies, receipts, total
//! difficulties and an accumulator. Bytes: `docs/formats/era1.md`.

mod accumulator;
mod e2store;
mod framing;
mod inspect;
mod layout;
mod read;
#[cfg(test)]
mod tests;
mod write;

use blockmill_verdict::Digits;
use std::path::Path;

use crate::{Error, foreign};

pub use accumulator::{Accumulator, ERA_BLOCKS};
pub(crate) use inspect::{inspect, notes};
pub(crate) use read::Reader;
pub use write::Writer;

/// Returns the usual name of an era1 file: network, number of the era, first four bytes of its
/// accumulator.
pub fn file_name(network: &str, era: u64, accumulator: &[u8; 32]) -> String {
    format!("{network}-{era:05}-{}.era1", Digits(&accumulator[..4]))
}

/// The record that opens every e2store file: type "e2", length 0.
const VERSION_RECORD: [u8; 8] = [0x65, 0x32, 0, 0, 0, 0, 0, 0];

/// Whether a file is an era1 file. Fails for other e2store files.
pub(crate) fn recognise(path: &Path, head: &[u8]) -> Result<bool, Error> {
    let Some(next) = head.strip_prefix(&VERSION_RECORD) else { return Ok(false) };
    let foreign = foreign::recognise_e2store(path, next.first_chunk().copied());
    foreign.map_or(Ok(true), Err)
}

/// The network in a file's name: the part before the first dash.
pub(crate) fn network_of(file: &Path) -> Option<String> {
    let (network, _) = file.file_name()?.to_str()?.split_once('-')?;
    (!network.is_empty()).then(|| network.to_string())
}

/// Whether a file, by its path in the folder, is an era1 file.
pub(crate) fn is_own_file(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_some_and(|ending| ending == "era1")
}

/// Numbers of the first and the last block of a file, from its index.
pub(crate) fn block_range(path: &Path) -> Result<Option<(u64, u64)>, Error> {
    let layout = layout::Layout::open(path)?;
    Ok(Some((layout.first, layout.first + layout.blocks() as u64 - 1)))
}
