//! Hand-over to Bitcoin Core: a datadir that it opens without reindexing, and the way back.
//!
//! [`BlocksWriter`] takes the blocks of the best chain with their undo data, [`CoinsWriter`] its
//! unspent coins. [`Datadir`] reads one that Core or we wrote. Bytes:
//! `docs/formats/core-datadir.md`.

pub mod block_index;
mod chainstate;
mod check;
mod error;
mod flat;
mod in_order;
mod read;
mod shared;
mod write;

pub use blockmill_archive::blkdat::XorKey;
pub use chainstate::Coins;
pub use check::{CheckedDatadir, DatadirPart, check};
pub use error::Error;
pub(crate) use read::undo_at;
pub use read::{Datadir, Found};
pub use shared::{BlockPosition, SharedFile};
pub use write::{BlocksWriter, CoinsWriter, Options, SharedFiles, Written};

use crate::params::Params;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The folder of a network below the one that Core is given as `-datadir`; none for the main
/// network.
fn network_folder(network: &Params) -> Option<&'static str> {
    (network.name != "mainnet").then_some(network.name)
}

/// Reads a small file.
fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::io(path, "cannot read"))
}

/// Writes a file and waits until it is on the disk.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = File::create_new(path).map_err(Error::io(path, "cannot create"))?;
    file.write_all(bytes).map_err(Error::io(path, "cannot write"))?;
    file.sync_all().map_err(Error::io(path, "cannot sync"))
}

/// Waits until the names in a folder are on the disk.
fn sync_folder(path: &Path) -> Result<(), Error> {
    blockmill_platform::folders::sync(path).map_err(Error::io(path, "cannot sync"))
}
