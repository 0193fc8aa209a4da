//! Unspent coins: their keys and encoding in the table that holds them.
//!
//! A coin keeps the encoding of [`PackedCoin`] from its creation until it is spent, and the same
//! bytes go into the undo data. The thread that connects blocks only moves these bytes. The threads
//! that check scripts decode them.

pub mod compress;
mod packed;
mod statistics;

pub use packed::{PackedCoin, PackedScript};
pub use statistics::{Counter, Statistics, statistics};

use blockmill_verdict::Reversed;

use crate::types::{OutPoint, Txid};

blockmill_pipeline::named_option! {
    /// Where the coins that transactions spend come from.
    ///
    /// `multiset` is not the default, because it needs undo data and unspent coins: it is for
    /// `verify` of a datadir or of a store.
    pub enum SpentCoins: "coins", level Execution {
        /// Coins on disk are looked up when they are spent.
        WhenSpent = "when-spent",
        /// No set of coins is kept: spent coins are read from undo data, and [a hash of the
        /// multiset of all coins](../distributed.md#bitcoin-execution-without-a-set-of-coins)
        /// proves them.
        Multiset = "multiset",
        /// Coins on disk are looked up in parallel, before they are spent.
        Fetched = "fetched",
    }
}

/// The key of a coin: the transaction id, and the index in big endian, so that the order of keys is
/// that of Bitcoin Core's statistics.
pub type Key = [u8; 36];

/// The longest script that can be spent (`MAX_SCRIPT_SIZE` in Bitcoin Core).
pub const MAX_SCRIPT_BYTES: usize = 10_000;
/// As the first opcode, it makes an output unspendable.
const OP_RETURN: u8 = 0x6a;

/// Returns whether an output with this script is unspendable. Such outputs are not stored as coins
/// (`CScript::IsUnspendable` in Bitcoin Core).
#[must_use]
pub fn is_unspendable(script: &[u8]) -> bool {
    script.first() == Some(&OP_RETURN) || script.len() > MAX_SCRIPT_BYTES
}

/// The key of an outpoint.
#[must_use]
pub fn key(outpoint: &OutPoint) -> Key {
    let mut key = [0; 36];
    key[..32].copy_from_slice(&outpoint.txid.0);
    key[32..].copy_from_slice(&outpoint.vout.to_be_bytes());
    key
}

/// The outpoint of a key.
#[must_use]
pub fn outpoint(key: &[u8]) -> Option<OutPoint> {
    let (txid, vout) = key.split_first_chunk()?;
    Some(OutPoint { txid: Txid(*txid), vout: u32::from_be_bytes(vout.try_into().ok()?) })
}

/// An error of the coins of a store.
#[derive(Debug, thiserror::Error)]
pub enum CoinsError {
    /// The store failed, or is corrupt.
    #[error("{0}")]
    Store(#[from] blockmill_store::Error),
    /// The store has bytes under this key that do not encode a coin.
    #[error("coin {}: expected a packed coin, found {} other bytes", shown(key), found.len())]
    Malformed {
        /// The key of the outpoint.
        key: Vec<u8>,
        /// The bytes found.
        found: Vec<u8>,
    },
}

/// The outpoint of a key as text.
fn shown(key: &[u8]) -> String {
    let (txid, vout) = key.split_at(key.len().min(32));
    let vout = vout.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    format!("{}:{vout}", Reversed(txid))
}
