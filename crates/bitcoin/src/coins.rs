//! The unspent coins: what they mean, over the store that holds them.
//!
//! A coin is kept in the encoding of [`PackedCoin`] from when it is made until it is spent, and
//! from there it goes into the undo data as it is. The thread that connects blocks only moves these
//! bytes; who checks scripts decodes them, on other threads.

mod packed;
mod statistics;

pub use packed::{PackedCoin, PackedScript};
pub use statistics::{Counter, Statistics};

use std::{fmt, path::Path};

use store::{Hint, Key, MAX_POINT_BYTES, PointOptions, PointStore};

use crate::coin::{Coin, OutPoint};

/// The longest script that can be spent (`MAX_SCRIPT_SIZE` in Bitcoin Core).
pub const MAX_SCRIPT_BYTES: usize = 10_000;
/// The opcode that makes an output unspendable when it comes first.
const OP_RETURN: u8 = 0x6a;

/// Can nobody ever spend an output with this script? Such outputs never become coins
/// (`CScript::IsUnspendable` in Bitcoin Core).
#[must_use]
pub fn is_unspendable(script: &[u8]) -> bool {
    script.first() == Some(&OP_RETURN) || script.len() > MAX_SCRIPT_BYTES
}

/// The key of an outpoint: as it stands in a transaction's input.
#[must_use]
pub fn key(outpoint: &OutPoint) -> Key {
    let mut key = [0; 36];
    key[..32].copy_from_slice(&outpoint.txid);
    key[32..].copy_from_slice(&outpoint.vout.to_le_bytes());
    key
}

/// What can go wrong with coins.
#[derive(Debug)]
pub enum CoinsError {
    /// The store failed, or its files are damaged.
    Store(store::Error),
    /// The store holds bytes under this key that are no coin.
    Malformed {
        /// The outpoint.
        key: Key,
        /// The bytes found.
        found: Vec<u8>,
    },
}

impl fmt::Display for CoinsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoinsError::Store(error) => error.fmt(f),
            CoinsError::Malformed { key, found } => {
                let (txid, vout) = key.split_at(32);
                let vout = vout.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                f.write_str("coin ")?;
                txid.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, ":{vout}: expected a packed coin, found {} other bytes", found.len())
            }
        }
    }
}

impl std::error::Error for CoinsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CoinsError::Store(error) => Some(error),
            CoinsError::Malformed { .. } => None,
        }
    }
}

impl From<store::Error> for CoinsError {
    fn from(error: store::Error) -> CoinsError {
        CoinsError::Store(error)
    }
}

/// The unspent coins of a chain, in a folder.
pub struct Coins {
    store: PointStore,
    packed: Vec<u8>,
}

// the longest script, and five numbers of at most ten bytes
const _: () = assert!(MAX_SCRIPT_BYTES + 50 < MAX_POINT_BYTES);

impl Coins {
    /// Opens the coins in `dir`, or makes an empty set there. Returns the state that the last
    /// commit carried; empty when there was none.
    ///
    /// # Errors
    /// Those of [`PointStore::open`].
    pub fn open(dir: &Path, options: &PointOptions) -> store::Result<(Coins, Vec<u8>)> {
        let (store, state) = PointStore::open(dir, options)?;
        Ok((Coins { store, packed: Vec::new() }, state))
    }

    /// The store below, to look ahead, to count and to commit.
    #[must_use]
    pub fn store(&self) -> &PointStore {
        &self.store
    }

    /// The store below, to be changed.
    pub fn store_mut(&mut self) -> &mut PointStore {
        &mut self.store
    }

    /// Spends a coin: removes it and appends its packed bytes to `out`. Returns false when there is
    /// no such coin. `key` is the outpoint as it stands in the input.
    ///
    /// # Errors
    /// Those of [`PointStore::take`].
    pub fn spend(
        &mut self,
        key: &Key,
        hint: Option<Hint>,
        out: &mut Vec<u8>,
    ) -> store::Result<bool> {
        self.store.take(key, hint, out)
    }

    /// Adds a new coin, unless it is unspendable. Returns whether it was added. There must be no
    /// coin with this key: that is what BIP30 and BIP34 guarantee.
    ///
    /// # Errors
    /// Those of [`PointStore::insert`].
    pub fn add(&mut self, key: &Key, coin: &Coin) -> store::Result<bool> {
        if is_unspendable(coin.script) {
            return Ok(false);
        }
        self.packed.clear();
        PackedCoin::pack(coin, &mut self.packed);
        self.store.insert(key, &self.packed)?;
        Ok(true)
    }

    /// Adds a coin in the place of one that may be there: for the two blocks that break BIP30.
    /// Returns whether it was added.
    ///
    /// # Errors
    /// Those of [`PointStore::replace`].
    pub fn add_over(&mut self, key: &Key, coin: &Coin) -> store::Result<bool> {
        if is_unspendable(coin.script) {
            return Ok(false);
        }
        self.packed.clear();
        PackedCoin::pack(coin, &mut self.packed);
        self.store.replace(key, &self.packed)?;
        Ok(true)
    }

    /// Puts back a coin that was spent, from its packed bytes: undoes [`Coins::spend`].
    ///
    /// # Errors
    /// Those of [`PointStore::insert`].
    pub fn put_back(&mut self, key: &Key, packed: &[u8]) -> store::Result<()> {
        self.store.insert(key, packed).map(|_| ())
    }

    /// Counts, sums and hashes all coins.
    ///
    /// # Errors
    /// Those of reading; [`CoinsError::Malformed`] when the store holds something else than coins.
    pub fn statistics(&self) -> Result<Statistics, CoinsError> {
        statistics::of(&self.store)
    }
}
