//! Execution without a set of coins: the coins that blocks spend are read from undo data, and added
//! to the multiset hash that proves them (`crate::multiset`). Two conditions that the hash cannot
//! prove are checked here: each coin is created before it is spent, and no transaction id occurs
//! twice in a block.

use super::batch::Verdict;
use super::connect::Connected;
use super::place::Terms;
use super::prepare::Prepared;
use super::read::Blocks;
use crate::Hash;
use crate::coins::compress::Malformed;
use crate::coins::{Key, PackedCoin, key};
use crate::error::Error;
use crate::multiset::{CoinHasher, MultisetHash, Unproven};
use crate::types::{Amount, Block, Coin, OutPoint, Txid};
use crate::undo::Reader;

/// A difference between undo data and its block.
struct WrongUndo {
    /// Position in the undo data.
    part: String,
    expected: String,
    found: String,
}

impl From<Malformed> for WrongUndo {
    fn from(malformed: Malformed) -> Self {
        let (part, expected) = (String::new(), "undo data".into());
        Self { part, expected, found: malformed.to_string() }
    }
}

/// Reads the spent coins of the blocks from undo data, and adds created and spent coins to the
/// multiset hash. Ends the batch at the first block with wrong undo data.
pub(super) fn prove(
    blocks: &Blocks,
    prepared: &Prepared,
    connected: &mut Connected,
    terms: &Terms,
    multiset: &MultisetHash,
    verdict: &mut Verdict,
) {
    let mut coins = multiset.coin_hasher(terms.hasher);
    let (mut coinbases, mut undo, mut output) = (vec![], vec![], 0);
    for i in 0..verdict.good() {
        let (block, height) = (blocks.get(i), blocks.place(i).rules.height);
        let first = connected.spent_len();
        if let Err(error) = read_spent(connected, block, height, multiset, &mut undo) {
            verdict.fail(i, error);
            break;
        }
        for (input, key) in (first..connected.spent_len()).zip(&prepared.keys()[first..]) {
            coins.subtract(key, connected.spent(input));
        }
        for key in created_keys(block) {
            let coin = prepared.created(output);
            output += 1;
            if !coin.is_empty() {
                coins.add(&key, coin);
            }
        }
        if let Some(repeat) = terms.params.repeat(height, &block.hash) {
            subtract_replaced(block, repeat.first, &mut coins);
        }
        coinbases.extend(block.txids.first().map(|txid| (*txid, height)));
    }
    multiset.add(coins, coinbases);
}

/// The keys of the coins that a block creates.
fn created_keys(block: &Block) -> impl Iterator<Item = Key> {
    let all = block.transactions.iter().enumerate();
    all.flat_map(|(number, transaction)| {
        let txid = block.txid(number);
        (0..transaction.outputs.len() as u32).map(move |vout| key(&OutPoint { txid, vout }))
    })
}

/// Subtracts the outputs of the older coinbase, of height `first`, that `block` repeats and so
/// replaces.
fn subtract_replaced(block: &Block, first: u32, coins: &mut CoinHasher) {
    let outputs = block.outputs_of(&block.transactions[0]);
    for (key, output) in created_keys(block).zip(outputs) {
        let (value, script) =
            (Amount::from_sat(output.value as u64), output.script.slice(&block.raw));
        if crate::coins::is_unspendable(script) {
            continue;
        }
        let mut packed = vec![];
        PackedCoin::pack(&Coin { height: first, coinbase: true, value, script }, &mut packed);
        coins.subtract(&key, &packed);
    }
}

/// Reads the coins that a block spends from its undo data.
fn read_spent(
    connected: &mut Connected,
    block: &Block,
    height: u32,
    multiset: &MultisetHash,
    undo: &mut Vec<u8>,
) -> Result<(), Error> {
    let hash = block.hash;
    let order =
        in_order(block).map_err(|txid| Unproven::RepeatedId { height, hash, txid: Txid(txid) })?;
    let wrong = |wrong: WrongUndo| {
        let (file, offset) = multiset.undo.location(&hash);
        let WrongUndo { part, expected, found } = wrong;
        Unproven::Undo { height, hash, file, offset, part, expected, found }
    };
    if !multiset.undo.read(height, &hash, undo)? {
        let (part, expected, found) = (String::new(), "undo data".into(), "none".into());
        return Err(wrong(WrongUndo { part, expected, found }).into());
    }
    Ok(decode(connected, block, height, &order, undo).map_err(wrong)?)
}

/// The numbers of a block's transactions in the order of their ids. Fails with an id that occurs
/// twice.
fn in_order(block: &Block) -> Result<Vec<u32>, Hash> {
    let id = |number: u32| &block.txids[number as usize];
    let mut order: Vec<u32> = (0..block.txids.len() as u32).collect();
    order.sort_unstable_by_key(|number| id(*number));
    match order.windows(2).find(|pair| id(pair[0]) == id(pair[1])) {
        Some(pair) => Err(*id(pair[0])),
        None => Ok(order),
    }
}

fn decode(
    connected: &mut Connected,
    block: &Block,
    height: u32,
    order: &[u32],
    undo: &[u8],
) -> Result<(), WrongUndo> {
    let mut reader = Reader::new(undo)?;
    for (number, transaction) in block.transactions.iter().enumerate().skip(1) {
        let inputs = block.inputs_of(transaction);
        let (expected, found) = (inputs.len() as u64, reader.transaction()?.unwrap_or(0));
        if expected != found {
            let part = format!(", transaction {number}");
            let (expected, found) = (format!("{expected} coins"), format!("{found} coins"));
            return Err(WrongUndo { part, expected, found });
        }
        for (input, spends) in inputs.iter().enumerate() {
            let coin = reader.coin()?;
            // a coin of this block must be created by an earlier transaction
            let is_before = || {
                let id = block.outpoint(spends).txid.0;
                let at = order.binary_search_by_key(&&id, |number| &block.txids[*number as usize]);
                at.is_ok_and(|at| (order[at] as usize) < number)
            };
            let in_time = coin.height < height || coin.height == height && is_before();
            if coin.height == 0 || !in_time {
                let part = format!(", transaction {number}, input {input}");
                let expected = format!("a coin that is created before, from height 1 to {height}");
                let found = format!("one of height {}", coin.height);
                return Err(WrongUndo { part, expected, found });
            }
            connected.push_spent(&coin);
        }
    }
    match reader.transaction()? {
        None => Ok(()),
        Some(_) => {
            let expected = format!("{} transactions", block.transactions.len() - 1);
            Err(WrongUndo { part: String::new(), expected, found: "more".into() })
        }
    }
}
