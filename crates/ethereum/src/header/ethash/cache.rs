//! The cache of one epoch: 16 MiB and more of rows, made by a memory-hard chain of hashes.

use crypto::{Rows, keccak512};

use super::epoch::{EpochTooHigh, cache_rows, dataset_pages, seed};

/// Passes of RandMemoHash over the cache.
const CACHE_ROUNDS: usize = 3;

/// The cache of one epoch, from which every item of the dataset can be computed.
#[derive(Debug)]
pub struct Cache {
    pub(super) epoch: u64,
    pub(super) rows: Rows,
    /// Pages of 128 bytes in the dataset of the epoch.
    pub(super) dataset_pages: u32,
}

impl Cache {
    /// Makes the cache of `epoch`. Each hash depends on the one before, so this takes one core: a
    /// million Keccak-512 for epoch 0, and 0.8 % more for each epoch after it.
    ///
    /// # Errors
    /// When the epoch is beyond what ethash can express.
    pub fn generate(epoch: u64) -> Result<Self, EpochTooHigh> {
        let mut cache = Self::empty(epoch)?;
        cache.regenerate();
        Ok(cache)
    }

    /// Fills the rows, whatever they hold.
    pub(super) fn regenerate(&mut self) {
        fill(&mut self.rows, &seed(self.epoch));
    }

    /// A cache of the right size, filled with zeros.
    pub(super) fn empty(epoch: u64) -> Result<Self, EpochTooHigh> {
        let (rows, dataset_pages) = (cache_rows(epoch)?, dataset_pages(epoch)?);
        Ok(Cache { epoch, rows: Rows::zeroed(rows as usize), dataset_pages })
    }

    /// A small cache for tests: right in everything but the sizes.
    #[cfg(test)]
    pub(super) fn small(epoch: u64, rows: u32, dataset_pages: u32) -> Self {
        let mut cache = Cache { epoch, rows: Rows::zeroed(rows as usize), dataset_pages };
        cache.regenerate();
        cache
    }

    /// The epoch that this cache is for.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The rows as they lie in memory: the cache of the specification, byte for byte.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.rows.as_flattened()
    }
}

/// Fills the rows with a chain of hashes of the seed and mixes them with RandMemoHash (Lerner,
/// "Strict memory hard hashing functions", 2014).
fn fill(rows: &mut Rows, seed: &[u8; 32]) {
    let mut last = keccak512(seed);
    for row in rows.iter_mut().skip(1) {
        let next = keccak512(&last);
        *row = next;
        last = next;
    }
    rows[0] = keccak512(seed);
    let count = rows.len();
    for _ in 0..CACHE_ROUNDS {
        let mut partner = partner_of(rows, 0);
        for i in 0..count {
            // the next partner is known already: it comes from memory during this hash
            let next_partner = partner_of(rows, (i + 1) % count);
            rows.prefetch(next_partner);
            for (byte, other) in last.iter_mut().zip(&rows[partner]) {
                *byte ^= other;
            }
            last = keccak512(&last);
            rows[i] = last;
            partner = next_partner;
        }
    }
}

/// The row that row `i` is mixed with, as its first word says.
#[inline]
fn partner_of(rows: &Rows, i: usize) -> usize {
    let [a, b, c, d, ..] = rows[i];
    u32::from_le_bytes([a, b, c, d]) as usize % rows.len()
}

#[cfg(test)]
mod tests {
    use super::super::naive;
    use super::*;

    #[test]
    fn small_caches_equal_the_plain_ones() {
        for (epoch, rows) in [(0, 1), (0, 2), (1, 3), (2, 61), (3, 1021)] {
            let plain = naive::make_cache(rows, &seed(epoch));
            let cache = Cache::small(epoch, rows as u32, 509);
            assert_eq!(cache.rows.to_vec(), plain, "{rows} rows");
        }
    }
}
