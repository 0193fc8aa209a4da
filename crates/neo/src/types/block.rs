//! Blocks (`block/block.go`).

use super::header::Header;
use super::transaction::{Transaction, Transactions};
use super::witness::Witness;
use super::{Error, Reader, UInt256};
use blockmill_hashes::ManySha256;

/// Size limit of the decoder for a block, in bytes. Configured limits are lower. No length field
/// allocates more than the bytes that follow it.
pub const MAX_BLOCK_BYTES: usize = 1 << 28;
/// Limit of transactions in a block.
pub const MAX_TRANSACTIONS: u64 = 0xffff;

/// A parsed block: its bytes, and the spans of its transactions, signers, attributes and witnesses.
///
/// Only fields of fixed length are copied. The lists are reused from block to block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The block's bytes, header first.
    pub raw: Vec<u8>,
    /// The header.
    pub header: Header,
    /// SHA-256 of the signed part of the header.
    pub hash: UInt256,
    /// The transactions.
    pub transactions: Transactions,
}

impl Block {
    /// Parses and hashes the block in `raw`. `state_root`: whether headers have state roots.
    ///
    /// # Errors
    /// Returns a decode error if `raw` is not exactly one block. The block has no transactions
    /// then.
    pub fn decode(&mut self, state_root: bool, hasher: &ManySha256) -> Result<(), Error> {
        self.parse(state_root)?;
        hash_blocks(std::slice::from_mut(self), hasher);
        Ok(())
    }

    /// Parses only the header of the block in `bytes`.
    ///
    /// # Errors
    /// Returns a decode error if the header is invalid.
    pub fn parse_header(&mut self, bytes: &[u8], state_root: bool) -> Result<(), Error> {
        self.transactions.clear();
        let mut reader = Reader::new(bytes);
        self.raw.clear();
        match Header::read(&mut reader, state_root) {
            Ok(header) => {
                self.header = header;
                self.raw.extend_from_slice(&bytes[..reader.position() as usize]);
            }
            Err(error) => {
                let mut lenient = Reader::lenient(bytes);
                Header::read(&mut lenient, state_root).map_err(|_| error)?;
                self.raw = lenient.rewritten(bytes);
                self.header = Header::read(&mut Reader::new(&self.raw), state_root)?;
            }
        }
        Ok(())
    }

    /// Parses the block in `raw` without hashing: `hash` does not change, and the transactions
    /// cannot be accessed yet. Non-canonical lengths, keys and booleans are rewritten in `raw`
    /// first.
    ///
    /// # Errors
    /// Returns the errors of [`Block::decode`].
    pub fn parse(&mut self, state_root: bool) -> Result<(), Error> {
        self.transactions.clear();
        if self.raw.len() > MAX_BLOCK_BYTES {
            return Err(Error::TooLong { expected: MAX_BLOCK_BYTES, found: self.raw.len() });
        }
        let mut raw = std::mem::take(&mut self.raw);
        let mut result = self.read(&mut Reader::new(&raw), state_root);
        if result.is_err() {
            let mut lenient = Reader::lenient(&raw);
            if self.read(&mut lenient, state_root).is_ok() {
                raw = lenient.rewritten(&raw);
                result = self.read(&mut Reader::new(&raw), state_root);
            }
        }
        self.raw = raw;
        if result.is_err() {
            self.transactions.clear();
        }
        result
    }

    /// Parses header and transactions from `reader`.
    fn read(&mut self, reader: &mut Reader<'_>, state_root: bool) -> Result<(), Error> {
        self.transactions.clear();
        self.header = Header::read(reader, state_root)?;
        let count = reader.count("transactions", MAX_TRANSACTIONS)?;
        for _ in 0..count {
            self.transactions.read(reader)?;
        }
        reader.end()
    }

    /// Bytes of the header, its witness included.
    #[must_use]
    pub fn header_length(&self) -> usize {
        self.header.witness.verification.end as usize
    }

    /// The signed bytes of the header.
    #[must_use]
    pub fn signed_bytes(&self) -> &[u8] {
        self.header.signed.slice(&self.raw)
    }

    /// The witness of the consensus nodes.
    #[must_use]
    pub fn witness(&self) -> Witness<'_> {
        Witness::new(&self.raw, &self.header.witness)
    }

    /// Transaction `index`.
    ///
    /// # Panics
    /// If there are fewer transactions, or the block is parsed but not hashed.
    #[must_use]
    pub fn transaction(&self, index: usize) -> Transaction<'_> {
        self.transactions.get(&self.raw, index)
    }

    /// The transactions in order.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = Transaction<'_>> {
        (0..self.transactions.len()).map(|index| self.transaction(index))
    }
}

blockmill_pipeline::named_option! {
    /// How transactions, headers, merkle trees and state tries are hashed.
    pub enum Hashes: "hashes" {
        /// One message at a time.
        Single = "single",
        /// Several messages at a time in the lanes of vector registers.
        Lanes = "lanes",
    }
}

impl Hashes {
    /// The hash function.
    #[must_use]
    pub fn hasher(self) -> ManySha256 {
        match self {
            Self::Single => ManySha256::scalar(),
            Self::Lanes => ManySha256::detect(),
        }
    }
}

/// Hashes the headers, transactions and scripts of several blocks together: a single block would
/// leave most lanes empty.
pub fn hash_blocks(blocks: &mut [Block], hasher: &ManySha256) {
    let mut messages: Vec<&[u8]> = blocks.iter().map(Block::signed_bytes).collect();
    messages.extend(blocks.iter().flat_map(|block| block.transactions.signed(&block.raw)));
    messages.extend(blocks.iter().flat_map(|block| block.transactions.scripts(&block.raw)));
    let mut digests = vec![[0; 32]; messages.len()];
    hasher.sha256(&messages, &mut digests);
    let (headers, transactions) = digests.split_at(blocks.len());
    let (mut transactions, mut scripts) = transactions.split_at(transactions.len() / 2);
    for (block, hash) in blocks.iter_mut().zip(headers) {
        block.hash = UInt256(*hash);
        let (own, others) = transactions.split_at(block.transactions.len());
        block.transactions.set_hashes(own);
        transactions = others;
        let (own, others) = scripts.split_at(block.transactions.len());
        block.transactions.set_script_hashes(own);
        scripts = others;
    }
}
