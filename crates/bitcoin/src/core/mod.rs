//! Hand-over to Bitcoin Core: a datadir that it opens without reindexing, and the way back.
//!
//! [`BlocksWriter`] takes the blocks of the best chain with their undo data, [`CoinsWriter`] its
//! unspent coins. [`Datadir`] reads one that Core or we wrote. Bytes:
//! `docs/formats/core-datadir.md`.

pub mod block_index;
mod chainstate;
mod error;
mod flat;
pub mod leveldb;
mod read;
mod write;
mod xor;

pub use chainstate::Coins;
pub use error::Error;
pub use read::{Datadir, Found};
pub use write::{BlocksWriter, CoinsWriter, Options, Written};
pub use xor::XorKey;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// What is different in the datadirs of different networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The folder below the one that Core is given as `-datadir`; empty for the main network.
    pub folder: &'static str,
    /// The bytes before each block and each undo record.
    pub magic: [u8; 4],
    /// The first height at which Core asks for blocks with witnesses.
    pub segwit: u32,
}

impl Layout {
    /// The main network.
    pub const MAIN: Self = Layout { folder: "", magic: [0xf9, 0xbe, 0xb4, 0xd9], segwit: 481_824 };
    /// The third test network.
    pub const TESTNET3: Self =
        Layout { folder: "testnet3", magic: [0x0b, 0x11, 0x09, 0x07], segwit: 834_624 };
    /// The fourth test network (BIP94).
    pub const TESTNET4: Self =
        Layout { folder: "testnet4", magic: [0x1c, 0x16, 0x3f, 0x28], segwit: 1 };
    /// The public signet (BIP325).
    pub const SIGNET: Self =
        Layout { folder: "signet", magic: [0x0a, 0x03, 0xcf, 0x40], segwit: 1 };
    /// A network of one's own, where anyone can mine.
    pub const REGTEST: Self =
        Layout { folder: "regtest", magic: [0xfa, 0xbf, 0xb5, 0xda], segwit: 0 };
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
    // only Unix can open folders, and only there names are synced apart from files
    if cfg!(not(unix)) {
        return Ok(());
    }
    let folder = File::open(path).map_err(Error::io(path, "cannot open"))?;
    folder.sync_all().map_err(Error::io(path, "cannot sync"))
}
