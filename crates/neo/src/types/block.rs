//! Blocks (`block/block.go`).

use super::header::Header;
use super::transaction::{Transaction, Transactions};
use super::witness::Witness;
use super::{Error, Reader, UInt256};
use blockmill_hashes::ManySha256;

/// The longest block that is read, in bytes. The limit of a network's configuration is lower; no
/// length may make memory be taken that the bytes do not fill.
pub const MAX_BLOCK_BYTES: usize = 1 << 28;
/// The most transactions of a block.
pub const MAX_TRANSACTIONS: u64 = 0xffff;

/// A block taken apart: where each transaction, signer, attribute and witness stands in its bytes.
///
/// Nothing is copied out of the block but fields of fixed length. The lists are reused from block
/// to block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The block's bytes, header first.
    pub raw: Vec<u8>,
    /// The header.
    pub header: Header,
    /// SHA-256 of what is signed of the header.
    pub hash: UInt256,
    /// The transactions.
    pub transactions: Transactions,
}

impl Block {
    /// Takes apart and hashes what stands in `raw`. `state_root`: does this chain have state roots
    /// in headers?
    ///
    /// # Errors
    /// When `raw` is no complete block and nothing else. There are no transactions then.
    pub fn decode(&mut self, state_root: bool, hasher: &ManySha256) -> Result<(), Error> {
        self.parse(state_root)?;
        hash_blocks(std::slice::from_mut(self), hasher);
        Ok(())
    }

    /// Takes in the header alone of the block that `bytes` are, and nothing of what follows it.
    ///
    /// # Errors
    /// When it is no header.
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

    /// Takes apart what stands in `raw`; hashes nothing: `hash` stays as it was, and the
    /// transactions cannot be asked for. Lengths, keys and booleans in longer or other forms, which
    /// neo-go reads and never writes, are rewritten in `raw` before.
    ///
    /// # Errors
    /// As [`Block::decode`].
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

    /// Takes in header and transactions of the block that `reader` reads.
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

    /// What is hashed and signed of the header.
    #[must_use]
    pub fn signed_bytes(&self) -> &[u8] {
        self.header.signed.of(&self.raw)
    }

    /// The witness of the consensus nodes.
    #[must_use]
    pub fn witness(&self) -> Witness<'_> {
        Witness::new(&self.raw, &self.header.witness)
    }

    /// Transaction `index`.
    ///
    /// # Panics
    /// When there are not so many, or the block is only parsed.
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

/// Hashes the headers, the transactions and their scripts of all these blocks together: alone, a
/// block without transactions would leave the lanes empty.
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
