//! Which chain the store in a folder is of, found without changing anything.

use crate::paths::is_file;
use crate::{bitcoin, ethereum, neo};
use anyhow::{Result, bail, ensure};
use blockmill_archive::Family;
use blockmill_store::ChainStore;
use std::path::Path;

/// Files of a store of Ethereum blocks other than its manifest, the first of an older format.
const OF_ETHEREUM: [&str; 4] =
    ["checkpoint", "headers.00000", "headers-ends.00000", "hashes.00000"];

/// The family of the store in a folder, from the names of its files and its last commit; `None` if
/// it is no store.
///
/// # Errors
/// If the folder cannot be inspected.
pub fn family_of(folder: &Path) -> Result<Option<Family>> {
    if neo::is_store(folder)? {
        return Ok(Some(Family::Neo));
    }
    for name in OF_ETHEREUM {
        if is_file(&folder.join(name))? {
            return Ok(Some(Family::Ethereum));
        }
    }
    if ChainStore::is_in(folder)? {
        return Ok(Some(Family::Ethereum));
    }
    Ok(bitcoin::is_store(folder)?.then_some(Family::Bitcoin))
}

/// Returns whether no block is committed in a store, and nothing else: any family may use it.
fn is_new(folder: &Path) -> bool {
    let is_empty = |store: &ChainStore| store.count() == 0 && store.parts_besides().is_empty();
    ChainStore::open_read_only(folder).is_ok_and(|(store, _)| is_empty(&store))
}

/// Refuses the store of another family.
#[cfg(feature = "ethereum")]
pub fn expect_store_of(family: Family, folder: &Path) -> Result<()> {
    let found = family_of(folder)?.filter(|found| *found != family);
    let (name, expected) = (folder.display(), name_of(family));
    ensure!(
        found.is_none(),
        "{name}: expected a store of {expected}, found one of {}",
        found.map_or("", name_of)
    );
    Ok(())
}

/// Refuses to add blocks to the store of another family, before anything is written.
pub fn expect(folder: &Path, family: Family) -> Result<()> {
    let name = folder.display();
    let found = family_of(folder)?.filter(|_| !is_new(folder));
    match (family, found) {
        (Family::Ethereum, Some(other @ (Family::Bitcoin | Family::Neo))) => {
            let expected = format!("more of the {} chain in {name}", name_of(other));
            let found = "an archive of Ethereum blocks".into();
            return ethereum::other_chain(expected, found);
        }
        (Family::Bitcoin, Some(Family::Neo)) => {
            bail!("--data {name}: expected a folder for a Bitcoin chain, found a store of Neo")
        }
        (Family::Bitcoin, _) => ensure!(
            !blockmill_store::ChainStore::is_in(folder)?,
            "--data {name}: expected a folder for a Bitcoin chain, found a store of Ethereum"
        ),
        (Family::Neo, Some(other @ (Family::Bitcoin | Family::Ethereum))) => {
            let expected = format!("more of the {} chain in {name}", name_of(other));
            let found = "dumps of Neo blocks".into();
            return neo::other_chain(expected, found);
        }
        (Family::Ethereum | Family::Neo, _) => {}
    }
    Ok(())
}

/// What a family is called.
pub fn name_of(family: Family) -> &'static str {
    match family {
        Family::Ethereum => "Ethereum",
        Family::Bitcoin => "Bitcoin",
        Family::Neo => "Neo",
    }
}
