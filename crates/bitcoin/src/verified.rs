//! Verified blocks for whoever makes something of them.

use crate::script::SpentCoin;
use crate::types::{Block, Coin};
use blockmill_pipeline::{Made, NotMade};
use std::sync::Arc;

/// A block of which everything was verified that the level asks for.
pub struct VerifiedBlock<'a> {
    /// Its height; what the files tell of it, where they begin in the middle of a chain.
    pub height: u32,
    /// The block.
    pub block: &'a Block,
    pub(crate) spent: Option<Spent<'a>>,
}

/// The coins that the inputs of a block spend.
#[derive(Clone, Copy)]
pub(crate) struct Spent<'a> {
    /// One for each input but that of the coinbase.
    pub coins: &'a [SpentCoin],
    /// Where their scripts are.
    pub scripts: &'a [u8],
}

impl<'a> VerifiedBlock<'a> {
    /// The coins that its inputs spend, but for that of the coinbase, which spends none; only where
    /// blocks are connected.
    #[must_use]
    pub fn spent(&self) -> Option<Vec<Coin<'a>>> {
        let Spent { coins, scripts } = self.spent?;
        let coin = |coin: &SpentCoin| Coin {
            height: coin.height,
            coinbase: coin.coinbase,
            value: coin.value,
            script: coin.script.of(scripts),
        };
        Some(coins.iter().map(coin).collect())
    }
}

/// Makes something of verified blocks on any thread: of consecutive ones, but in a unit of block
/// files, which has some of a chain's, in its order.
pub type Make = Arc<dyn Fn(&[VerifiedBlock<'_>]) -> Result<Made, NotMade> + Send + Sync>;

/// Keeps what was made, in the order of the blocks.
pub type Keep = Arc<dyn Fn(&Made) -> Result<(), NotMade> + Send + Sync>;

/// What is done with verified blocks beside storing them. Where the best chain turns out to be
/// another one, its blocks follow from the fork on.
#[derive(Clone)]
pub struct Making {
    /// What is made of them.
    pub make: Make,
    /// What becomes of that.
    pub keep: Keep,
}
