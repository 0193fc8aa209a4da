//! Verified blocks of Bitcoin as rows.

use super::script;
use crate::error::Error;
use crate::rows::{Batches, Rows};
use crate::schema::{Form, Table};
use blockmill_bitcoin::types::{Block, Coin, Transaction};
use blockmill_bitcoin::verified::VerifiedBlock;
use rust_bitcoin::Network;

/// The rows of all tables that are written.
pub(super) struct Tables {
    rows: Vec<(&'static Table, Rows)>,
    network: Network,
}

/// A transaction and its place.
struct PlacedTransaction<'a> {
    of: &'a VerifiedBlock<'a>,
    index: usize,
    transaction: &'a Transaction,
    id: [u8; 32],
    /// What its inputs spend, where that is known.
    spent: Option<&'a [Coin<'a>]>,
}

/// The bytes in the order in which users know them.
pub(super) fn shown(mut hash: [u8; 32]) -> [u8; 32] {
    hash.reverse();
    hash
}

/// The hash of the block before, in the order of the header.
pub(super) fn previous(block: &Block) -> [u8; 32] {
    block.raw.get(4..36).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
}

/// A number of the header.
fn number(block: &Block, at: usize) -> u32 {
    block.raw.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl Tables {
    /// None so far.
    pub fn new(tables: &[&'static Table], form: Form, network: Network) -> Self {
        let rows = tables.iter().map(|table| (*table, Rows::new(table, form))).collect();
        Self { rows, network }
    }

    /// Adds a block.
    pub fn add(&mut self, of: &VerifiedBlock<'_>) {
        let block = of.block;
        let spent = of.spent();
        let mut spent = spent.as_deref();
        let mut parts = Vec::with_capacity(block.transactions.len());
        for (index, transaction) in block.transactions.iter().enumerate() {
            let own = match index {
                0 => None,
                _ => split(&mut spent, transaction.inputs.len()),
            };
            let id = shown(block.txid(index).0);
            parts.push(PlacedTransaction { of, index, transaction, id, spent: own });
        }
        for (table, rows) in &mut self.rows {
            if table.name == "blocks" {
                add_block(rows, of);
                rows.end();
                continue;
            }
            for part in &parts {
                match table.name {
                    "transactions" => add_transaction(rows, part),
                    "inputs" => add_inputs(rows, part, self.network),
                    _ => add_outputs(rows, part, self.network),
                }
            }
        }
    }

    /// The rows of each table.
    pub fn finish(self) -> Result<Vec<Batches>, Error> {
        self.rows.into_iter().map(|(_, rows)| rows.finish()).collect()
    }
}

/// Takes the first of what is left.
fn split<'a>(coins: &mut Option<&'a [Coin<'a>]>, count: usize) -> Option<&'a [Coin<'a>]> {
    let (own, others) = coins.take()?.split_at_checked(count)?;
    *coins = Some(others);
    Some(own)
}

fn add_block(rows: &mut Rows, of: &VerifiedBlock<'_>) {
    let block = of.block;
    let coinbase = block.inputs.first().map_or(&[][..], |input| input.script.slice(&block.raw));
    rows.bytes(&shown(block.hash.0));
    rows.int(block.raw.len() as u64);
    rows.int(block.stripped_size() as u64);
    rows.int(block.weight() as u64);
    rows.int(of.height);
    rows.bytes(&shown(previous(block)));
    rows.int(number(block, 0) as i32);
    rows.bytes(&shown(block.stated_merkle_root()));
    rows.seconds(block.time().into());
    rows.int(number(block, 76));
    rows.int(number(block, 72));
    rows.bytes(coinbase);
    rows.int(block.transactions.len() as u64);
}

fn add_transaction(rows: &mut Rows, part: &PlacedTransaction<'_>) {
    let PlacedTransaction { of, index, transaction, id, spent } = part;
    let block = of.block;
    let out = block.value_out(transaction).to_sat();
    let spent = spent.map(|coins| coins.iter().map(|coin| coin.value.to_sat()).sum::<u64>());
    rows.bytes(id);
    rows.int(transaction.span.len() as u64);
    rows.int(transaction.weight().div_ceil(4) as u64);
    rows.int(transaction.version);
    rows.int(transaction.lock_time);
    rows.int(of.height);
    rows.bytes(&shown(block.hash.0));
    rows.seconds(block.time().into());
    rows.bool(*index == 0);
    rows.int(*index as u64);
    rows.int(transaction.inputs.len() as u64);
    rows.int(transaction.outputs.len() as u64);
    rows.maybe_int(spent);
    rows.int(out);
    rows.maybe_int(spent.map(|spent| spent.saturating_sub(out)));
    rows.bool(transaction.has_witness);
    rows.end();
}

/// The columns that inputs and outputs begin with.
fn begin(rows: &mut Rows, part: &PlacedTransaction<'_>) {
    rows.bytes(&part.id);
    rows.int(part.index as u64);
    rows.bytes(&shown(part.of.block.hash.0));
    rows.int(part.of.height);
    rows.seconds(part.of.block.time().into());
}

fn add_inputs(rows: &mut Rows, part: &PlacedTransaction<'_>, network: Network) {
    let block = part.of.block;
    for (at, input) in block.inputs_of(part.transaction).iter().enumerate() {
        let outpoint = block.outpoint(input);
        let coin = part.spent.and_then(|coins| coins.get(at));
        begin(rows, part);
        rows.int(at as u64);
        match part.index {
            0 => {
                rows.none();
                rows.none();
            }
            _ => {
                rows.bytes(&shown(outpoint.txid.0));
                rows.int(outpoint.vout);
            }
        }
        rows.bytes(input.script.slice(&block.raw));
        rows.int(input.sequence);
        rows.list(block.witness(input));
        rows.maybe_int(coin.map(|coin| coin.value.to_sat()));
        rows.maybe_bytes(coin.map(|coin| coin.script));
        match coin {
            Some(coin) => add_script(rows, coin.script, network),
            None => {
                rows.none();
                rows.none();
            }
        }
        rows.end();
    }
}

fn add_outputs(rows: &mut Rows, part: &PlacedTransaction<'_>, network: Network) {
    let block = part.of.block;
    for (at, output) in block.outputs_of(part.transaction).iter().enumerate() {
        begin(rows, part);
        rows.int(at as u64);
        let script = output.script.slice(&block.raw);
        rows.bytes(script);
        rows.int(output.value);
        add_script(rows, script, network);
        rows.end();
    }
}

/// Type and address of an output script.
fn add_script(rows: &mut Rows, script: &[u8], network: Network) {
    rows.text(script::kind(script));
    match script::address(script, network) {
        Some(address) => rows.text(&address),
        None => rows.none(),
    }
}
