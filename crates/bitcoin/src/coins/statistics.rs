//! Statistics over all coins, as `gettxoutsetinfo` of Bitcoin Core gives them.

use crypto::{Sha256, sha256};
use store::{Key, PointStore};

use super::{CoinsError, PackedCoin};
use crate::Hash;

/// What all coins come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of coins.
    pub coins: u64,
    /// Number of transactions that have coins.
    pub transactions: u64,
    /// Satoshis in all.
    pub total_amount: u128,
    /// Bytes of all scripts.
    pub script_bytes: u64,
    /// SHA-256d over all coins in the order of keys, which is also that of Bitcoin Core's database:
    /// `hash_serialized_3`.
    pub hash_serialized: Hash,
}

impl Statistics {
    /// Bitcoin Core's measure of the set's size: 50 bytes and the script for each coin.
    #[must_use]
    pub fn bogosize(&self) -> u64 {
        self.coins * 50 + self.script_bytes
    }
}

/// Bytes that are collected before they are hashed.
const BUFFER: usize = 1 << 16;

/// Goes through all coins of a store.
pub(super) fn of(store: &PointStore) -> Result<Statistics, CoinsError> {
    let mut found = Statistics::default();
    let mut hash = Sha256::new();
    let mut buffer = Vec::with_capacity(BUFFER + 11_000);
    let mut last: Option<Hash> = None;
    let mut points = store.iter()?;
    while let Some((key, value)) = points.next()? {
        let Some(coin) = PackedCoin::unpack(value) else {
            return Err(CoinsError::Malformed { key: *key, found: value.to_vec() });
        };
        let txid = key.first_chunk().copied();
        found.coins += 1;
        found.transactions += u64::from(txid != last);
        found.total_amount += u128::from(coin.value);
        found.script_bytes += coin.script.len() as u64;
        last = txid;
        serialize(key, &coin, &mut buffer);
        if buffer.len() >= BUFFER {
            hash.update(&buffer);
            buffer.clear();
        }
    }
    hash.update(&buffer);
    found.hash_serialized = sha256(&hash.finalize());
    Ok(found)
}

/// Appends a coin as Bitcoin Core hashes it: outpoint, height with the coinbase bit, output.
fn serialize(key: &Key, coin: &PackedCoin, out: &mut Vec<u8>) {
    out.extend_from_slice(key);
    let code = coin.height.wrapping_mul(2) | u32::from(coin.coinbase);
    out.extend(code.to_le_bytes());
    out.extend(coin.value.to_le_bytes());
    let len = coin.script.len();
    match len {
        0..0xfd => out.push(len as u8),
        // no script of a coin is longer than 10,000 bytes
        _ => {
            out.push(0xfd);
            out.extend((len as u16).to_le_bytes());
        }
    }
    coin.script.write_to(out);
}
