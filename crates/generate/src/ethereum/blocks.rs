//! Transactions and receipts of generated blocks.
//!
//! The transactions obey every rule that needs no state: signatures are valid and nonces count up.
//! State roots are random, because nothing executes these blocks.

use super::signers::Signers;
use crate::random::Random;
use anyhow::Result;
use blockmill_ethereum::header::EMPTY_ROOT;
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_ethereum::receipts;
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::{Hash, U256};
use blockmill_rlp::ethereum::Receipt;
use blockmill_rlp::{Decode, OnePass, Reader, Write};

/// Gas of a plain transfer, which every generated transaction uses.
const GAS: u64 = 21_000;

/// The content of a block, and the header fields that depend on it.
#[derive(Clone, Debug)]
pub struct Content {
    pub body: Vec<u8>,
    pub receipts: Vec<u8>,
    pub transactions_root: Hash,
    pub receipts_root: Hash,
    pub logs_bloom: [u8; 256],
    pub gas_used: u64,
}

impl Content {
    /// No transactions.
    pub fn empty() -> Self {
        Self {
            body: vec![0xc2, 0xc0, 0xc0],
            receipts: vec![0xc0],
            transactions_root: EMPTY_ROOT,
            receipts_root: EMPTY_ROOT,
            logs_bloom: [0; 256],
            gas_used: 0,
        }
    }
}

/// Generates block contents.
pub struct Blocks<'a> {
    spec: &'a ChainSpec,
    random: Random,
    signers: Signers,
}

impl<'a> Blocks<'a> {
    /// Creates a generator; equal seeds give equal contents.
    pub fn new(spec: &'a ChainSpec, seed: u64, signers: Signers) -> Self {
        Self { spec, random: Random(!seed), signers }
    }

    /// The content of block `number`: up to three transactions within its gas limit.
    pub fn content(&mut self, number: u64, gas_limit: u64) -> Result<Content> {
        let count = self.random.below(4).min(gas_limit / GAS);
        let transactions: Vec<_> = (0..count).map(|_| self.transaction(number)).collect();
        let stored: Vec<_> = (1..=count).map(|n| self.receipt(n * GAS)).collect();
        assemble(&transactions, &stored)
    }

    /// The content of block `number`: transfers up to its gas limit, at most `most`. Returns their
    /// number, too.
    pub fn transfers(&mut self, number: u64, gas_limit: u64, most: u64) -> Result<(Content, u64)> {
        let count = most.min(gas_limit / GAS);
        let transactions: Vec<_> = (0..count).map(|_| self.transaction(number)).collect();
        let stored: Vec<_> = (1..=count).map(|n| transfer_receipt(n * GAS)).collect();
        Ok((assemble(&transactions, &stored)?, count))
    }

    /// A legacy transaction (the only type of all forks), with replay protection if the fork of
    /// block `number` has it.
    fn transaction(&mut self, number: u64) -> Vec<u8> {
        let mut to = [0; 20];
        self.random.fill(&mut to);
        let unsigned = Transaction {
            max_fee: U256::from(20_000_000_000 + self.random.below(1 << 34)),
            gas_limit: GAS,
            to: Some(&to),
            value: U256::from(self.random.below(1 << 60)),
            ..Transaction::new(TransactionType::Legacy)
        };
        let protected = self.spec.rules_at(number, 0).fork >= Fork::SpuriousDragon;
        let account = self.random.below(self.signers.len());
        self.signers.sign(account, unsigned, protected.then_some(self.spec.chain_id))
    }

    /// A receipt in storage form: state root, cumulative gas, up to two logs.
    fn receipt(&mut self, gas: u64) -> Vec<u8> {
        let logs: Vec<_> = (0..self.random.below(3)).map(|_| self.log()).collect();
        let mut state = [0; 32];
        self.random.fill(&mut state);
        let mut receipt = OnePass::default();
        receipt.list(|receipt| {
            receipt.fixed(&state);
            receipt.u64(gas);
            receipt.list(|out| logs.iter().for_each(|log| out.raw(log)));
        });
        receipt.into_bytes()
    }

    fn log(&mut self) -> Vec<u8> {
        let mut bytes = [0; 20 + 64 + 32];
        self.random.fill(&mut bytes);
        let (address, rest) = bytes.split_at(20);
        let (topics, data) = rest.split_at(64);
        let mut log = OnePass::default();
        log.list(|log| {
            log.bytes(address);
            log.list(|out| topics.chunks(32).for_each(|topic| out.bytes(topic)));
            log.bytes(data);
        });
        log.into_bytes()
    }
}

/// The content of a block with these transactions and these receipts, which are in storage form.
fn assemble(transactions: &[Vec<u8>], stored: &[Vec<u8>]) -> Result<Content> {
    if transactions.is_empty() {
        return Ok(Content::empty());
    }
    let types = transactions.iter().map(|_| TransactionType::Legacy);
    let mut consensus = vec![];
    receipts::storage_to_consensus(&list(stored), types, &mut consensus)?;

    let gas_used = transactions.len() as u64 * GAS;
    let mut content = Content { receipts: consensus, gas_used, ..Content::empty() };
    let mut encodings = vec![];
    let mut reader = Reader::new(&content.receipts).list()?;
    while !reader.is_empty() {
        let item = reader.item()?;
        encodings.push(item.raw);
        let bloom = Receipt::decode(item.raw)?.bloom;
        content.logs_bloom.iter_mut().zip(bloom).for_each(|(sum, bits)| *sum |= bits);
    }
    content.receipts_root = blockmill_trie::ordered_root(encodings.iter().copied());
    let raw: Vec<_> = transactions.iter().map(Vec::as_slice).collect();
    content.transactions_root = blockmill_trie::ordered_root(raw.into_iter());
    content.body = list(&[list(transactions), vec![0xc0]]);
    Ok(content)
}

/// The receipt of a transfer in storage form: success, cumulative gas, no logs.
fn transfer_receipt(gas: u64) -> Vec<u8> {
    let mut receipt = OnePass::default();
    receipt.list(|receipt| {
        receipt.u64(1);
        receipt.u64(gas);
        receipt.list(|_| {});
    });
    receipt.into_bytes()
}

/// An RLP list of encoded items.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(|out| items.iter().for_each(|item| out.raw(item)));
    out.into_bytes()
}
