//! Where no set of coins is kept: what blocks spend is taken from undo data, and goes into the sum
//! that proves it in the end (`crate::multiset`). What the sum cannot know is said here: that a coin is
//! spent behind its creation, and that no id stands twice in a block.

use super::batch::Verdict;
use super::connect::Connected;
use super::place::Terms;
use super::prepare::Prepared;
use super::read::Blocks;
use crate::Hash;
use crate::coins::compress::Malformed;
use crate::coins::{Key, PackedCoin, key};
use crate::fault::Error;
use crate::multiset::{MultisetHash, Part, Unproven};
use crate::types::{Amount, Block, Coin, OutPoint, Txid};
use crate::undo::Reader;

/// What is wrong with undo data.
struct Wrong {
    /// Which part of it.
    part: String,
    expected: String,
    found: String,
}

impl From<Malformed> for Wrong {
    fn from(malformed: Malformed) -> Self {
        let (part, expected) = (String::new(), "undo data".into());
        Self { part, expected, found: malformed.to_string() }
    }
}

/// Takes what the blocks spend from undo data, and adds to the sum what they create and spend.
pub(super) fn prove(
    blocks: &Blocks,
    prepared: &Prepared,
    connected: &mut Connected,
    terms: &Terms,
    multiset: &MultisetHash,
    verdict: &mut Verdict,
) {
    let mut part = multiset.part(terms.hasher);
    let (mut coinbases, mut undo, mut output) = (vec![], vec![], 0);
    for i in 0..verdict.good() {
        let (block, height) = (blocks.get(i), blocks.place(i).rules.height);
        let first = connected.spent_len();
        if let Err(error) = take_spent(connected, block, height, multiset, &mut undo) {
            verdict.fail(i, error);
            break;
        }
        for (input, key) in (first..connected.spent_len()).zip(&prepared.keys()[first..]) {
            part.gone(key, connected.spent(input));
        }
        for key in keys_of(block) {
            let coin = prepared.created(output);
            output += 1;
            if !coin.is_empty() {
                part.created(&key, coin);
            }
        }
        if let Some(repeat) = terms.params.repeat(height, &block.hash) {
            replace(block, repeat.first, &mut part);
        }
        coinbases.extend(block.txids.first().map(|txid| (*txid, height)));
    }
    multiset.add(part, coinbases);
}

/// The keys of what a block creates.
fn keys_of(block: &Block) -> impl Iterator<Item = Key> {
    let all = block.transactions.iter().enumerate();
    all.flat_map(|(number, transaction)| {
        let txid = block.txid(number);
        (0..transaction.outputs.len() as u32).map(move |vout| key(&OutPoint { txid, vout }))
    })
}

/// The outputs of the older coinbase are gone that `block` repeats.
fn replace(block: &Block, first: u32, part: &mut Part) {
    let outputs = block.outputs_of(&block.transactions[0]);
    for (key, output) in keys_of(block).zip(outputs) {
        let (value, script) = (Amount::from_sat(output.value as u64), output.script.of(&block.raw));
        if crate::coins::is_unspendable(script) {
            continue;
        }
        let mut packed = vec![];
        PackedCoin::pack(&Coin { height: first, coinbase: true, value, script }, &mut packed);
        part.gone(&key, &packed);
    }
}

/// Takes the coins that a block spends from its undo data.
fn take_spent(
    connected: &mut Connected,
    block: &Block,
    height: u32,
    multiset: &MultisetHash,
    undo: &mut Vec<u8>,
) -> Result<(), Error> {
    let hash = block.hash;
    let order =
        in_order(block).map_err(|txid| Unproven::Repeated { height, hash, txid: Txid(txid) })?;
    let wrong = |wrong: Wrong| {
        let ((file, offset), Wrong { part, expected, found }) = (multiset.undo.place(&hash), wrong);
        Unproven::Undo { height, hash, file, offset, part, expected, found }
    };
    if !multiset.undo.read(height, &hash, undo)? {
        let (part, expected, found) = (String::new(), "undo data".into(), "none".into());
        return Err(wrong(Wrong { part, expected, found }).into());
    }
    Ok(decode(connected, block, height, &order, undo).map_err(wrong)?)
}

/// The numbers of a block's transactions in the order of their ids, of which none is there twice.
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
) -> Result<(), Wrong> {
    let mut reader = Reader::new(undo)?;
    for (number, transaction) in block.transactions.iter().enumerate().skip(1) {
        let inputs = block.inputs_of(transaction);
        let (expected, found) = (inputs.len() as u64, reader.transaction()?.unwrap_or(0));
        if expected != found {
            let part = format!(", transaction {number}");
            let (expected, found) = (format!("{expected} coins"), format!("{found} coins"));
            return Err(Wrong { part, expected, found });
        }
        for (input, spends) in inputs.iter().enumerate() {
            let coin = reader.coin()?;
            // one of this block is created by a transaction before
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
                return Err(Wrong { part, expected, found });
            }
            connected.push_spent(&coin);
        }
    }
    match reader.transaction()? {
        None => Ok(()),
        Some(_) => {
            let expected = format!("{} transactions", block.transactions.len() - 1);
            Err(Wrong { part: String::new(), expected, found: "more".into() })
        }
    }
}
