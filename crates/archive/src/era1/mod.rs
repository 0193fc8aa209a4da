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

use std::path::Path;

use crate::Error;

pub use accumulator::{Accumulator, ERA_BLOCKS};
pub(crate) use inspect::{inspect, notes};
pub(crate) use read::{Packed, Reader};
pub use write::Writer;

/// The usual name of an era1 file: network, number of the era, first four bytes of its
/// accumulator.
pub fn file_name(network: &str, era: u64, accumulator: &[u8; 32]) -> String {
    let [a, b, c, d, ..] = accumulator;
    format!("{network}-{era:05}-{a:02x}{b:02x}{c:02x}{d:02x}.era1")
}

/// Numbers of the first and the last block of a file, from its index.
pub(crate) fn block_range(path: &Path) -> Result<Option<(u64, u64)>, Error> {
    let layout = layout::Layout::open(path)?;
    Ok(Some((layout.first, layout.first + layout.blocks() as u64 - 1)))
}
