//! The worst case for a verifier whose cost per input grows with the transaction: as many inputs as
//! a block has room for, with unusual scripts.

use super::coins::Coin;
use super::mixture::OutputKind;
use super::plan::{Draft, Pay, Spend, coins};
use super::sign::Signed;
use super::wallet::KEYS;
use rust_bitcoin::sighash::EcdsaSighashType as Covers;
use std::mem::take;

/// Number of inputs that fit a block, half of them signed.
pub const MOST: u64 = 17_800;

/// Satoshis of each coin.
const VALUE: u64 = 1_000;

/// The height at which the first coinbase can be spent (consensus).
const MATURE: u32 = 101;

/// The last two blocks of a chain with such a transaction.
pub struct Unusual {
    count: u64,
    /// Height of the second block; 0 if there is none.
    pub height: u32,
    /// The coin that the first block splits: the first coinbase.
    coin: Option<Coin>,
    /// The coins that the second block spends.
    coins: Vec<Coin>,
}

impl Unusual {
    /// Plans a transaction with `count` inputs after at least so many blocks.
    pub fn new(count: u64, blocks: u32) -> Self {
        let height = if count == 0 { 0 } else { blocks.max(MATURE + 1) };
        Self { count, height, coin: None, coins: vec![] }
    }

    /// The transactions of the block at `height`, if it is one of the two.
    pub fn block(&mut self, height: u32) -> Option<Vec<Draft>> {
        if height + 1 == self.height {
            Some(vec![draft(vec![self.coin.take()?], self.pays())])
        } else if height == self.height {
            let pay = Pay::To { kind: OutputKind::P2wpkh, key: 0, value: VALUE };
            Some(vec![draft(take(&mut self.coins), vec![pay])])
        } else {
            None
        }
    }

    /// Coins of both unusual kinds.
    fn pays(&self) -> Vec<Pay> {
        let kinds = [OutputKind::P2wshVerify, OutputKind::P2wshUnrun].into_iter().cycle();
        let key = |at: u64| (at % KEYS as u64) as u16;
        let pay = |(at, kind)| Pay::To { kind, key: key(at), value: VALUE };
        (0..self.count).zip(kinds).map(pay).collect()
    }

    /// Records the coins of the block that was built from `drafts`.
    pub fn connect(&mut self, drafts: &[Draft], signed: &[Signed], coinbase: Coin) {
        if let ([draft], [signed]) = (drafts, signed) {
            self.coins = coins(draft, signed.txid).collect();
        }
        self.coin.get_or_insert(coinbase);
    }
}

fn draft(coins: Vec<Coin>, pays: Vec<Pay>) -> Draft {
    let paid = pays.iter().map(|pay| match pay {
        Pay::To { value, .. } => *value,
        Pay::Data(_) => 0,
    });
    let fee = coins.iter().map(|coin| coin.value).sum::<u64>() - paid.sum::<u64>();
    let spend = |coin| Spend { coin, parent: None, sequence: u32::MAX, covers: Covers::All };
    let spends = coins.into_iter().map(spend).collect();
    Draft { version: 2, lock_time: 0, spends, pays, fee, rank: 0 }
}
