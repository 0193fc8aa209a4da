//! The shard of unspent coins: the chainstate of a datadir, or the coins of a store.

use super::digest;
use super::documents::{Coins, Execution, Hex, SCHEMA, UnspentMultiset};
use crate::error::Error;
use crate::inspect::coins_owner;
use crate::multiset::{CoinArchive, unspent};
use crate::options::Options;
use std::path::Path;

/// Hashes the files of the unspent coins in `folder`: the `chainstate` of a datadir, or the `coins`
/// of a store.
///
/// # Errors
/// Returns [`Error::NoCoins`] if it is no such folder, and [`Error::Core`], [`Error::Store`] or
/// [`Error::System`] if it cannot be read.
pub fn coin_files(folder: &Path, options: &Options) -> Result<Coins, Error> {
    // opening a store removes the files that a killed run left
    drop(open(folder, options)?);
    let sources = digest::of_folder(folder)?;
    if sources.is_empty() {
        return Err(Error::NoCoins(folder.to_path_buf()));
    }
    Ok(Coins { schema: SCHEMA, chain: options.params.name.into(), sources, multiset: None })
}

/// Computes the multiset hash of the unspent coins of `listed`, the result of [`coin_files`].
///
/// # Errors
/// Returns [`Error::FileChanged`] if a file changed since it was listed, and the errors of
/// [`coin_files`].
pub fn hash_coins(
    listed: Coins,
    folder: &Path,
    execution: &Execution,
    options: &Options,
) -> Result<Coins, Error> {
    let archive = open(folder, options)?;
    let (hash, coins) = unspent(&archive, execution.salt.secret.0)?;
    let tip = Hex::of_hash(archive.tip()?.0);
    drop(archive);
    digest::expect_same(&listed.sources, &digest::of_folder(folder)?)?;
    let salt = execution.salt;
    let multiset = UnspentMultiset { salt, hash: Hex(hash.to_be_bytes()), coins, tip };
    Ok(Coins { multiset: Some(multiset), ..listed })
}

fn open(folder: &Path, options: &Options) -> Result<CoinArchive, Error> {
    match coins_owner(folder)? {
        Some(owner) => CoinArchive::open(owner, options),
        None => Err(Error::NoCoins(folder.to_path_buf())),
    }
}
