//! Reads the coins of a datadir in the order of our keys. Core's database has the outputs of a
//! transaction in the order of their encoded numbers, not of the numbers.

use super::{Coins, Error};
use crate::coins::{Key, PackedCoin};
use crate::types::{Coin, Txid};
use std::ops::Range;

/// The coins of one transaction.
#[derive(Default)]
struct TransactionCoins {
    txid: Txid,
    coins: Vec<(u32, Range<usize>)>,
    packed: Vec<u8>,
}

impl TransactionCoins {
    fn push(&mut self, vout: u32, coin: &Coin) {
        let start = self.packed.len();
        PackedCoin::pack(coin, &mut self.packed);
        self.coins.push((vout, start..self.packed.len()));
    }

    /// Passes on the coins, and clears them.
    fn give<E>(&mut self, take: &mut impl FnMut(&Key, &[u8]) -> Result<(), E>) -> Result<(), E> {
        self.coins.sort_unstable_by_key(|(vout, _)| *vout);
        let mut key = [0; 36];
        key[..32].copy_from_slice(&self.txid.0);
        for (vout, range) in self.coins.drain(..) {
            key[32..].copy_from_slice(&vout.to_be_bytes());
            take(&key, &self.packed[range])?;
        }
        self.packed.clear();
        Ok(())
    }
}

impl Coins {
    /// Passes the remaining coins to `take`, in the order of keys: key and packed form.
    ///
    /// # Errors
    /// Returns [`Error`] if the database cannot be read, and the errors of `take`.
    pub fn each_in_order<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(&Key, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut transaction = TransactionCoins::default();
        while let Some((outpoint, coin)) = self.next_coin()? {
            if outpoint.txid != transaction.txid {
                transaction.give(&mut take)?;
                transaction.txid = outpoint.txid;
            }
            transaction.push(outpoint.vout, &coin);
        }
        transaction.give(&mut take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coins::{Counter, Statistics};
    use crate::types::Amount;

    #[test]
    fn coins_of_a_transaction_are_hashed_in_the_order_of_their_numbers() {
        let statistics = |order: &[u32]| -> Statistics {
            let (mut transaction, mut counter) = (TransactionCoins::default(), Counter::default());
            for vout in order {
                let value = Amount::from_sat((*vout).into());
                transaction.push(*vout, &Coin { height: 7, coinbase: false, value, script: &[1] });
            }
            let mut count = |key: &Key, packed: &[u8]| {
                counter.add(key, &PackedCoin::unpack(packed).ok_or(())?);
                Ok(())
            };
            assert_eq!(transaction.give(&mut count), Ok::<_, ()>(()));
            counter.finish()
        };
        // 16,512 comes before 129 in Core's database: 80 80 00 and 80 01
        let found = statistics(&[0, 127, 128, 16_512, 129]);
        assert_eq!(found, statistics(&[0, 127, 128, 129, 16_512]));
        assert_eq!((found.coins, found.transactions, found.script_bytes), (5, 1, 5));
        assert_ne!(found.hash_serialized, statistics(&[0, 127, 128, 129]).hash_serialized);
    }
}
