//! Connects blocks with a map of coins and no rules: what the writer for Core is tested with.

#![allow(dead_code)] // each test program uses its own part of this module

use blockmill_bitcoin::types::{Amount, Coin, OutPoint, Txid};
use blockmill_bitcoin::undo;
use std::collections::HashMap;

/// A coin that owns its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    pub height: u32,
    pub coinbase: bool,
    pub value: u64,
    pub script: Vec<u8>,
}

impl Owned {
    pub fn coin(&self) -> Coin<'_> {
        let Owned { height, coinbase, value, .. } = *self;
        Coin { height, coinbase, value: Amount::from_sat(value), script: &self.script }
    }
}

/// A transaction: its id, what it spends, value and script of what it makes.
pub struct Transaction {
    pub txid: Txid,
    pub inputs: Vec<OutPoint>,
    pub outputs: Vec<(u64, Vec<u8>)>,
}

/// Takes a block apart.
pub fn transactions(raw: &[u8]) -> Vec<Transaction> {
    let mut from = Bytes { raw, at: 80 };
    let count = from.count();
    let transactions = (0..count).map(|_| transaction(&mut from)).collect();
    assert_eq!(from.at, raw.len());
    transactions
}

fn transaction(from: &mut Bytes) -> Transaction {
    let mut stripped = from.take(4).to_vec();
    let witness = from.raw[from.at] == 0;
    if witness {
        assert_eq!(from.take(2), [0, 1]);
    }
    let start = from.at;
    let mut inputs = Vec::new();
    for _ in 0..from.count() {
        let txid = Txid(from.take(32).try_into().unwrap());
        let vout = u32::from_le_bytes(from.take(4).try_into().unwrap());
        inputs.push(OutPoint { txid, vout });
        from.item();
        from.take(4);
    }
    let mut outputs = Vec::new();
    for _ in 0..from.count() {
        let value = u64::from_le_bytes(from.take(8).try_into().unwrap());
        outputs.push((value, from.item().to_vec()));
    }
    stripped.extend_from_slice(&from.raw[start..from.at]);
    if witness {
        for _ in &inputs {
            for _ in 0..from.count() {
                from.item();
            }
        }
    }
    stripped.extend_from_slice(from.take(4));
    Transaction { txid: Txid(blockmill_hashes::sha256d(&stripped)), inputs, outputs }
}

struct Bytes<'a> {
    raw: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        self.at += length;
        &self.raw[self.at - length..self.at]
    }

    fn count(&mut self) -> usize {
        let width = match self.take(1)[0] {
            0xfd => 2,
            0xfe => 4,
            small => return small.into(),
        };
        let mut number = [0; 8];
        number[..width].copy_from_slice(self.take(width));
        u64::from_le_bytes(number) as usize
    }

    fn item(&mut self) -> &'a [u8] {
        let length = self.count();
        self.take(length)
    }
}

/// The unspent coins of a chain.
#[derive(Default)]
pub struct Chain {
    pub coins: HashMap<OutPoint, Owned>,
    pub height: u32,
    pub spent: Spent,
}

/// What the peer counts, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    pub coins: u64,
    pub value: u64,
    pub digest: u64,
}

impl Default for Spent {
    fn default() -> Self {
        Spent { coins: 0, value: 0, digest: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Spent {
    fn add(&mut self, coin: &Coin) {
        self.coins += 1;
        self.value += coin.value.to_sat();
        let mut digest = |bytes: &[u8]| {
            for byte in bytes {
                self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
        };
        digest(&coin.height.to_le_bytes());
        digest(&[u8::from(coin.coinbase)]);
        digest(&coin.value.to_sat().to_le_bytes());
        digest(&(coin.script.len() as u32).to_le_bytes());
        digest(coin.script);
    }
}

impl Chain {
    /// Connects the next block; returns its undo data, `None` for the genesis block.
    pub fn connect(&mut self, raw: &[u8]) -> Option<Vec<u8>> {
        let height = self.height;
        self.height += 1;
        if height == 0 {
            // its coinbase cannot be spent
            return None;
        }
        let (mut counts, mut spent) = (Vec::new(), Vec::new());
        for (i, transaction) in transactions(raw).iter().enumerate() {
            if i > 0 {
                counts.push(transaction.inputs.len());
                for input in &transaction.inputs {
                    spent.push(self.coins.remove(input).expect("an unspent coin"));
                }
            }
            for (vout, (value, script)) in (0..).zip(&transaction.outputs) {
                if script.first() == Some(&0x6a) || script.len() > 10_000 {
                    continue;
                }
                let (value, script) = (*value, script.clone());
                let outpoint = OutPoint { txid: transaction.txid, vout };
                let coin = Owned { height, coinbase: i == 0, value, script };
                self.coins.insert(outpoint, coin);
            }
        }
        spent.iter().for_each(|coin| self.spent.add(&coin.coin()));
        let mut data = Vec::new();
        undo::encode(counts.into_iter(), spent.iter().map(Owned::coin), &mut data).unwrap();
        Some(data)
    }

    /// The coins in the order of their keys.
    pub fn sorted(&self) -> Vec<(&OutPoint, &Owned)> {
        let mut coins: Vec<_> = self.coins.iter().collect();
        coins.sort_by_key(|(outpoint, _)| (outpoint.txid, outpoint.vout.to_le_bytes()));
        coins
    }
}
