//! Blocks at heights that an earlier dump or the store already has: each must be the same block.
//!
//! Two blocks are the same if their headers have the same hash and the transactions match the
//! merkle root. Witnesses are not compared: hashes do not cover them, nodes may keep different
//! signatures of one block, and the repeated block is not used.

use crate::body::merkle;
use crate::error::Error;
use crate::fault::{Cause, Fault};
use crate::rule::{Rule, Violation};
use crate::types::{self, Block, UInt256};
use blockmill_archive::acc::{self, Dumps};
use blockmill_hashes::ManySha256;

/// Hashes of the blocks that a later dump repeats: 32 bytes of memory each.
#[derive(Debug, Default)]
pub struct Repeated {
    /// First and last repeated height, as the dumps state them.
    range: Option<(u32, u32)>,
    /// Height of the first of `hashes`.
    first: u32,
    hashes: Vec<UInt256>,
}

impl Repeated {
    /// Collects repeated heights from `next` on.
    #[must_use]
    pub fn new(dumps: &Dumps, next: u32) -> Self {
        let range = dumps.repeated().map(|(first, last)| (first.max(next), last));
        Self { range, first: next, hashes: vec![] }
    }

    /// Stores the hash of a block if its height is repeated later. Blocks come in order.
    pub fn add(&mut self, height: u32, hash: UInt256) {
        let Some((first, last)) = self.range else { return };
        if (first..=last).contains(&height) {
            self.first = if self.hashes.is_empty() { height } else { self.first };
            self.hashes.push(hash);
        }
    }

    /// Reports whether a later dump repeats this height.
    #[must_use]
    pub fn contains(&self, height: u32) -> bool {
        self.range.is_some_and(|(first, last)| (first..=last).contains(&height))
    }

    /// The hash of the block at this height; `None` if it was not stored.
    #[must_use]
    pub fn hash_of(&self, height: u32) -> Option<UInt256> {
        let at = height.checked_sub(self.first)?;
        self.hashes.get(at as usize).copied()
    }
}

/// Compares a repeated block with the hash of the block at its height.
pub(crate) fn difference(block: &Block, expected: UInt256) -> Option<Violation> {
    let found = block.hash;
    (found != expected).then(|| Violation::new(Rule::KnownBlock, expected, found))
}

/// Checks the transactions against the merkle root of the header, and that none is repeated: a
/// block with its last transactions duplicated has the same merkle root.
pub(crate) fn verify_body(block: &Block, hasher: &ManySha256) -> Result<(), Violation> {
    let hashes = block.transactions.hashes();
    let (expected, found) = (merkle::root_with(hashes, hasher), block.header.merkle_root);
    if expected != found {
        return Err(Violation::new(Rule::MerkleRoot, expected, found));
    }
    let mut sorted = hashes.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Violation::new(Rule::RepeatedTransaction, "each once", pair[0])),
        None => Ok(()),
    }
}

/// Compares the overlapping blocks of dumps that are copied without verification. It needs no
/// network: whether headers have a state root follows from parsing.
#[derive(Debug, Default)]
pub struct DumpComparison {
    repeated: Repeated,
    block: Block,
}

impl DumpComparison {
    /// Compares the blocks of `dumps` from height `first` on.
    #[must_use]
    pub fn new(dumps: &Dumps, first: u32) -> Self {
        Self { repeated: Repeated::new(dumps, first), block: Block::default() }
    }

    /// Adds a batch of the dumps. Blocks at heights that are not repeated are not parsed.
    ///
    /// # Errors
    /// Returns [`Error::Fault`] for the first block that differs from the earlier one at its height
    /// or cannot be parsed.
    pub fn add(&mut self, batch: &acc::Batch) -> Result<(), Error> {
        let hasher = ManySha256::detect();
        for at in 0..batch.len() {
            let height = batch.first().saturating_add(at as u32);
            if !self.repeated.contains(height) {
                continue;
            }
            let fault = |hash, cause| {
                let location = Some(batch.location(at));
                Error::from(Fault { block: height.into(), hash, location, cause })
            };
            let decoded = self.decode(batch.block(at), &hasher);
            decoded.map_err(|error| fault(None, Cause::Decode(error)))?;
            let block = &self.block;
            if !batch.is_repeated() {
                self.repeated.add(height, block.hash);
                continue;
            }
            let broken = |violation| fault(Some(block.hash), Cause::Rule(violation));
            let expected = self.repeated.hash_of(height).unwrap_or_default();
            if let Some(violation) = difference(block, expected) {
                return Err(broken(violation));
            }
            verify_body(block, &hasher).map_err(broken)?;
        }
        Ok(())
    }

    /// Parses a block whose header may have a state root: only one of the two layouts ends at the
    /// end of the bytes.
    fn decode(&mut self, bytes: &[u8], hasher: &ManySha256) -> Result<(), types::Error> {
        self.block.raw.clear();
        self.block.raw.extend_from_slice(bytes);
        self.block.decode(false, hasher).or_else(|_| self.block.decode(true, hasher))
    }
}
