//! The tree of headers: the properties of each block, and its position.
//!
//! Each block has a number, higher than that of its parent, so one forward pass over the arrays
//! visits ancestors before descendants. The tree has 128 bytes for each record, and 48 bytes for
//! each linked block.

use super::Found;
use super::best::Choice;
use super::work::work_of;
use crate::BlockHash;
use crate::header::rules::Violation;
use crate::header::{HEADER_BYTES, Header};
use crate::params::Params;

/// The number of the first block in the tree, which exists even if no file has it.
pub const GENESIS: u32 = 0;
/// The record of a first block that no file has.
pub const NO_RECORD: u32 = u32::MAX;

/// A header that breaks a rule, or descends from such a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Index of the record in [`Tree::found`].
    pub record: u32,
    /// The reason.
    pub reason: RefusalReason,
}

/// The reason why a header was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The header, at this height, breaks a rule.
    Rule(u32, Violation),
    /// The parent was refused: its record.
    Ancestor(u32),
}

/// The trusted first block of files that begin in the middle of a chain. All other blocks depend on
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Index of its record in [`Tree::found`].
    pub record: u32,
    /// Its hash.
    pub hash: BlockHash,
    /// Its height, if known.
    pub height: Option<u32>,
}

/// A block of the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Expected number of hashes to mine the chain up to this block. No chain can have 2^128.
    pub work: u128,
    pub parent: u32,
    pub height: u32,
    pub time: u32,
    pub bits: u32,
    /// Median of its time and the times of the ten blocks before.
    pub median_time: u32,
    pub real_bits: u32,
    /// The first block of its difficulty period.
    pub first: u32,
    pub record: u32,
}

impl Block {
    /// The network's first block.
    pub fn genesis(params: &Params) -> Self {
        let mut header = [0; HEADER_BYTES];
        let length = params.genesis.len().min(HEADER_BYTES);
        header[..length].copy_from_slice(&params.genesis[..length]);
        Self::root(Header(&header))
    }

    /// A first block, with this header.
    pub fn root(header: Header<'_>) -> Self {
        Self {
            work: work_of(header.bits()),
            parent: GENESIS,
            height: 0,
            time: header.time(),
            bits: header.bits(),
            median_time: header.time(),
            real_bits: header.bits(),
            first: GENESIS,
            record: NO_RECORD,
        }
    }
}

/// All headers found, and the tree of those linked to the first block.
///
/// Blocks have numbers: [`GENESIS`] is 0, and a block's number is higher than its parent's.
pub struct Tree {
    pub(super) genesis_hash: BlockHash,
    /// Replaces the first block of the network; heights count from there.
    pub(super) anchor: Option<Anchor>,
    pub(super) found: Vec<Found>,
    pub(super) blocks: Vec<Block>,
    /// Block and other record with the same hash, sorted.
    pub(super) copies: Vec<(u32, u32)>,
    pub(super) refused: Vec<Refused>,
    /// Records whose ancestor is missing: the first record after the gap, the record.
    pub(super) orphans: Vec<(u32, u32)>,
    /// Blocks that were marked invalid. `None` if there are none.
    pub(super) choice: Option<Choice>,
    pub(super) repeated: u32,
    pub(super) parents_later: u32,
    pub(super) held_back: u32,
    pub(super) released: u32,
    pub(super) unlinked: u32,
}

impl Tree {
    /// Number of linked blocks, with the first one.
    pub fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The first block, if it is not that of the network.
    pub fn anchor(&self) -> Option<Anchor> {
        self.anchor
    }

    /// The height of the first block: 0, unless the files begin in the middle of the chain at a
    /// known height.
    pub fn base(&self) -> u32 {
        self.anchor.and_then(|anchor| anchor.height).unwrap_or(0)
    }

    /// Always false: the tree has at least the first block.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// All records, in the order of files and offsets.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Returns all records, for another tree.
    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found
    }

    /// Sets the size of the block of a record that is longer than its block.
    pub(crate) fn set_size(&mut self, record: u32, size: u32) {
        if let Some(found) = self.found.get_mut(record as usize) {
            found.size = size;
        }
    }

    /// Index of the block's record in [`found`](Self::found); [`NO_RECORD`] for a first block that
    /// no file has.
    pub(crate) fn record_number(&self, block: u32) -> u32 {
        self.blocks[block as usize].record
    }

    /// Memory of the tree in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let found = self.found.capacity() * size_of::<Found>();
        let blocks = self.blocks.capacity() * size_of::<Block>();
        let pairs = (self.copies.capacity() + self.orphans.capacity()) * size_of::<(u32, u32)>();
        (found + blocks + pairs) as u64
    }

    /// Headers that break a rule, and their descendants, in the order of their refusal.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Number of records (with repetitions) that precede their parents and were linked to them.
    pub fn out_of_order(&self) -> u32 {
        self.released
    }

    /// Number of records (with repetitions) with a missing ancestor.
    pub fn unlinked(&self) -> u32 {
        self.unlinked
    }

    /// The block's height.
    ///
    /// # Panics
    /// This and the following functions panic if there is no block with this number.
    pub fn height(&self, block: u32) -> u32 {
        self.blocks[block as usize].height
    }

    /// The block's parent. The parent of the first block is itself.
    pub fn parent(&self, block: u32) -> u32 {
        self.blocks[block as usize].parent
    }

    /// The block's time.
    pub fn time(&self, block: u32) -> u32 {
        self.blocks[block as usize].time
    }

    /// The median of the times of the block and the ten before. BIP113 compares the lock times of
    /// the *next* block with it.
    pub fn median_time(&self, block: u32) -> u32 {
        self.blocks[block as usize].median_time
    }

    /// Expected number of hashes to mine the chain up to this block.
    pub fn chain_work(&self, block: u32) -> u128 {
        self.blocks[block as usize].work
    }

    /// The block's hash.
    pub fn hash(&self, block: u32) -> &BlockHash {
        self.record(block).map_or(&self.genesis_hash, |found| &found.hash)
    }

    /// The block's record. `None` for a first block that no file has.
    pub fn record(&self, block: u32) -> Option<&Found> {
        self.found.get(self.blocks[block as usize].record as usize)
    }

    /// Later records with the same header, in the order of files: alternatives if the body is
    /// corrupt, see [`use_copy`](Self::use_copy).
    pub fn copies(&self, block: u32) -> impl Iterator<Item = &Found> {
        self.next_copies(block).iter().filter_map(|(_, record)| self.found.get(*record as usize))
    }

    pub(super) fn next_copies(&self, block: u32) -> &[(u32, u32)] {
        let present = (block, self.blocks[block as usize].record);
        let start = self.copies.partition_point(|copy| *copy <= present);
        let end = self.copies.partition_point(|(of, _)| *of <= block);
        self.copies.get(start..end).unwrap_or(&[])
    }

    /// The linked block with this hash. Searches linearly.
    pub fn find(&self, hash: &BlockHash) -> Option<u32> {
        (0..self.len()).find(|block| self.hash(*block) == hash)
    }
}
