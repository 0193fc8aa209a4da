//! What a folder with coins holds: a store of ours, or a datadir of Bitcoin Core.

use crate::chainstate::{CHAINSTATE, Opened};
use crate::coins::{self, CoinsError, Counter, PackedCoin, Statistics};
use crate::datadir::{self, Datadir};
use crate::fault::Error;
use crate::params::Params;
use crate::run::Tip;
use crate::types::Txid;
use std::ops::Range;
use std::path::Path;

/// Memory for reading all coins of a store once, in bytes.
const MEMORY: usize = 16 << 20;

/// A store of ours.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The network; none when it is not one of the built-in ones.
    pub params: Option<Params>,
    /// The last block that is connected.
    pub tip: Tip,
    /// Bytes of undo data that belong to it.
    pub undo_bytes: u64,
    /// All coins, counted, summed up and hashed.
    pub statistics: Statistics,
}

/// Is this the folder of a store that holds coins?
pub fn is_store(folder: &Path) -> bool {
    folder.join(CHAINSTATE).join("manifest").is_file()
}

/// Reads the coins of a store; `None` when nothing was ever committed to it. Nobody else may have
/// the store open.
///
/// # Errors
/// When the store is open elsewhere, cannot be read, or is damaged.
pub fn stored(folder: &Path) -> Result<Option<Stored>, Error> {
    let Opened { coins, undo, state, .. } = Opened::open(folder, MEMORY)?;
    let Some(state) = state else { return Ok(None) };
    let statistics = coins::statistics(&coins).map_err(|error| match error {
        CoinsError::Store(error) => Error::Store(error),
        malformed @ CoinsError::Malformed { .. } => Error::Damaged(malformed.to_string()),
    })?;
    let params = Params::by_genesis(&state.genesis);
    Ok(Some(Stored { params, tip: state.tip, undo_bytes: undo.len(), statistics }))
}

/// What a datadir says of its chain.
#[derive(Clone, Debug)]
pub struct CoreState {
    /// The block at which the coins are unspent.
    pub best: Tip,
    /// Blocks in its index, those included whose header alone is known.
    pub blocks: u64,
    /// All coins, counted, summed up and hashed.
    pub statistics: Statistics,
}

/// Has this folder a block index and coins of Bitcoin Core?
pub fn is_datadir(folder: &Path) -> bool {
    folder.join("blocks/index").is_dir() && folder.join("chainstate").is_dir()
}

/// Reads a datadir's index and coins. Bitcoin Core must not be running on it.
///
/// # Errors
/// When a database cannot be read, or the index does not know the coins' block.
pub fn core_state(folder: &Path) -> Result<CoreState, datadir::Error> {
    let datadir = Datadir::open(folder)?;
    let mut coins = datadir.coins()?;
    let hash = coins.best_block();
    let Some(entry) = datadir.block(&hash) else {
        let what = format!("block {hash}, to which the coins belong,");
        return Err(datadir::Error::Missing { path: folder.join("blocks/index"), what });
    };
    let best = Tip { height: entry.height, hash };
    let mut counter = Counter::default();
    let mut transaction = TransactionCoins::default();
    while let Some((outpoint, coin)) = coins.next_coin()? {
        if outpoint.txid != transaction.txid {
            transaction.count(&mut counter);
            transaction.txid = outpoint.txid;
        }
        let start = transaction.packed.len();
        PackedCoin::pack(&coin, &mut transaction.packed);
        transaction.coins.push((outpoint.vout, start..transaction.packed.len()));
    }
    transaction.count(&mut counter);
    let blocks = datadir.blocks().count() as u64;
    Ok(CoreState { best, blocks, statistics: counter.finish() })
}

/// The coins of one transaction: Core's database has them in the order of their encoded numbers,
/// its statistics in that of the numbers.
#[derive(Default)]
struct TransactionCoins {
    txid: Txid,
    coins: Vec<(u32, Range<usize>)>,
    packed: Vec<u8>,
}

impl TransactionCoins {
    /// Counts the coins and forgets them.
    fn count(&mut self, counter: &mut Counter) {
        self.coins.sort_unstable_by_key(|(vout, _)| *vout);
        let mut key = [0; 36];
        key[..32].copy_from_slice(&self.txid.0);
        for (vout, range) in self.coins.drain(..) {
            key[32..].copy_from_slice(&vout.to_be_bytes());
            if let Some(coin) = PackedCoin::unpack(&self.packed[range]) {
                counter.add(&key, &coin);
            }
        }
        self.packed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Amount, Coin};

    #[test]
    fn coins_of_a_transaction_are_hashed_in_the_order_of_their_numbers() {
        let statistics = |order: &[u32]| {
            let (mut transaction, mut counter) = (TransactionCoins::default(), Counter::default());
            for vout in order {
                let start = transaction.packed.len();
                let value = Amount::from_sat((*vout).into());
                let coin = Coin { height: 7, coinbase: false, value, script: &[1] };
                PackedCoin::pack(&coin, &mut transaction.packed);
                transaction.coins.push((*vout, start..transaction.packed.len()));
            }
            transaction.count(&mut counter);
            counter.finish()
        };
        // 16,512 comes before 129 in Core's database: 80 80 00 and 80 01
        let found = statistics(&[0, 127, 128, 16_512, 129]);
        assert_eq!(found, statistics(&[0, 127, 128, 129, 16_512]));
        assert_eq!((found.coins, found.transactions, found.script_bytes), (5, 1, 5));
        assert_ne!(found.hash_serialized, statistics(&[0, 127, 128, 129]).hash_serialized);
    }
}
