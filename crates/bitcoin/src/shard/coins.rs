//! The shard of unspent coins: a datadir's chainstate, or the coins of a store.

use super::digest;
use super::documents::{Coins, Execution, Hex, SCHEMA, Unspent};
use crate::fault::Error;
use crate::inspect::whose_coins;
use crate::multiset::{Kept, unspent};
use crate::options::Options;
use std::path::Path;

/// Which files the unspent coins in `folder` are of: the `chainstate` of a datadir, or the `coins`
/// of a store.
///
/// # Errors
/// It is no such folder, or cannot be read.
pub fn coins(folder: &Path, options: &Options) -> Result<Coins, Error> {
    // what a killed run left behind in a store goes when that is opened
    drop(open(folder, options)?);
    let sources = digest::of_folder(folder)?;
    if sources.is_empty() {
        return Err(Error::NoCoins(folder.to_path_buf()));
    }
    Ok(Coins { schema: SCHEMA, chain: options.params.name.into(), sources, part: None })
}

/// What the unspent coins of `told` come to. Its files must be those that they were.
///
/// # Errors
/// They cannot be read, or were changed.
pub fn add_coins(
    told: Coins,
    folder: &Path,
    execution: &Execution,
    options: &Options,
) -> Result<Coins, Error> {
    let kept = open(folder, options)?;
    let (sum, coins) = unspent(&kept, execution.salt.secret.0)?;
    let tip = Hex::of_hash(kept.tip()?.0);
    drop(kept);
    digest::expect_same(&told.sources, &digest::of_folder(folder)?)?;
    let part = Unspent { salt: execution.salt, sum: Hex(sum.to_be_bytes()), coins, tip };
    Ok(Coins { part: Some(part), ..told })
}

fn open(folder: &Path, options: &Options) -> Result<Kept, Error> {
    match whose_coins(folder)? {
        Some(whose) => Kept::open(whose, options),
        None => Err(Error::NoCoins(folder.to_path_buf())),
    }
}
