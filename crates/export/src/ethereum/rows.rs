//! Verified blocks as rows.

use super::access_lists::add_access_list;
use super::changes::{self, add_changes};
use super::receipts::{ReceiptView, add_logs, add_receipts};
use crate::error::Error;
use crate::rows::{Batches, Rows};
use crate::schema::{Form, Table};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::Verified;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Reader;
use blockmill_rlp::ethereum::{AccessListEntry, Authorization, Header, LaterValue};
use std::ops::Range;

/// A block whose parts are rows.
pub(super) struct Block<'a> {
    pub number: u64,
    pub hash: &'a Hash,
    pub header: HeaderView<'a>,
    pub total_difficulty: Option<U256>,
    pub body: Option<BodyView<'a>>,
    /// The hash of each of its transactions.
    pub hashes: &'a [Hash],
    /// Who signed them.
    pub signers: &'a [Address],
}

/// The rows of all tables that are written.
pub(crate) struct Tables {
    rows: Vec<(&'static Table, Rows)>,
    hasher: ManyKeccak,
}

impl Tables {
    /// None so far.
    pub fn new(tables: &[&'static Table], form: Form, hasher: ManyKeccak) -> Self {
        let rows = tables.iter().map(|table| (*table, Rows::new(table, form))).collect();
        Self { rows, hasher }
    }

    /// Does one of the tables need this?
    fn any(&self, of: impl Fn(&Table) -> bool) -> Option<&'static str> {
        self.rows.iter().find(|(table, _)| of(table)).map(|(table, _)| table.name)
    }

    /// Adds the blocks of `range`, before which the batch has `skip` transactions; those before the
    /// blocks after it.
    pub fn add(
        &mut self,
        blocks: &Verified<'_>,
        range: Range<usize>,
        skip: usize,
    ) -> Result<usize, Error> {
        let mut at_transaction = skip;
        for at in range {
            let number = blocks.number(at);
            let header = blocks.fields(at);
            let body = blocks.body(at).map(BodyView::decode).transpose();
            let body = body.map_err(|_| undecodable(number, "body"))?;
            let count = body.as_ref().map_or(0, BodyView::transaction_count);
            let hashes = self.hashes(body.as_ref());
            let signers = blocks.signers().get(at_transaction..at_transaction + count);
            at_transaction += count;
            let total = blocks.total_difficulty(at);
            let block = Block {
                number,
                hash: blocks.hash(at),
                header,
                // zero stands for unknown, and only test chains sum up to it
                total_difficulty: (!total.is_zero()).then_some(total),
                body,
                hashes: &hashes,
                signers: signers.unwrap_or_default(),
            };
            self.add_block(&block, blocks.body(at), blocks.access_list(at))?;
            self.add_receipts(&block, blocks, at)?;
            self.add_changes(&block, blocks, at)?;
        }
        Ok(at_transaction)
    }

    /// The hashes of the transactions, which no other part of verification makes.
    fn hashes(&self, body: Option<&BodyView<'_>>) -> Vec<Hash> {
        let needs = |table: &Table| ["transactions", "receipts", "logs"].contains(&table.name);
        let Some(body) = body.filter(|_| self.any(needs).is_some()) else { return vec![] };
        let encodings: Vec<&[u8]> = body.transaction_encodings().collect();
        let mut hashes = vec![[0; 32]; encodings.len()];
        self.hasher.keccak256(&encodings, &mut hashes);
        hashes
    }

    fn add_block(
        &mut self,
        block: &Block<'_>,
        body: Option<&[u8]>,
        access_list: &[u8],
    ) -> Result<(), Error> {
        let size = body.and_then(|body| block_len(block.header.raw, body));
        for (table, rows) in &mut self.rows {
            match table.name {
                "blocks" => {
                    add_header(rows, block, size);
                    rows.end();
                }
                "ommers" => add_ommers(table, rows, block)?,
                "transactions" => add_transactions(table, rows, block)?,
                "withdrawals" => add_withdrawals(table, rows, block)?,
                "block_access_list" => add_access_list(rows, block, access_list)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add_receipts(
        &mut self,
        block: &Block<'_>,
        blocks: &Verified<'_>,
        index: usize,
    ) -> Result<(), Error> {
        let needs = |table: &Table| ["receipts", "logs"].contains(&table.name);
        let Some(name) = self.any(needs) else { return Ok(()) };
        let lacks = |expected| Error::Lacks { table: name, expected, block: block.number };
        // without its body, nobody knows whether it has transactions
        let body = block.body.ok_or_else(|| lacks("bodies"))?;
        if body.transaction_count() == 0 {
            return Ok(());
        }
        let (list, encoding) = blocks.receipts(index).ok_or_else(|| lacks("receipts"))?;
        let broken = || undecodable(block.number, "list of receipts");
        let receipts = ReceiptView::list(&list, encoding).ok_or_else(broken)?;
        for (table, rows) in &mut self.rows {
            match table.name {
                "receipts" => add_receipts(rows, block, &body, &receipts),
                "logs" => add_logs(rows, block, &receipts),
                _ => {}
            }
        }
        Ok(())
    }

    fn add_changes(
        &mut self,
        block: &Block<'_>,
        blocks: &Verified<'_>,
        index: usize,
    ) -> Result<(), Error> {
        let needs = |table: &Table| changes::TABLES.contains(&table.name);
        let Some(table) = self.any(needs) else { return Ok(()) };
        let expected = "an execution (--level execution)";
        let lacks = || Error::Lacks { table, expected, block: block.number };
        let changes = blocks.changes(index).ok_or_else(lacks)?;
        for (table, rows) in self.rows.iter_mut().filter(|(table, _)| needs(table)) {
            add_changes(table, rows, block, &changes)?;
        }
        Ok(())
    }

    /// The rows of each table.
    pub fn finish(self) -> Result<Vec<Batches>, Error> {
        self.rows.into_iter().map(|(_, rows)| rows.finish()).collect()
    }
}

/// A part of a block that was verified, so that this cannot be.
pub(super) fn undecodable(block: u64, part: &str) -> Error {
    let expected = format!("the {part} that was verified");
    Error::Column { file: format!("block {block}"), expected, found: "another".into() }
}

fn add_header(rows: &mut Rows, block: &Block<'_>, size: Option<u64>) {
    let header = &block.header;
    rows.int(header.number);
    rows.bytes(block.hash);
    rows.bytes(header.parent_hash);
    rows.bytes(header.nonce);
    rows.bytes(header.ommers_hash);
    rows.bytes(header.logs_bloom);
    rows.bytes(header.transactions_root);
    rows.bytes(header.state_root);
    rows.bytes(header.receipts_root);
    rows.bytes(header.beneficiary);
    rows.wei(header.difficulty);
    rows.maybe_wei(block.total_difficulty);
    rows.maybe_int(size);
    rows.bytes(header.extra_data);
    rows.int(header.gas_limit);
    rows.int(header.gas_used);
    rows.seconds(header.timestamp);
    rows.maybe_int(block.body.map(|body| body.transaction_count() as u64));
    for (field, value) in Header::LATER.iter().zip(header.later()) {
        if field.name == "parent_beacon_block_root" {
            rows.bytes(header.mix_hash);
        }
        match value {
            LaterValue::Wei(value) => rows.maybe_wei(value),
            LaterValue::Number(value) => rows.maybe_int(value),
            LaterValue::Hash(value) => rows.maybe_bytes(value.map(|hash| &hash[..])),
        }
    }
}

/// Bytes of a block in one list, which has what the list of its body has.
fn block_len(header: &[u8], body: &[u8]) -> Option<u64> {
    let payload = Reader::new(body).list().ok()?.rest().len();
    Some(blockmill_rlp::list_len(header.len() + payload) as u64)
}

/// The chain that a legacy signature is for (EIP-155).
fn chain_of(v: U256) -> Option<U256> {
    v.checked_sub(U256::from(35)).map(|twice| twice >> 1)
}

/// What a unit of gas cost.
pub(super) fn gas_price(header: &HeaderView<'_>, tx: &Transaction<'_>) -> U256 {
    match header.base_fee {
        Some(base) if tx.kind >= TransactionType::DynamicFee => {
            tx.max_fee.min(base.saturating_add(tx.max_priority_fee))
        }
        _ => tx.max_fee,
    }
}

fn add_transactions(
    table: &'static Table,
    rows: &mut Rows,
    block: &Block<'_>,
) -> Result<(), Error> {
    let lacks = |expected| Error::Lacks { table: table.name, expected, block: block.number };
    let body = block.body.as_ref().ok_or_else(|| lacks("bodies"))?;
    if block.signers.len() != body.transaction_count() {
        return Err(lacks("senders"));
    }
    for (index, tx) in body.transactions().enumerate() {
        add_transaction(rows, block, index, &tx);
        rows.end();
    }
    Ok(())
}

fn add_transaction(rows: &mut Rows, block: &Block<'_>, index: usize, tx: &Transaction<'_>) {
    use TransactionType::{AccessList, Blob, DynamicFee, Legacy, SetCode};
    let (is_dynamic, is_blob) = (tx.kind >= DynamicFee, tx.kind == Blob);
    rows.bytes(&block.hashes[index]);
    rows.int(tx.nonce);
    rows.bytes(block.hash);
    rows.int(block.number);
    rows.int(index as u64);
    rows.bytes(&block.signers[index]);
    rows.maybe_bytes(tx.to.map(|to| &to[..]));
    rows.wei(tx.value);
    rows.int(tx.gas_limit);
    rows.wei(gas_price(&block.header, tx));
    rows.bytes(tx.input);
    rows.seconds(block.header.timestamp);
    rows.maybe_wei(is_dynamic.then_some(tx.max_fee));
    rows.maybe_wei(is_dynamic.then_some(tx.max_priority_fee));
    rows.int(tx.kind as u8);
    rows.maybe_wei(is_blob.then_some(tx.max_blob_fee));
    match is_blob {
        true => {
            let hashes: Vec<Hash> = tx.blob_hashes.iter().collect();
            rows.list(hashes.iter().map(|hash| &hash[..]));
        }
        false => rows.none(),
    }
    match tx.kind {
        Legacy => match chain_of(tx.v) {
            Some(chain) => rows.wide_int(chain),
            None => rows.none(),
        },
        _ => rows.wide_int(tx.chain_id),
    }
    rows.wei(tx.v);
    rows.bytes(&tx.r.to_be_bytes::<32>());
    rows.bytes(&tx.s.to_be_bytes::<32>());
    match tx.kind >= AccessList {
        true => rows.structs(tx.access_list.iter(), add_access),
        false => rows.none(),
    }
    match tx.kind == SetCode {
        true => rows.structs(tx.authorizations.iter(), add_authorization),
        false => rows.none(),
    }
}

fn add_access(rows: &mut Rows, entry: AccessListEntry<'_>) {
    rows.bytes(entry.address);
    let keys: Vec<Hash> = entry.storage_keys.iter().collect();
    rows.list(keys.iter().map(|key| &key[..]));
}

fn add_authorization(rows: &mut Rows, signed: Authorization<'_>) {
    rows.bytes(&signed.chain_id.to_be_bytes::<32>());
    rows.bytes(signed.address);
    rows.wei(U256::from(signed.nonce));
    rows.int(signed.y_parity);
    rows.bytes(&signed.r.to_be_bytes::<32>());
    rows.bytes(&signed.s.to_be_bytes::<32>());
}

fn add_ommers(table: &'static Table, rows: &mut Rows, block: &Block<'_>) -> Result<(), Error> {
    let lacks = || Error::Lacks { table: table.name, expected: "bodies", block: block.number };
    let body = block.body.as_ref().ok_or_else(lacks)?;
    for (row, ommer) in body.ommers().enumerate() {
        rows.int(block.number);
        rows.bytes(block.hash);
        rows.seconds(block.header.timestamp);
        rows.int(row as u64);
        rows.bytes(&ommer.hash());
        rows.int(ommer.number);
        rows.bytes(ommer.parent_hash);
        rows.bytes(ommer.beneficiary);
        rows.wei(ommer.difficulty);
        rows.seconds(ommer.timestamp);
        rows.int(ommer.gas_limit);
        rows.int(ommer.gas_used);
        rows.bytes(ommer.extra_data);
        rows.bytes(ommer.raw);
        rows.end();
    }
    Ok(())
}

fn add_withdrawals(table: &'static Table, rows: &mut Rows, block: &Block<'_>) -> Result<(), Error> {
    let lacks = || Error::Lacks { table: table.name, expected: "bodies", block: block.number };
    let body = block.body.as_ref().ok_or_else(lacks)?;
    for withdrawal in body.withdrawals().into_iter().flatten() {
        rows.int(block.number);
        rows.bytes(block.hash);
        rows.seconds(block.header.timestamp);
        rows.int(withdrawal.index);
        rows.int(withdrawal.validator);
        rows.bytes(withdrawal.address);
        rows.int(withdrawal.amount);
        rows.end();
    }
    Ok(())
}
