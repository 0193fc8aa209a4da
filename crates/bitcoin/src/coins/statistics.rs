//! Statistics of all coins, as in `gettxoutsetinfo` of Bitcoin Core.

use blockmill_hashes::{Sha256, sha256};
use blockmill_store::Table;

use super::{CoinsError, PackedCoin};
use crate::Hash;

/// Statistics of all coins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of coins.
    pub coins: u64,
    /// Number of transactions that have coins.
    pub transactions: u64,
    /// Sum of the values, in satoshis.
    pub total_amount: u128,
    /// Bytes of all scripts.
    pub script_bytes: u64,
    /// SHA-256d over all coins in the order of keys: `hash_serialized_3` of Bitcoin Core.
    pub hash_serialized: Hash,
}

impl Statistics {
    /// Size of the set as Bitcoin Core measures it: 50 bytes and the script for each coin.
    #[must_use]
    pub fn bogosize(&self) -> u64 {
        self.coins * 50 + self.script_bytes
    }
}

/// Size of the hash buffer, in bytes.
const BUFFER: usize = 1 << 16;

/// Counts, sums and hashes coins, given in the order of their keys.
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
    /// Adds the next coin.
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

    /// Returns the statistics.
    #[must_use]
    pub fn finish(mut self) -> Statistics {
        self.hash.update(&self.buffer);
        Statistics { hash_serialized: sha256(&self.hash.finalize()), ..self.found }
    }
}

/// Computes the statistics of a table of coins.
///
/// # Errors
/// Returns [`CoinsError::Malformed`] for an entry that is not a coin, and [`CoinsError::Store`] if
/// the table cannot be read.
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

/// Appends the bytes of a coin that Bitcoin Core hashes: outpoint, height with coinbase bit,
/// output.
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
        // scripts of coins have at most 10,000 bytes
        _ => {
            out.push(0xfd);
            out.extend((len as u16).to_le_bytes());
        }
    }
    coin.script.write_to(out);
}
