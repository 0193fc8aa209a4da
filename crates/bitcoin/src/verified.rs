//! Verified blocks, as a consumer of them receives them.

use crate::script::SpentCoin;
use crate::types::{Block, Coin};
use blockmill_verdict::{ConsumerError, DerivedRows, VerifiedConsumer};

/// A block that is verified as deep as the level of the run demands.
pub struct VerifiedBlock<'a> {
    /// Its height. If the files begin in the middle of a chain, the height that they imply.
    pub height: u32,
    /// The block.
    pub block: &'a Block,
    pub(crate) spent: Option<Spent<'a>>,
}

/// The coins that the inputs of a block spend.
#[derive(Clone, Copy)]
pub(crate) struct Spent<'a> {
    /// One for each input except the coinbase's.
    pub coins: &'a [SpentCoin],
    /// Where their scripts are.
    pub scripts: &'a [u8],
}

impl<'a> VerifiedBlock<'a> {
    /// The coins that its inputs spend; the coinbase spends none. `None` if blocks are not
    /// connected.
    #[must_use]
    pub fn spent(&self) -> Option<Vec<Coin<'a>>> {
        let Spent { coins, scripts } = self.spent?;
        let coin = |coin: &SpentCoin| Coin {
            height: coin.height,
            coinbase: coin.coinbase,
            value: coin.value,
            script: coin.script.slice(scripts),
        };
        Some(coins.iter().map(coin).collect())
    }
}

/// Derives rows from verified blocks: consecutive ones, or those of a shard of block files, which
/// has some blocks of a chain, in the chain's order.
pub type Derive = dyn Fn(&[VerifiedBlock<'_>]) -> Result<DerivedRows, ConsumerError> + Send + Sync;

/// Receives rows derived from verified blocks. If another chain becomes the best one, its blocks
/// follow from the fork on.
pub type Consumer = VerifiedConsumer<Derive>;
