//! The tree of headers: what is known of each block, and where it is.
//!
//! Blocks have numbers. Each has a higher number than its parent, so one pass forward over the
//! arrays reaches descendants after ancestors. For each record there are 128 bytes of what was
//! found, and for each linked block 48 bytes.

use super::Found;
use super::best::Choice;
use super::work::work_of;
use crate::BlockHash;
use crate::header::rules::Violation;
use crate::header::{HEADER_BYTES, Header};
use crate::params::Params;

/// The first block's number in the tree. It is there even when no file has it.
pub const GENESIS: u32 = 0;
/// Stands for the record of a first block that no file has.
pub const NO_RECORD: u32 = u32::MAX;

/// A header that breaks a rule, or follows one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The record, as an index of [`Tree::found`].
    pub record: u32,
    /// Why.
    pub why: Why,
}

/// Why a header was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It would stand at this height, and breaks a rule.
    Rule(u32, Violation),
    /// The block before it was refused: its record.
    Ancestor(u32),
}

/// The first block of files that begin in the middle of a chain. It is believed; the others rest on
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Its record, as an index of [`Tree::found`].
    pub record: u32,
    /// Its hash.
    pub hash: BlockHash,
    /// Its height, where it is known.
    pub height: Option<u32>,
}

/// A block of the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Hashes that it took on average to make the chain up to here. No chain can have 2^128.
    pub work: u128,
    pub parent: u32,
    pub height: u32,
    pub time: u32,
    pub bits: u32,
    /// Of its own time and those of the ten blocks before.
    pub median_time: u32,
    pub real_bits: u32,
    /// The block that begins its period.
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

    /// A block on which all others rest.
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

/// All headers that were found, and the tree of those that are linked to the first block.
///
/// Blocks have numbers: [`GENESIS`] is 0, and a block's number is higher than its parent's.
pub struct Tree {
    pub(super) genesis_hash: BlockHash,
    /// What stands in the first block's place; heights count from there.
    pub(super) anchor: Option<Anchor>,
    pub(super) found: Vec<Found>,
    pub(super) blocks: Vec<Block>,
    /// Block and other record with the same hash, sorted.
    pub(super) copies: Vec<(u32, u32)>,
    pub(super) refused: Vec<Refused>,
    /// Records behind a block that no file has: first record of the gap, record.
    pub(super) orphans: Vec<(u32, u32)>,
    /// Which blocks were marked invalid; `None` while there are none.
    pub(super) choice: Option<Choice>,
    pub(super) repeated: u32,
    pub(super) parents_later: u32,
    pub(super) held_back: u32,
    pub(super) released: u32,
    pub(super) unlinked: u32,
}

impl Tree {
    /// How many blocks are linked, the first one included.
    pub fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The first block, where it is not the network's.
    pub fn anchor(&self) -> Option<Anchor> {
        self.anchor
    }

    /// The height of the first block: 0, unless the files begin in the middle of the chain; 0, too,
    /// where it is not known.
    pub fn base(&self) -> u32 {
        self.anchor.and_then(|anchor| anchor.height).unwrap_or(0)
    }

    /// Never: the first block is always there.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// What the scan found, in the order of files and offsets.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// The same, for a tree that is made anew.
    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found
    }

    /// Sets the bytes of the block of a record, where the record has more.
    pub(crate) fn set_size(&mut self, record: u32, size: u32) {
        if let Some(found) = self.found.get_mut(record as usize) {
            found.size = size;
        }
    }

    /// Where in [`found`](Self::found) the block stands; [`NO_RECORD`] for a first block that no
    /// file has.
    pub(crate) fn record_number(&self, block: u32) -> u32 {
        self.blocks[block as usize].record
    }

    /// Bytes of memory that the tree takes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let found = self.found.capacity() * size_of::<Found>();
        let blocks = self.blocks.capacity() * size_of::<Block>();
        let pairs = (self.copies.capacity() + self.orphans.capacity()) * size_of::<(u32, u32)>();
        (found + blocks + pairs) as u64
    }

    /// Headers that break a rule and their descendants, in the order in which that showed.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Records, each as often as it is there, that stood before their parents and followed them.
    pub fn out_of_order(&self) -> u32 {
        self.released
    }

    /// Records, each as often as it is there, behind a block that no file has.
    pub fn unlinked(&self) -> u32 {
        self.unlinked
    }

    /// The block's height. This and what follows panic for numbers that are not in the tree.
    pub fn height(&self, block: u32) -> u32 {
        self.blocks[block as usize].height
    }

    /// The block's parent; that of the first block is itself.
    pub fn parent(&self, block: u32) -> u32 {
        self.blocks[block as usize].parent
    }

    /// The block's time.
    pub fn time(&self, block: u32) -> u32 {
        self.blocks[block as usize].time
    }

    /// The median of the block's time and those of the ten before: what BIP113 compares the lock
    /// times of the *next* block with.
    pub fn median_time(&self, block: u32) -> u32 {
        self.blocks[block as usize].median_time
    }

    /// Hashes that it took on average to make the chain up to this block.
    pub fn chain_work(&self, block: u32) -> u128 {
        self.blocks[block as usize].work
    }

    /// The block's hash.
    pub fn hash(&self, block: u32) -> &BlockHash {
        self.record(block).map_or(&self.genesis_hash, |found| &found.hash)
    }

    /// Where the block is; `None` for a first block that no file has.
    pub fn record(&self, block: u32) -> Option<&Found> {
        self.found.get(self.blocks[block as usize].record as usize)
    }

    /// Other records with the same header that stand after the present one, in the order of files:
    /// to be tried when its body is damaged, see [`use_copy`](Self::use_copy).
    pub fn copies(&self, block: u32) -> impl Iterator<Item = &Found> {
        self.next_copies(block).iter().filter_map(|(_, record)| self.found.get(*record as usize))
    }

    pub(super) fn next_copies(&self, block: u32) -> &[(u32, u32)] {
        let present = (block, self.blocks[block as usize].record);
        let start = self.copies.partition_point(|copy| *copy <= present);
        let end = self.copies.partition_point(|(of, _)| *of <= block);
        self.copies.get(start..end).unwrap_or(&[])
    }

    /// The linked block with this hash. Looks at all of them.
    pub fn find(&self, hash: &BlockHash) -> Option<u32> {
        (0..self.len()).find(|block| self.hash(*block) == hash)
    }
}
