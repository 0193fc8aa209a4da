//! The coin multiset hash: verification without a set of coins.
//!
//! Undo data states the coins that each block spends, so every rule of a block can be checked
//! without the other blocks. Undo data itself is trusted until the multiset hash proves it: each
//! coin that a block creates adds a hash, and each coin that is spent or unspent subtracts it. The
//! result is zero if the created coins are exactly the spent and the unspent ones; otherwise it is
//! zero with probability below 2^-192. `docs/distributed.md` has the proof.
//!
//! A hash is the sum of the partial hashes of its blocks, so shards compute it on several machines
//! (`crate::shard`).

mod coin_archive;
mod coin_hasher;
mod difference;
mod undo_data;
mod unproven;

pub(crate) use coin_archive::CoinArchive;
pub(crate) use coin_hasher::CoinHasher;
pub(crate) use difference::difference;
pub(crate) use undo_data::{UndoData, UndoPositions};
pub use unproven::Unproven;

use crate::error::Error;
use crate::params::Params;
use crate::types::Txid;
use crate::{BlockHash, Hash};
use blockmill_hashes::ManySha256;
use blockmill_verdict::counted;
use ruint::aliases::U256;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The numbers of coins that a multiset hash of zero proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Coins that the blocks created.
    pub created: u64,
    /// Coins that the blocks spent.
    pub spent: u64,
    /// Coins that are unspent.
    pub unspent: u64,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, spent, unspent } = *self;
        let [created, spent, unspent] = [created, spent, unspent].map(|n| counted(n, "coin"));
        write!(f, "the coin multiset hash is 0: {created} created, {spent} spent, {unspent} left")
    }
}

/// A multiset hash that threads add partial hashes to, and the undo data that it is to prove.
pub(crate) struct MultisetHash<'a> {
    /// Undo data, which is trusted until the hash is known to be zero.
    pub undo: UndoData<'a>,
    salt: Hash,
    total: Mutex<PartialHash>,
}

/// The multiset hash of the coins of some blocks.
#[derive(Default)]
pub(crate) struct PartialHash {
    /// Hashes of the coins created, minus hashes of the coins spent, modulo 2^256.
    pub hash: U256,
    pub created: u64,
    pub spent: u64,
    /// Id and height of each coinbase.
    pub coinbases: Vec<(Hash, u32)>,
}

/// Draws a secret salt. It must not be known before the files are written: otherwise coins could be
/// chosen by their hashes.
pub(crate) fn new_salt() -> Result<Hash, Error> {
    Ok(blockmill_platform::random::secret().ok_or(Unproven::NoSecret)?)
}

impl<'a> MultisetHash<'a> {
    /// The hash of no coins.
    pub fn new(undo: UndoData<'a>, salt: Hash) -> Self {
        Self { undo, salt, total: Mutex::default() }
    }

    /// A hasher for the coins of one thread.
    pub fn coin_hasher(&self, hasher: ManySha256) -> CoinHasher {
        CoinHasher::new(self.salt, hasher)
    }

    /// Adds the coins of a hasher, and the coinbases of their blocks.
    pub fn add(&self, coins: CoinHasher, coinbases: Vec<(Hash, u32)>) {
        let (hash, created, spent) = coins.finish();
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.add(PartialHash { hash, created, spent, coinbases });
    }

    /// The hash of all coins that were added.
    pub fn total(self) -> PartialHash {
        self.total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the multiset hash of all unspent coins, to be added to that of the blocks, and their
/// number. Unspent coins are subtracted, as spent ones are.
///
/// # Errors
/// Returns [`Error::Core`], [`Error::Store`] or [`Error::Corrupt`] if the coins cannot be read.
pub(crate) fn unspent(archive: &CoinArchive, salt: Hash) -> Result<(U256, u64), Error> {
    let mut coins = CoinHasher::new(salt, ManySha256::detect());
    archive.each_coin(|key, coin| {
        coins.subtract(key, coin);
        Ok(())
    })?;
    let (hash, _, count) = coins.finish();
    Ok((hash, count))
}

impl PartialHash {
    /// Adds the hash of other blocks.
    pub fn add(&mut self, other: Self) {
        self.hash = self.hash.wrapping_add(other.hash);
        self.created += other.created;
        self.spent += other.spent;
        self.coinbases.extend(other.coinbases);
    }

    /// Adds the hash of the unspent coins to the hash of all blocks of a chain. The result proves
    /// undo data and unspent coins if it is zero. `hash` returns the block hash at a height.
    ///
    /// # Errors
    /// Returns [`Unproven::RepeatedId`] if two blocks have the same coinbase, and
    /// [`Unproven::NotZero`] if the hash is not zero.
    pub fn prove(
        self,
        (unspent_hash, unspent): (U256, u64),
        params: &Params,
        hash: impl Fn(u32) -> BlockHash,
    ) -> Result<Proof, Box<Unproven>> {
        let Self { hash: blocks_hash, created, spent, mut coinbases } = self;
        coinbases.sort_unstable();
        for pair in coinbases.windows(2) {
            let [(first, low), (second, height)] = [pair[0], pair[1]];
            if first != second {
                continue;
            }
            let hash = hash(height);
            if params.repeat(height, &hash).is_none_or(|repeat| repeat.first != low) {
                return Err(Box::new(Unproven::RepeatedId { height, hash, txid: Txid(first) }));
            }
        }
        match blocks_hash.wrapping_add(unspent_hash) == U256::ZERO {
            true => Ok(Proof { created, spent, unspent }),
            false => Err(Box::new(Unproven::NotZero { created, spent, unspent })),
        }
    }
}
