//! Which store a folder holds, found without changing anything.

use anyhow::Result;
use std::path::Path;
use store::ChainStore;

/// What is in the folder of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing of a store.
    None,
    /// A chain of Ethereum blocks.
    Ethereum,
    /// Coins, undo data or a block index of Bitcoin.
    Bitcoin,
}

/// Files of a store of Ethereum blocks besides its manifest, the first of an older format.
const OF_ETHEREUM: [&str; 4] =
    ["checkpoint", "headers.00000", "headers-ends.00000", "hashes.00000"];

impl Kind {
    /// Looks at the names of the files.
    pub fn of(folder: &Path) -> Self {
        let has = |name: &&str| folder.join(name).is_file();
        if OF_ETHEREUM.iter().any(has) || ChainStore::is_in(folder) {
            return Self::Ethereum;
        }
        match bitcoin::data_folder::holds_bitcoin(folder) {
            true => Self::Bitcoin,
            false => Self::None,
        }
    }
}

/// Refuses to put Ethereum blocks beside a Bitcoin store, before anything is written.
pub fn refuse_for_ethereum(folder: &Path) -> Result<()> {
    if Kind::of(folder) != Kind::Bitcoin {
        return Ok(());
    }
    let expected = format!("more of the Bitcoin chain in {}", folder.display());
    let found = "an archive of Ethereum blocks".into();
    Err(ethereum::fault::Error::OtherChain { expected, found }.into())
}
