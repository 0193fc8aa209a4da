//! A block taken apart: where each transaction, input, output and witness stands in its bytes.
//!
//! Nothing is copied out of the block. The lists are reused from block to block. What is refused
//! here is what Bitcoin Core cannot read either: see [`Error`].

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

/// The longest block that is read, in bytes: its weight allows no more (BIP141).
pub const MAX_BLOCK_BYTES: usize = 4_000_000;

/// A transaction: where its parts stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The whole transaction, witnesses included.
    pub span: Span,
    /// Its inputs among the block's inputs.
    pub inputs: Range<u32>,
    /// Its outputs among the block's outputs.
    pub outputs: Range<u32>,
    /// All inputs, with the count before them.
    pub inputs_span: Span,
    /// All outputs, with the count before them; follows the inputs directly.
    pub outputs_span: Span,
    /// The version as a signed number of the encoding's four bytes. Rules compare it without a
    /// sign: -1 is more than 2 (BIP68).
    pub version: i32,
    /// The lock time.
    pub lock_time: u32,
    /// Does it have the marker and flag of BIP144? Then at least one input has a witness.
    pub has_witness: bool,
}

impl Transaction {
    /// Its bytes without marker, flag and witnesses.
    #[must_use]
    pub fn stripped_size(&self) -> usize {
        8 + self.inputs_span.len() + self.outputs_span.len()
    }

    /// Three times the size without witnesses and once the whole size (BIP141).
    #[must_use]
    pub fn weight(&self) -> usize {
        3 * self.stripped_size() + self.span.len()
    }
}

/// An input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Where the 36 bytes of the outpoint (txid, index in little endian) begin.
    pub outpoint: u32,
    /// The input script.
    pub script: Span,
    /// The sequence number.
    pub sequence: u32,
    /// The witness: the count of its items and the items with their lengths; empty where the
    /// transaction has no marker. An input without items beside others with some has the one byte
    /// of the count.
    pub witness: Span,
}

/// An output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Satoshis, as they stand there: the rules have yet to be applied.
    pub value: i64,
    /// The output script.
    pub script: Span,
}

/// A block taken apart.
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
    /// The id of each transaction, as its merkle tree takes them; see [`Block::txid`].
    pub txids: Vec<Hash>,
    /// The id with witnesses of each transaction; the coinbase's is zero.
    pub wtxids: Vec<Hash>,
}

impl Block {
    /// Takes apart and hashes what stands in `raw`.
    ///
    /// # Errors
    /// When `raw` is no complete block and nothing else. The lists are empty then.
    pub fn decode(&mut self) -> Result<(), Error> {
        self.decode_with(&ManySha256::detect())
    }

    /// [`Block::decode`] with a given way to hash.
    ///
    /// # Errors
    /// As there.
    pub fn decode_with(&mut self, hasher: &ManySha256) -> Result<(), Error> {
        self.parse()?;
        self.hash_all(hasher);
        Ok(())
    }

    /// Takes apart what stands in `raw`; hashes nothing: `hash` and the ids stay as they were.
    ///
    /// # Errors
    /// As [`Block::decode`].
    pub fn parse(&mut self) -> Result<(), Error> {
        let result = parse::block(self).and_then(|length| match self.raw.len() - length {
            0 => Ok(()),
            _ => Err(Error::Trailing { expected: length as u32, found: self.raw.len() as u32 }),
        });
        self.or_empty(result)
    }

    /// [`Block::parse_record`], with all hashes.
    ///
    /// # Errors
    /// As there.
    pub fn decode_record(&mut self, hasher: &ManySha256) -> Result<u32, Error> {
        let spare = self.parse_record()?;
        self.hash_all(hasher);
        Ok(spare)
    }

    /// Takes apart the block at the beginning of `raw`, as Bitcoin Core reads the record of a block
    /// file. Returns how many bytes stand behind the block; `raw` is the block alone then.
    ///
    /// # Errors
    /// As [`Block::decode`], but for bytes behind the last transaction.
    pub fn parse_record(&mut self) -> Result<u32, Error> {
        let result = parse::block(self).map(|length| {
            let spare = self.raw.len() - length;
            self.raw.truncate(length);
            spare as u32
        });
        self.or_empty(result)
    }

    /// After an error the lists are empty.
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

    /// [`hash_blocks`] for this one.
    ///
    /// # Panics
    /// As there.
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

    /// The outpoint's 36 bytes: the id and the index in little endian, as coins are keyed.
    #[must_use]
    pub fn outpoint_bytes(&self, input: &Input) -> &[u8; 36] {
        const NONE: &[u8; 36] = &[0; 36];
        self.raw[input.outpoint as usize..].first_chunk().unwrap_or(NONE)
    }

    /// What `input` spends.
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
        Witness::new(input.witness.of(&self.raw))
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

    /// Three times the size without witnesses and once the whole size (BIP141).
    #[must_use]
    pub fn weight(&self) -> usize {
        3 * self.stripped_size() + self.raw.len()
    }

    /// What a transaction pays out. Meaningful once its values are checked.
    #[must_use]
    pub fn value_out(&self, transaction: &Transaction) -> Amount {
        let values = self.outputs_of(transaction).iter().map(|output| output.value as u64);
        values.map(Amount::from_sat).fold(Amount::ZERO, Amount::saturating_add)
    }
}

/// Why bytes are no block. `at` is the offset of the first byte that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// More bytes than a block may have.
    #[error("block too long: expected at most {expected} bytes, found {found}")]
    TooLong {
        /// The most that a block has.
        expected: usize,
        /// The bytes given.
        found: usize,
    },
    /// The block ends too early.
    #[error("byte {at}: expected {expected} bytes, found {found} before the end")]
    Truncated {
        /// Where the part begins that is cut.
        at: u32,
        /// Bytes of that part.
        expected: u64,
        /// Bytes left.
        found: u32,
    },
    /// A count or length that has a shorter encoding.
    #[error(
        "byte {at}: number encoded too long: expected at least {expected} in this form, \
         found {found}"
    )]
    NotCanonical {
        /// Where it stands.
        at: u32,
        /// The least that is encoded this way.
        expected: u64,
        /// The number.
        found: u64,
    },
    /// A count of things for which there are not enough bytes left.
    #[error("byte {at}: expected a count of at most {expected}, found {found}")]
    Count {
        /// Where it stands.
        at: u32,
        /// How many there could be.
        expected: u32,
        /// How many there should be.
        found: u64,
    },
    /// A flag behind the marker that is not that of witnesses (BIP144).
    #[error("byte {at}: expected witness flag 1, found {found}")]
    Flag {
        /// Where it stands.
        at: u32,
        /// Its value; 1 is expected.
        found: u8,
    },
    /// A transaction with the flag of witnesses that has none.
    #[error("byte {at}: expected witnesses behind the flag, found none")]
    SuperfluousWitness {
        /// Where its witnesses begin.
        at: u32,
    },
    /// Bytes behind the last transaction.
    #[error("expected a block of {expected} bytes, found {found}")]
    Trailing {
        /// The block's length.
        expected: u32,
        /// The bytes given.
        found: u32,
    },
}
