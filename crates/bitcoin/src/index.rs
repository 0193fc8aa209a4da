//! The block index: links headers, found in any order, to a tree, and chooses the best chain.
//!
//! [`Tree::build`] does everything of pass 1 except reading: it finds the parent of each block,
//! checks each header by the rules, and chooses the chain with the most work. It reads no bodies.
//! [`save`] and [`load`] keep the headers for the next run.

mod best;
mod file;
mod hash_table;
pub(crate) mod lengths;
mod link;
pub(crate) mod pass1;
pub(crate) mod path;
pub mod scan;
pub(crate) mod shortfalls;
mod summary;
pub(crate) mod suspects;
mod tree;
mod work;

pub(crate) use file::MAGIC as INDEX_MAGIC;
pub use file::{
    CORRUPT_LENGTH, Corruption, FileError, FileStamp, Loaded, Reusable, Saved, load, reuse, save,
};
pub use lengths::WrongLength;
pub use summary::{Branch, Gap, Summary};
pub use tree::{Anchor, GENESIS, NO_RECORD, RefusalReason, Refused, Tree};

use crate::BlockHash;
use crate::header::{HEADER_BYTES, Header};
use crate::run::Tip;
use blockmill_archive::blkdat::BlockLocation;

/// A block that a scan found: its position and its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Index of the file in the list of files.
    pub file: u32,
    /// Offset of the block's first byte in the file, after magic and length of the frame.
    pub offset: u64,
    /// Size of the block in bytes, as its frame states it.
    pub size: u32,
    /// The header.
    pub header: [u8; HEADER_BYTES],
    /// The SHA-256d of the header.
    pub hash: BlockHash,
}

impl Found {
    /// The position for reading the block.
    pub fn location(&self) -> BlockLocation {
        BlockLocation { file: self.file, offset: self.offset, size: self.size }
    }

    /// The header.
    pub fn header(&self) -> Header<'_> {
        Header(&self.header)
    }
}

/// Returns whether the records include the last block of a store. The genesis block needs none.
pub(crate) fn has_tip(found: &[Found], tip: Tip) -> bool {
    tip.height == 0 || found.iter().any(|found| found.hash == tip.hash)
}
