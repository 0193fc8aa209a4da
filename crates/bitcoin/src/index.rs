//! The block index: from headers found in any order to a tree and its best chain.
//!
//! [`Tree::build`] takes what a scan found and does all of pass 1 that is not reading: which block
//! follows which, what the rules say of each header, and which chain has the most work. Nothing
//! here reads a body. [`save`] and [`load`] keep the found headers for the next run.

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
    Corruption, DAMAGED_LENGTH, FileError, FileStamp, Kept, Loaded, Saved, load, save, take_over,
};
pub use lengths::WrongLength;
pub use summary::{Branch, Gap, Summary};
pub use tree::{Anchor, GENESIS, NO_RECORD, Refused, Tree, Why};

use crate::BlockHash;
use crate::header::{HEADER_BYTES, Header};
use blockmill_archive::blkdat::BlockLocation;

/// A block that a scan found: where it is, and its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file, as an index of the list of files.
    pub file: u32,
    /// Where in the file the block's first byte is, behind the frame's magic and length.
    pub offset: u64,
    /// Bytes of the block, as its frame says.
    pub size: u32,
    /// The header's bytes.
    pub header: [u8; HEADER_BYTES],
    /// Its SHA-256d.
    pub hash: BlockHash,
}

impl Found {
    /// Where to read it.
    pub fn location(&self) -> BlockLocation {
        BlockLocation { file: self.file, offset: self.offset, size: self.size }
    }

    /// The header.
    pub fn header(&self) -> Header<'_> {
        Header(&self.header)
    }
}
