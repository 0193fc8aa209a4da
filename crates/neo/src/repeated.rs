//! Blocks of heights that came before, in an earlier dump or in the store: each must be the block
//! that came before.
//!
//! It is if its header has the same hash and its transactions have the merkle root of that header.
//! Witnesses are not hashed, nodes may keep different signatures of one block, and nothing of the
//! repeated block is used: so they are not verified again.

use crate::body::merkle;
use crate::error::{Rule, Violation};
use crate::fault::{Cause, Error, Fault};
use crate::types::{self, Block, UInt256};
use blockmill_archive::acc::{self, Dumps};
use blockmill_hashes::ManySha256;

/// The hashes of blocks that come again in a later dump: 32 bytes of memory each.
#[derive(Debug, Default)]
pub struct Repeated {
    /// First and last height that comes again, as the dumps state them.
    range: Option<(u32, u32)>,
    /// Height of the first of `hashes`.
    first: u32,
    hashes: Vec<UInt256>,
}

impl Repeated {
    /// Of dumps from height `next` on.
    #[must_use]
    pub fn new(dumps: &Dumps, next: u32) -> Self {
        let range = dumps.repeated().map(|(first, last)| (first.max(next), last));
        Self { range, first: next, hashes: vec![] }
    }

    /// Remembers a block if its height comes again. Blocks come in order.
    pub fn add(&mut self, height: u32, hash: UInt256) {
        let Some((first, last)) = self.range else { return };
        if (first..=last).contains(&height) {
            self.first = if self.hashes.is_empty() { height } else { self.first };
            self.hashes.push(hash);
        }
    }

    /// Does this height come again?
    #[must_use]
    pub fn contains(&self, height: u32) -> bool {
        self.range.is_some_and(|(first, last)| (first..=last).contains(&height))
    }

    /// The hash of the block of this height; none where it was not remembered.
    #[must_use]
    pub fn hash_of(&self, height: u32) -> Option<UInt256> {
        let at = height.checked_sub(self.first)?;
        self.hashes.get(at as usize).copied()
    }
}

/// What is wrong with a block of a height whose block has the hash `expected`.
pub(crate) fn difference(block: &Block, expected: UInt256) -> Option<Violation> {
    let found = block.hash;
    (found != expected).then(|| Violation::new(Rule::KnownBlock, expected, found))
}

/// Are the transactions those that the header names? The merkle root is also that of a block whose
/// last transactions are there twice.
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

/// Holds the blocks of dumps that are copied and not verified to each other. No network is needed:
/// whether headers have a state root is found by taking a block apart.
#[derive(Debug, Default)]
pub struct Compared {
    repeated: Repeated,
    block: Block,
}

impl Compared {
    /// Of dumps from height `first` on.
    #[must_use]
    pub fn new(dumps: &Dumps, first: u32) -> Self {
        Self { repeated: Repeated::new(dumps, first), block: Block::default() }
    }

    /// Takes in a batch of the dumps. Blocks whose height does not come again are not looked into.
    ///
    /// # Errors
    /// The first block that is not the one that came before, or that is no block.
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

    /// Takes a block apart that may have a state root in its header: only one of the two layouts
    /// ends where the bytes do.
    fn decode(&mut self, bytes: &[u8], hasher: &ManySha256) -> Result<(), types::Error> {
        self.block.raw.clear();
        self.block.raw.extend_from_slice(bytes);
        self.block.decode(false, hasher).or_else(|_| self.block.decode(true, hasher))
    }
}
