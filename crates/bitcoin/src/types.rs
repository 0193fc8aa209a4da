//! A parsed block: the positions of its transactions, inputs, outputs and witnesses.
//!
//! Parsing copies nothing. The lists are reused for the next block. Blocks that are refused here
//! are those that Bitcoin Core cannot read either: see [`Error`].

mod amount;
mod coin;
mod hash;
mod ids;
mod parse;
mod witness;

pub use amount::Amount;
pub use coin::{Coin, OutPoint};
pub use hash::{BlockHash, Hash, Txid};
pub use ids::hash_blocks;
pub use witness::Witness;

use blockmill_hashes::ManySha256;
use blockmill_verdict::Span;
use std::ops::Range;
use std::slice;

/// Maximum size of a block in bytes, which its weight implies (BIP141).
pub const MAX_BLOCK_BYTES: usize = 4_000_000;

/// A transaction: the positions of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The whole transaction, with witnesses.
    pub span: Span,
    /// Its inputs among the block's inputs.
    pub inputs: Range<u32>,
    /// Its outputs among the block's outputs.
    pub outputs: Range<u32>,
    /// All inputs, with the count before them.
    pub inputs_span: Span,
    /// All outputs, with the count before them; follows the inputs directly.
    pub outputs_span: Span,
    /// The version, as a signed number. Rules compare it as unsigned: -1 is more than 2 (BIP68).
    pub version: i32,
    /// The lock time.
    pub lock_time: u32,
    /// Whether it has marker and flag of BIP144. Then at least one input has a witness.
    pub has_witness: bool,
}

impl Transaction {
    /// Its size without marker, flag and witnesses.
    #[must_use]
    pub fn stripped_size(&self) -> usize {
        8 + self.inputs_span.len() + self.outputs_span.len()
    }

    /// Its weight: three times the size without witnesses plus the whole size (BIP141).
    #[must_use]
    pub fn weight(&self) -> usize {
        3 * self.stripped_size() + self.span.len()
    }
}

/// An input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Start of the 36 bytes of the outpoint (txid, index in little endian).
    pub outpoint: u32,
    /// The input script.
    pub script: Span,
    /// The sequence number.
    pub sequence: u32,
    /// The witness: the count of its items, and the items with their lengths. Empty if the
    /// transaction has no marker. Without items, one byte for the count.
    pub witness: Span,
}

/// An output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Satoshis, before the rules are checked.
    pub value: i64,
    /// The output script.
    pub script: Span,
}

/// A parsed block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The block's bytes, header first.
    pub raw: Vec<u8>,
    /// The header's hash.
    pub hash: BlockHash,
    /// Transactions, coinbase first.
    pub transactions: Vec<Transaction>,
    /// The inputs of all transactions, in order.
    pub inputs: Vec<Input>,
    /// The outputs of all transactions, in order.
    pub outputs: Vec<Output>,
    /// The id of each transaction, as in the merkle tree; see [`Block::txid`].
    pub txids: Vec<Hash>,
    /// The witness id of each transaction; zero for the coinbase.
    pub wtxids: Vec<Hash>,
}

impl Block {
    /// Parses and hashes `raw`.
    ///
    /// # Errors
    /// Returns [`Error`] if `raw` is not exactly one block. The lists are empty then.
    pub fn decode(&mut self) -> Result<(), Error> {
        self.decode_with(&ManySha256::detect())
    }

    /// [`Block::decode`] with a given hasher.
    ///
    /// # Errors
    /// Returns the errors of [`Block::decode`].
    pub fn decode_with(&mut self, hasher: &ManySha256) -> Result<(), Error> {
        self.parse()?;
        self.hash_all(hasher);
        Ok(())
    }

    /// Parses `raw` without hashing: `hash` and the ids remain unchanged.
    ///
    /// # Errors
    /// Returns the errors of [`Block::decode`].
    pub fn parse(&mut self) -> Result<(), Error> {
        let result = parse::block(self).and_then(|length| match self.raw.len() - length {
            0 => Ok(()),
            _ => Err(Error::Trailing { expected: length as u32, found: self.raw.len() as u32 }),
        });
        self.or_empty(result)
    }

    /// [`Block::parse_record`], and computes all hashes.
    ///
    /// # Errors
    /// Returns the errors of [`Block::parse_record`].
    pub fn decode_record(&mut self, hasher: &ManySha256) -> Result<u32, Error> {
        let trailing = self.parse_record()?;
        self.hash_all(hasher);
        Ok(trailing)
    }

    /// Parses the block at the beginning of `raw`, as Bitcoin Core reads the record of a block
    /// file. Truncates `raw` to the block, and returns the number of bytes after it.
    ///
    /// # Errors
    /// Returns the errors of [`Block::decode`], except that for bytes after the block.
    pub fn parse_record(&mut self) -> Result<u32, Error> {
        let result = parse::block(self).map(|length| {
            let trailing = self.raw.len() - length;
            self.raw.truncate(length);
            trailing as u32
        });
        self.or_empty(result)
    }

    /// Clears the lists after an error.
    fn or_empty<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            self.transactions.clear();
            self.inputs.clear();
            self.outputs.clear();
            self.txids.clear();
            self.wtxids.clear();
        }
        result
    }

    /// [`hash_blocks`] of this block.
    ///
    /// # Panics
    /// Panics if the bytes have changed since the block was parsed.
    pub fn hash_all(&mut self, hasher: &ManySha256) {
        hash_blocks(slice::from_mut(self), hasher);
    }

    /// The id of transaction `number`.
    #[must_use]
    pub fn txid(&self, number: usize) -> Txid {
        Txid(self.txids[number])
    }

    /// The inputs of `transaction`.
    #[must_use]
    pub fn inputs_of(&self, transaction: &Transaction) -> &[Input] {
        &self.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize]
    }

    /// The outputs of `transaction`.
    #[must_use]
    pub fn outputs_of(&self, transaction: &Transaction) -> &[Output] {
        &self.outputs[transaction.outputs.start as usize..transaction.outputs.end as usize]
    }

    /// The 36 bytes of the outpoint: the id and the index in little endian.
    #[must_use]
    pub fn outpoint_bytes(&self, input: &Input) -> &[u8; 36] {
        const NONE: &[u8; 36] = &[0; 36];
        self.raw[input.outpoint as usize..].first_chunk().unwrap_or(NONE)
    }

    /// The outpoint that `input` spends.
    #[must_use]
    pub fn outpoint(&self, input: &Input) -> OutPoint {
        let bytes = self.outpoint_bytes(input);
        let [.., a, b, c, d] = *bytes;
        let mut txid = [0; 32];
        txid.copy_from_slice(&bytes[..32]);
        OutPoint { txid: Txid(txid), vout: u32::from_le_bytes([a, b, c, d]) }
    }

    /// The items of the input's witness, in order.
    #[must_use]
    pub fn witness(&self, input: &Input) -> Witness<'_> {
        Witness::new(input.witness.slice(&self.raw))
    }

    /// The time that the header states.
    #[must_use]
    pub fn time(&self) -> u32 {
        self.raw[68..72].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The merkle root that the header states.
    #[must_use]
    pub fn stated_merkle_root(&self) -> Hash {
        self.raw[36..68].first_chunk().copied().unwrap_or_default()
    }

    /// The block's bytes without markers, flags and witnesses.
    #[must_use]
    pub fn stripped_size(&self) -> usize {
        let saved = |each: &Transaction| each.span.len() - each.stripped_size();
        self.raw.len() - self.transactions.iter().map(saved).sum::<usize>()
    }

    /// Its weight: three times the size without witnesses plus the whole size (BIP141).
    #[must_use]
    pub fn weight(&self) -> usize {
        3 * self.stripped_size() + self.raw.len()
    }

    /// The sum of the outputs of a transaction. Valid after its values were checked.
    #[must_use]
    pub fn value_out(&self, transaction: &Transaction) -> Amount {
        let values = self.outputs_of(transaction).iter().map(|output| output.value as u64);
        values.map(Amount::from_sat).fold(Amount::ZERO, Amount::saturating_add)
    }
}

/// Why bytes do not encode a block. `at` is the offset of the first wrong byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are more bytes than a block may have.
    #[error("block too long: expected at most {expected} bytes, found {found}")]
    TooLong {
        /// The maximum size of a block.
        expected: usize,
        /// The bytes given.
        found: usize,
    },
    /// The block ends too early.
    #[error("byte {at}: expected {expected} bytes, found {found} before the end")]
    Truncated {
        /// Start of the truncated part.
        at: u32,
        /// Size of that part in bytes.
        expected: u64,
        /// Bytes left.
        found: u32,
    },
    /// A count or length has a shorter encoding.
    #[error(
        "byte {at}: number encoded too long: expected at least {expected} in this form, \
         found {found}"
    )]
    NotCanonical {
        /// Its offset.
        at: u32,
        /// The lowest number with this encoding.
        expected: u64,
        /// The number.
        found: u64,
    },
    /// A count is too high for the remaining bytes.
    #[error("byte {at}: expected a count of at most {expected}, found {found}")]
    Count {
        /// Its offset.
        at: u32,
        /// The maximum count.
        expected: u32,
        /// The count found.
        found: u64,
    },
    /// The flag after the marker is not that of witnesses (BIP144).
    #[error("byte {at}: expected witness flag 1, found {found}")]
    Flag {
        /// Its offset.
        at: u32,
        /// Its value; 1 is expected.
        found: u8,
    },
    /// A transaction with the flag of witnesses that has none.
    #[error("byte {at}: expected witnesses after the flag, found none")]
    SuperfluousWitness {
        /// Where its witnesses begin.
        at: u32,
    },
    /// There are bytes after the last transaction.
    #[error("expected a block of {expected} bytes, found {found}")]
    Trailing {
        /// The block's length.
        expected: u32,
        /// The bytes given.
        found: u32,
    },
}
