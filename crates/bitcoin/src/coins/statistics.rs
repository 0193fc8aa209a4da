//! Statistics over all coins, as `gettxoutsetinfo` of Bitcoin Core gives them.

use blockmill_hashes::{Sha256, sha256};
use blockmill_store::Table;

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
    /// SHA-256d over all coins in the order of keys: `hash_serialized_3` of Bitcoin Core.
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

/// Counts, sums and hashes coins that come in the order of their keys.
pub struct Counter {
    found: Statistics,
    hash: Sha256,
    buffer: Vec<u8>,
    last: Option<Hash>,
}

impl Default for Counter {
    fn default() -> Self {
        let (found, hash) = (Statistics::default(), Sha256::new());
        Self { found, hash, buffer: Vec::with_capacity(BUFFER + 11_000), last: None }
    }
}

impl Counter {
    /// Takes the next coin.
    pub fn add(&mut self, key: &[u8], coin: &PackedCoin) {
        let (found, txid) = (&mut self.found, key.first_chunk().copied());
        found.coins += 1;
        found.transactions += u64::from(txid != self.last);
        found.total_amount += u128::from(coin.value.to_sat());
        found.script_bytes += coin.script.len() as u64;
        self.last = txid;
        serialize(key, coin, &mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }

    /// What all coins come to.
    #[must_use]
    pub fn finish(mut self) -> Statistics {
        self.hash.update(&self.buffer);
        Statistics { hash_serialized: sha256(&self.hash.finalize()), ..self.found }
    }
}

/// Goes through all coins of a table.
///
/// # Errors
/// Those of reading; [`CoinsError::Malformed`] when the store holds something else than coins.
pub fn statistics(coins: &Table) -> Result<Statistics, CoinsError> {
    let mut counter = Counter::default();
    let mut pairs = coins.iter()?;
    while let Some((key, value)) = pairs.next()? {
        let Some(coin) = PackedCoin::unpack(value) else {
            return Err(CoinsError::Malformed { key: key.to_vec(), found: value.to_vec() });
        };
        counter.add(key, &coin);
    }
    Ok(counter.finish())
}

/// Appends a coin as Bitcoin Core hashes it: outpoint, height with the coinbase bit, output.
fn serialize(key: &[u8], coin: &PackedCoin, out: &mut Vec<u8>) {
    let (txid, vout) = key.split_last_chunk::<4>().unwrap_or((key, &[0; 4]));
    out.extend_from_slice(txid);
    out.extend(vout.iter().rev());
    let code = coin.height.wrapping_mul(2) | u32::from(coin.coinbase);
    out.extend(code.to_le_bytes());
    out.extend(coin.value.to_sat().to_le_bytes());
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
