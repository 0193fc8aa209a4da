//! A part of the sum: what some coins come to.

use crate::Hash;
use crate::coins::Key;
use blockmill_hashes::ManySha256;
use ruint::aliases::U256;

/// Bytes of coins that are hashed together: many lanes full, and few enough for the second-level
/// cache.
const TOGETHER: usize = 128 << 10;

/// Coins on their way into the sum. Each is hashed behind the salt: its key, the length of its
/// packing, its packing, of which a coin has one. So no two coins have the same bytes, and none has
/// those that another begins with.
pub(crate) struct Part {
    salt: Hash,
    hasher: ManySha256,
    bytes: Vec<u8>,
    /// Where each coin ends, and whether it was created; else it is gone.
    coins: Vec<(usize, bool)>,
    digests: Vec<Hash>,
    sum: U256,
    created: u64,
    gone: u64,
}

impl Part {
    /// The sum of no coins.
    pub fn new(salt: Hash, hasher: ManySha256) -> Self {
        let (bytes, coins, digests) = (Vec::with_capacity(TOGETHER + 20_000), vec![], vec![]);
        Self { salt, hasher, bytes, coins, digests, sum: U256::ZERO, created: 0, gone: 0 }
    }

    /// Adds a coin that was created, by its key and its packing.
    pub fn created(&mut self, key: &Key, coin: &[u8]) {
        self.created += 1;
        self.push(key, coin, true);
    }

    /// Takes away a coin that is spent or unspent.
    pub fn gone(&mut self, key: &Key, coin: &[u8]) {
        self.gone += 1;
        self.push(key, coin, false);
    }

    fn push(&mut self, key: &Key, coin: &[u8], created: bool) {
        self.bytes.extend_from_slice(&self.salt);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&(coin.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(coin);
        self.coins.push((self.bytes.len(), created));
        if self.bytes.len() >= TOGETHER {
            self.hash();
        }
    }

    /// Hashes what was pushed.
    fn hash(&mut self) {
        let start = |i: usize| i.checked_sub(1).map_or(0, |before| self.coins[before].0);
        let coins = self.coins.iter().enumerate();
        let messages: Vec<_> = coins.map(|(i, (end, _))| &self.bytes[start(i)..*end]).collect();
        self.digests.resize(messages.len(), [0; 32]);
        self.hasher.sha256(&messages, &mut self.digests);
        for ((_, created), digest) in self.coins.iter().zip(&self.digests) {
            let number = U256::from_le_bytes(*digest);
            self.sum = match created {
                true => self.sum.wrapping_add(number),
                false => self.sum.wrapping_sub(number),
            };
        }
        self.bytes.clear();
        self.coins.clear();
    }

    /// The sum, and how many coins were created and are gone.
    pub fn finish(mut self) -> (U256, u64, u64) {
        self.hash();
        (self.sum, self.created, self.gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(salt: Hash, created: &[(u8, &[u8])], gone: &[(u8, &[u8])]) -> U256 {
        let mut part = Part::new(salt, ManySha256::detect());
        created.iter().for_each(|(key, coin)| part.created(&[*key; 36], coin));
        gone.iter().for_each(|(key, coin)| part.gone(&[*key; 36], coin));
        let (sum, ..) = part.finish();
        sum
    }

    #[test]
    fn only_the_same_coins_as_often_come_to_nothing() {
        let coins: [(u8, &[u8]); 4] = [(1, b"a"), (1, b"ab"), (2, b"a"), (3, b"")];
        let salt = [7; 32];
        assert_eq!(sum(salt, &coins, &coins), U256::ZERO);
        let mut other = coins;
        other.reverse();
        assert_eq!(sum(salt, &coins, &other), U256::ZERO);
        for i in 0..coins.len() {
            // one too few, one twice, one in the place of another
            let fewer = [&coins[..i], &coins[i + 1..]].concat();
            assert_ne!(sum(salt, &coins, &fewer), U256::ZERO);
            let more = [&coins[..], &coins[i..=i]].concat();
            assert_ne!(sum(salt, &coins, &more), U256::ZERO);
            // unlike an exclusive or, which two more do not change
            let more = [&more[..], &coins[i..=i]].concat();
            assert_ne!(sum(salt, &coins, &more), U256::ZERO);
            let mut other = coins;
            other[i] = coins[(i + 1) % 4];
            assert_ne!(sum(salt, &coins, &other), U256::ZERO);
        }
    }

    #[test]
    fn many_coins_are_hashed_as_one_by_one() {
        let salt = [9; 32];
        let coins: Vec<Vec<u8>> = (0..4_000_usize).map(|i| vec![i as u8; i % 200]).collect();
        let naive = coins.iter().fold(U256::ZERO, |sum, coin| {
            let length = (coin.len() as u32).to_le_bytes();
            let message = [&salt[..], &[5; 36], &length, coin].concat();
            sum.wrapping_add(U256::from_le_bytes(blockmill_hashes::sha256(&message)))
        });
        let created: Vec<_> = coins.iter().map(|coin| (5, &coin[..])).collect();
        assert_eq!(sum(salt, &created, &[]), naive);
        assert_eq!(sum(salt, &[], &created), U256::ZERO.wrapping_sub(naive));
        assert_ne!(sum([8; 32], &created, &[]), naive);
    }
}
