//! Corrupt parts of a block file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Network;

/// Number of corrupt parts that are listed of one file; a file of noise has one at every block.
const MAX_LISTED: usize = 1000;

/// A corrupt part of a block file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corruption {
    /// Offset of its first byte; of a record that is its magic.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// The kind of corruption.
    pub kind: CorruptionKind,
}

/// A kind of corruption of a block file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CorruptionKind {
    /// Bytes that are no record, with the first four of them (zeros if there are fewer).
    Junk([u8; 4]),
    /// Zeros between records.
    Zeros,
    /// A record whose content is no block of the stated size.
    Broken {
        /// The size in its frame.
        stated: u32,
    },
    /// A record that is cut off by the end of the file.
    Truncated {
        /// The size in its frame; `None` if the file ends in the frame or the header.
        stated: Option<u32>,
    },
    /// A block whose record states another size. The block is used.
    WrongSize {
        /// The size in the frame.
        stated: u32,
        /// The size of the block.
        found: u32,
    },
    /// A line that is no block in hex digits.
    BadLine,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.length;
        match self.kind {
            CorruptionKind::Junk(first) => {
                write!(f, "expected a record, found {length} bytes of something else")?;
                match Network::from_magic(first) {
                    Some(network) => write!(f, ", which begin with the magic of {network}"),
                    None => Ok(()),
                }
            }
            CorruptionKind::Zeros => write!(f, "expected a record, found {length} zeros"),
            CorruptionKind::Broken { stated } => {
                write!(f, "expected a block of {stated} bytes, found {length} bytes that are none")
            }
            CorruptionKind::Truncated { stated: Some(stated) } => {
                let found = length.saturating_sub(super::FRAME);
                write!(f, "expected a block of {stated} bytes, found {found} before the file ends")
            }
            CorruptionKind::Truncated { stated: None } => {
                write!(f, "expected a record, found {length} bytes of one before the file ends")
            }
            CorruptionKind::WrongSize { stated, found } => {
                write!(f, "expected a block of {stated} bytes, found one of {found} bytes")
            }
            CorruptionKind::BadLine => {
                write!(f, "expected a block in hex digits, found {length} bytes of something else")
            }
        }
    }
}

/// The result of reading one block file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Blocks that were found.
    pub records: u64,
    /// Their bytes, without frames.
    pub block_bytes: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Zeros after the last record: space that was allocated in advance.
    pub zero_tail: u64,
    /// The corrupt parts in file order, at most 1,000.
    pub corruption: Vec<Corruption>,
    /// Number of corrupt parts.
    pub corruption_count: u64,
}

impl FileReport {
    /// Records a corrupt part; beyond the limit it is only counted.
    pub(super) fn add(&mut self, offset: u64, length: u64, kind: CorruptionKind) {
        self.corruption_count += 1;
        if self.corruption.len() < MAX_LISTED {
            self.corruption.push(Corruption { offset, length, kind });
        }
    }
}
