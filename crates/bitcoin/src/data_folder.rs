//! Whose store a folder holds, found before anything is written to it.

use crate::BlockHash;
use crate::chainstate::{CHAINSTATE, COINS, State, UNDO};
use crate::fault::Error;
use crate::index::INDEX_MAGIC;
use crate::params::Params;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use store::{ChainStore, Store};

/// Name of the block index in the folder of a store.
pub(crate) const INDEX: &str = "index";
/// Files that a store of Ethereum has, in this format or an older one, and ours has not.
const OF_ETHEREUM: [&str; 2] = ["checkpoint", "hashes.00000"];

/// Has this folder anything that an import of Bitcoin blocks makes?
#[must_use]
pub fn holds_bitcoin(folder: &Path) -> bool {
    let begins = |bytes: &[u8]| bytes.starts_with(&INDEX_MAGIC);
    folder.join(CHAINSTATE).is_dir()
        || first_bytes(&folder.join(INDEX)).is_some_and(|bytes| begins(&bytes))
}

/// Refuses a folder in which an import of this network would mix chains or write over what is not
/// its own.
///
/// # Errors
/// [`Error::OtherChain`] names both chains; [`Error::Damaged`] says what stands in the way.
pub(crate) fn refuse_foreign(folder: &Path, params: &Params) -> Result<(), Error> {
    let other = |expected: String| {
        let found = format!("Bitcoin {}", params.name);
        Err(Error::OtherChain { expected, found })
    };
    let has = |name: &&str| folder.join(name).is_file();
    if OF_ETHEREUM.iter().any(has) || ChainStore::is_in(folder) {
        return other("an Ethereum chain".into());
    }
    let index = folder.join(INDEX);
    if let Some(head) = first_bytes(&index) {
        if !head.is_empty() && !head.starts_with(&INDEX_MAGIC) {
            let (expected, found) = (INDEX_MAGIC.escape_ascii(), head[..8].escape_ascii());
            let what = format!("expected a file that begins with {expected}, found {found}");
            let advice = "remove it if nothing else needs it: the block files are scanned again";
            return Err(Error::Damaged(format!("{}: {what}; {advice}", index.display())));
        }
        let stored =
            Params::all().into_iter().find(|network| head.get(8..12) == Some(&network.magic));
        if let Some(stored) = stored.filter(|stored| stored.magic != params.magic) {
            return other(format!("Bitcoin {}", stored.name));
        }
    }
    match stored_state(folder)? {
        Some(state) if state.genesis != params.genesis_hash => other(name_of(&state.genesis)),
        _ => Ok(()),
    }
}

/// What the coins in a folder are those of; `None` when nothing was committed.
///
/// # Errors
/// When the manifest is damaged, or gone where coins or undo data are.
pub(crate) fn stored_state(folder: &Path) -> Result<Option<State>, Error> {
    match Store::read_state(&folder.join(CHAINSTATE), &[COINS, UNDO])? {
        Some(state) if !state.is_empty() => State::read(&state).map(Some),
        _ => Ok(None),
    }
}

/// A network by its first block.
fn name_of(genesis: &BlockHash) -> String {
    let params = Params::by_genesis(genesis);
    let unknown = || format!("the chain that begins with {genesis}");
    params.map_or_else(unknown, |params| format!("Bitcoin {}", params.name))
}

/// Up to twelve bytes of a file, padded with zeros; none of a file that cannot be read, empty for
/// one that is too short to say anything.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut head = vec![];
    File::open(path).ok()?.take(12).read_to_end(&mut head).ok()?;
    if head.len() < 8 {
        head.clear();
    }
    Some(head)
}
