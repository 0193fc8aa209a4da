//! Bitcoin Core datadirs: writes one that Core opens without reindexing, and reads them.
//!
//! [`BlocksWriter`] writes the blocks of the best chain with their undo data, [`CoinsWriter`] the
//! unspent coins. [`Datadir`] reads a datadir. `docs/formats/core-datadir.md` specifies the bytes.

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
use blockmill_verdict::Digits;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// The subfolder of a network in Core's `-datadir`. `None` for the main network.
fn network_folder(network: &Params) -> Option<&'static str> {
    (network.name != "mainnet").then_some(network.name)
}

/// The flags that start Bitcoin Core on this network, each after a space. The main network needs
/// none.
#[must_use]
pub fn network_flags(network: &Params) -> String {
    let name = match network.name {
        "mainnet" => return String::new(),
        "testnet3" => "test",
        name => name,
    };
    let is_custom = Params::by_magic(network.magic).is_none();
    let challenge = network.signet_challenge.as_ref().filter(|_| is_custom);
    let challenge = challenge.map(|script| format!(" -signetchallenge={}", Digits(script)));
    format!(" -chain={name}{}", challenge.unwrap_or_default())
}

/// Reads a small file.
fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(Error::io(path, "cannot read"))
}

/// Writes and syncs a file.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = File::create_new(path).map_err(Error::io(path, "cannot create"))?;
    file.write_all(bytes).map_err(Error::io(path, "cannot write"))?;
    file.sync_all().map_err(Error::io(path, "cannot sync"))
}

/// Syncs a folder.
fn sync_folder(path: &Path) -> Result<(), Error> {
    blockmill_platform::folders::sync(path).map_err(Error::io(path, "cannot sync"))
}
