//! Hashes coins in batches, and adds the hashes.

use crate::Hash;
use crate::coins::Key;
use blockmill_hashes::ManySha256;
use ruint::aliases::U256;

/// Bytes of coins in a batch: enough to fill the SHA-256 lanes many times, and few enough for the
/// second-level cache.
const BATCH_BYTES: usize = 128 << 10;

/// Computes the multiset hash of some coins. The message of a coin is the salt, its key, the length
/// of its packed form, and its packed form, which is unique. So no two coins have the same message,
/// and no message is a prefix of another.
pub(crate) struct CoinHasher {
    salt: Hash,
    hasher: ManySha256,
    /// Messages of the batch.
    bytes: Vec<u8>,
    /// The end of each message in `bytes`, and whether the coin is added (or subtracted).
    coins: Vec<(usize, bool)>,
    digests: Vec<Hash>,
    sum: U256,
    added: u64,
    subtracted: u64,
}

impl CoinHasher {
    /// The hash of no coins.
    pub fn new(salt: Hash, hasher: ManySha256) -> Self {
        let (bytes, coins, digests) = (Vec::with_capacity(BATCH_BYTES + 20_000), vec![], vec![]);
        Self { salt, hasher, bytes, coins, digests, sum: U256::ZERO, added: 0, subtracted: 0 }
    }

    /// Adds a coin that was created: its key and its packed form.
    pub fn add(&mut self, key: &Key, coin: &[u8]) {
        self.added += 1;
        self.push(key, coin, true);
    }

    /// Subtracts a coin that is spent or unspent.
    pub fn subtract(&mut self, key: &Key, coin: &[u8]) {
        self.subtracted += 1;
        self.push(key, coin, false);
    }

    fn push(&mut self, key: &Key, coin: &[u8], is_added: bool) {
        self.bytes.extend_from_slice(&self.salt);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&(coin.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(coin);
        self.coins.push((self.bytes.len(), is_added));
        if self.bytes.len() >= BATCH_BYTES {
            self.hash_batch();
        }
    }

    fn hash_batch(&mut self) {
        let start = |i: usize| i.checked_sub(1).map_or(0, |before| self.coins[before].0);
        let coins = self.coins.iter().enumerate();
        let messages: Vec<_> = coins.map(|(i, (end, _))| &self.bytes[start(i)..*end]).collect();
        self.digests.resize(messages.len(), [0; 32]);
        self.hasher.sha256(&messages, &mut self.digests);
        for ((_, is_added), digest) in self.coins.iter().zip(&self.digests) {
            let number = U256::from_le_bytes(*digest);
            self.sum = match is_added {
                true => self.sum.wrapping_add(number),
                false => self.sum.wrapping_sub(number),
            };
        }
        self.bytes.clear();
        self.coins.clear();
    }

    /// Returns the hash, and the numbers of coins added and subtracted.
    pub fn finish(mut self) -> (U256, u64, u64) {
        self.hash_batch();
        (self.sum, self.added, self.subtracted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(salt: Hash, created: &[(u8, &[u8])], gone: &[(u8, &[u8])]) -> U256 {
        let mut coins = CoinHasher::new(salt, ManySha256::detect());
        created.iter().for_each(|(key, coin)| coins.add(&[*key; 36], coin));
        gone.iter().for_each(|(key, coin)| coins.subtract(&[*key; 36], coin));
        let (hash, ..) = coins.finish();
        hash
    }

    #[test]
    fn only_equal_multisets_of_coins_cancel_out() {
        let coins: [(u8, &[u8]); 4] = [(1, b"a"), (1, b"ab"), (2, b"a"), (3, b"")];
        let salt = [7; 32];
        assert_eq!(hash(salt, &coins, &coins), U256::ZERO);
        let mut other = coins;
        other.reverse();
        assert_eq!(hash(salt, &coins, &other), U256::ZERO);
        for i in 0..coins.len() {
            // one missing, one twice, one replaced by another
            let fewer = [&coins[..i], &coins[i + 1..]].concat();
            assert_ne!(hash(salt, &coins, &fewer), U256::ZERO);
            let more = [&coins[..], &coins[i..=i]].concat();
            assert_ne!(hash(salt, &coins, &more), U256::ZERO);
            // unlike an exclusive or, which two more do not change
            let more = [&more[..], &coins[i..=i]].concat();
            assert_ne!(hash(salt, &coins, &more), U256::ZERO);
            let mut other = coins;
            other[i] = coins[(i + 1) % 4];
            assert_ne!(hash(salt, &coins, &other), U256::ZERO);
        }
    }

    #[test]
    fn batches_of_coins_hash_as_single_coins_do() {
        let salt = [9; 32];
        let coins: Vec<Vec<u8>> = (0..4_000_usize).map(|i| vec![i as u8; i % 200]).collect();
        let naive = coins.iter().fold(U256::ZERO, |sum, coin| {
            let length = (coin.len() as u32).to_le_bytes();
            let message = [&salt[..], &[5; 36], &length, coin].concat();
            sum.wrapping_add(U256::from_le_bytes(blockmill_hashes::sha256(&message)))
        });
        let created: Vec<_> = coins.iter().map(|coin| (5, &coin[..])).collect();
        assert_eq!(hash(salt, &created, &[]), naive);
        assert_eq!(hash(salt, &[], &created), U256::ZERO.wrapping_sub(naive));
        assert_ne!(hash([8; 32], &created, &[]), naive);
    }
}
