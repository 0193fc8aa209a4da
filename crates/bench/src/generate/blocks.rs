//! Transactions and receipts of generated blocks.
//!
//! The transactions are well-formed and their roots are right; their signatures are random
//! numbers, because the level `bodies` checks roots.

use super::random::Random;
use anyhow::Result;
use ethereum::header::EMPTY_ROOT;
use ethereum::receipts;
use ethereum::transactions::{Transaction, TransactionType};
use ethereum::{Hash, U256};
use rlp::ethereum::Receipt;
use rlp::{Decode, Encode, OnePass, Reader, Write};

/// Gas of a plain transfer, which every generated transaction is taken to use.
const GAS: u64 = 21_000;

/// The order of secp256k1 divided by two begins with 0x7f; signatures stay below it.
const MAX_S_TOP: u8 = 0x7e;

/// What a header says about the block's content, and the content.
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

/// A source of block contents.
pub struct Blocks {
    random: Random,
    nonce: u64,
}

impl Blocks {
    /// The same seed gives the same contents.
    pub fn new(seed: u64) -> Self {
        Self { random: Random(!seed), nonce: 0 }
    }

    /// The content of the next block: none to three transactions, as far as its gas goes.
    pub fn content(&mut self, gas_limit: u64) -> Result<Content> {
        let count = self.random.below(4).min(gas_limit / GAS);
        if count == 0 {
            return Ok(Content::empty());
        }
        let transactions: Vec<_> = (0..count).map(|_| self.transaction()).collect();
        let stored: Vec<_> = (1..=count).map(|n| self.receipt(n * GAS)).collect();
        let types = transactions.iter().map(|_| TransactionType::Legacy);
        let mut consensus = vec![];
        receipts::storage_to_consensus(&list(&stored), types, &mut consensus)?;

        let mut content =
            Content { receipts: consensus, gas_used: count * GAS, ..Content::empty() };
        let mut encodings = vec![];
        let mut reader = Reader::new(&content.receipts).list()?;
        while !reader.is_empty() {
            let item = reader.item()?;
            encodings.push(item.raw);
            let bloom = Receipt::decode(item.raw)?.bloom;
            content.logs_bloom.iter_mut().zip(bloom).for_each(|(sum, bits)| *sum |= bits);
        }
        content.receipts_root = trie::ordered_root(encodings.iter().copied());
        let raw: Vec<_> = transactions.iter().map(Vec::as_slice).collect();
        content.transactions_root = trie::ordered_root(raw.into_iter());
        content.body = list(&[list(&transactions), vec![0xc0]]);
        Ok(content)
    }

    /// A legacy transaction without replay protection (the only kind that all forks take).
    fn transaction(&mut self) -> Vec<u8> {
        let mut to = [0; 20];
        let (mut r, mut s) = ([0; 32], [0; 32]);
        self.random.fill(&mut to);
        self.random.fill(&mut r);
        self.random.fill(&mut s);
        s[0] = s[0] % MAX_S_TOP + 1;
        self.nonce += 1;
        let transaction = Transaction {
            nonce: self.nonce - 1,
            max_fee: U256::from(20_000_000_000 + self.random.below(1 << 34)),
            gas_limit: GAS,
            to: Some(&to),
            value: U256::from(self.random.below(1 << 60)),
            v: U256::from(27 + self.random.below(2)),
            r: U256::from_be_bytes(r),
            s: U256::from_be_bytes(s),
            ..Transaction::new(TransactionType::Legacy)
        };
        transaction.encode()
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

/// An RLP list of encoded items.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = OnePass::default();
    out.list(|out| items.iter().for_each(|item| out.raw(item)));
    out.into_bytes()
}
