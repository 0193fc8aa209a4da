//! Undo data and unspent coins of a chain: in a Bitcoin Core datadir, or in a store.

use crate::BlockHash;
use crate::chainstate::{CHAINSTATE, Chainstate};
use crate::coins::Key;
use crate::datadir::Datadir;
use crate::error::Error;
use crate::inspect::{is_datadir, is_store};
use crate::options::Options;
use std::path::{Path, PathBuf};

/// Memory for reading a store, in bytes.
const MEMORY: u64 = 16 << 20;

/// Undo data and unspent coins that an earlier run wrote.
pub(crate) enum CoinArchive {
    /// In a datadir.
    Core(Datadir),
    /// In a store.
    Store {
        folder: PathBuf,
        chainstate: Box<Chainstate>,
        /// The end of the undo data of each height.
        ends: Vec<u64>,
    },
}

impl CoinArchive {
    /// Opens a datadir or a store. No other process may have it open.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, Error> {
        if is_datadir(folder)? {
            return Ok(Self::Core(Datadir::open(folder)?));
        }
        if !is_store(folder)? {
            let found = folder.display();
            let what = format!("{found}: expected a datadir or a store with coins, found neither");
            return Err(Error::Corrupt(what));
        }
        let options = Options { memory: MEMORY, ..options.clone() };
        let chainstate = Box::new(Chainstate::open(folder, &options)?);
        let ends = chainstate.undo_ends()?;
        Ok(Self::Store { folder: folder.to_path_buf(), chainstate, ends })
    }

    /// The block after which the coins are unspent.
    pub fn tip(&self) -> Result<BlockHash, Error> {
        match self {
            Self::Core(datadir) => Ok(datadir.coins()?.best_block()),
            Self::Store { chainstate, .. } => Ok(chainstate.tip().hash),
        }
    }

    /// Reads the undo data of a block into `out`. Returns false if there is none.
    pub fn undo(&self, height: u32, hash: &BlockHash, out: &mut Vec<u8>) -> Result<bool, Error> {
        match self {
            Self::Core(datadir) => {
                let Some(entry) = datadir.block(hash) else { return Ok(false) };
                let Some(found) = datadir.read_undo(entry)? else { return Ok(false) };
                *out = found.data;
                Ok(true)
            }
            Self::Store { chainstate, ends, .. } => {
                let Some(end) = ends.get(height as usize) else { return Ok(false) };
                chainstate.read_undo(*end, out)?;
                Ok(true)
            }
        }
    }

    /// The file of the undo data of a block, and its offset.
    pub fn undo_location(&self, hash: &BlockHash) -> (PathBuf, u64) {
        match self {
            Self::Core(datadir) => datadir.undo_place(hash),
            Self::Store { folder, .. } => (folder.join(CHAINSTATE), 0),
        }
    }

    /// Passes each unspent coin to `visit`, in the order of keys: its key and its packed form.
    pub fn each_coin(
        &self,
        mut visit: impl FnMut(&Key, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Self::Core(datadir) => datadir.coins()?.each_in_order(visit),
            Self::Store { chainstate, .. } => {
                let coins = chainstate.coins();
                let mut pairs = coins.iter()?;
                while let Some((key, coin)) = pairs.next()? {
                    let found = key.len();
                    let key = key.first_chunk::<36>().filter(|_| found == 36).ok_or_else(|| {
                        Error::Corrupt(format!("a coin: expected a key of 36 bytes, found {found}"))
                    })?;
                    visit(key, coin)?;
                }
                Ok(())
            }
        }
    }
}
