//! The unspent outputs of the chain, by age.

use super::mixture::OutputKind;
use crate::random::Random;
use rust_bitcoin::Txid;

/// A spendable output.
#[derive(Clone, Copy, Debug)]
pub struct Coin {
    pub txid: Txid,
    pub vout: u32,
    pub value: u64,
    pub kind: OutputKind,
    pub key: u16,
}

/// The coins of each block, oldest block first.
#[derive(Default)]
pub struct Coins {
    generations: Vec<Vec<Coin>>,
    count: u64,
}

impl Coins {
    /// Number of spendable coins.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds the coins of a new block.
    pub fn push(&mut self, coins: Vec<Coin>) {
        self.count += coins.len() as u64;
        if !coins.is_empty() {
            self.generations.push(coins);
        }
    }

    /// Removes a random coin. The logarithm of its age is uniform: an age of 2 to 4 blocks is as
    /// likely as 200 to 400.
    pub fn remove_random(&mut self, random: &mut Random) -> Option<Coin> {
        let generations = self.generations.len() as u64;
        let bits = u64::from(generations.checked_ilog2()?) + 1;
        let from = (1 << random.below(bits)) - 1;
        let age = (from + random.below(from + 1)).min(generations - 1);
        let at = (generations - 1 - age) as usize;
        let block = &mut self.generations[at];
        let coin = block.swap_remove(random.below(block.len() as u64) as usize);
        if block.is_empty() {
            self.generations.remove(at);
        }
        self.count -= 1;
        Some(coin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rust_bitcoin::hashes::Hash;

    #[test]
    fn every_coin_is_taken_once_and_young_ones_first() {
        let mut coins = Coins::default();
        for height in 0..100 {
            let coin = Coin {
                txid: Txid::all_zeros(),
                vout: height,
                value: 1,
                kind: OutputKind::P2pkh,
                key: 0,
            };
            coins.push((0..10).map(|_| coin).collect());
        }
        let mut random = Random(7);
        let heights: Vec<u32> =
            std::iter::from_fn(|| coins.remove_random(&mut random)).map(|coin| coin.vout).collect();
        assert_eq!(heights.len(), 1000);
        assert_eq!(coins.count(), 0);
        let mut sorted = heights.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, height)| at as u32 / 10 == *height));
        let old = heights[..100].iter().filter(|height| **height < 50).count();
        assert!((1..40).contains(&old), "{old} of the first 100 coins were older than 50 blocks");
    }
}
