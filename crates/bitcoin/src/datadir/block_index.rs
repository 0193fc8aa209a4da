//! Core's block index, the database `blocks/index`: the position of each block and its undo data.
//! `docs/formats/core-datadir.md` specifies the bytes.

use crate::BlockHash;
use crate::coins::compress::{Malformed, read_varint, write_varint};
use crate::header::Header;
use blockmill_verdict::split_array;

/// The version that Core writes into every entry and never reads.
const VERSION: u64 = 259_900;

/// Key of a block: this and its hash.
pub(super) const BLOCK: u8 = b'b';
/// Key of a block file: this and its number, 4 bytes in little endian.
pub(super) const FILE: u8 = b'f';
/// Key of the number of the last block file.
pub(super) const LAST_FILE: u8 = b'l';

/// Core's status of a block: how far it was checked, and which data there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// The block was checked without its ancestors. The genesis block keeps this status.
    pub const VALID_TRANSACTIONS: u32 = 3;
    /// Everything was checked, including scripts.
    pub const VALID_SCRIPTS: u32 = 5;
    /// Mask of the validation level.
    pub const VALID_MASK: u32 = 7;
    /// A block file has the block.
    pub const HAVE_DATA: u32 = 8;
    /// An undo file has its undo data.
    pub const HAVE_UNDO: u32 = 16;
    /// It, or one of its ancestors, broke a rule.
    pub const FAILED: u32 = 32 | 64;
    /// It was checked with its witnesses. Core requires this after the activation of segwit.
    pub const WITNESS: u32 = 128;

    /// Returns whether this flag is set.
    #[must_use]
    pub fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// The entry of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Its height.
    pub height: u32,
    /// Its status.
    pub status: Status,
    /// Number of its transactions; 0 if only the header is known.
    pub transactions: u32,
    /// The number of its block file and undo file; 0 if there is none.
    pub file: u32,
    /// Its offset in the block file, after magic and size; 0 if there is none.
    pub data_at: u32,
    /// Offset of its undo data in the undo file, after magic and size; 0 if there is none.
    pub undo_at: u32,
    /// Its header.
    pub header: [u8; 80],
}

impl BlockEntry {
    /// Appends the value of the entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_varint(out, VERSION);
        write_varint(out, self.height.into());
        write_varint(out, self.status.0.into());
        write_varint(out, self.transactions.into());
        if self.status.has(Status::HAVE_DATA | Status::HAVE_UNDO) {
            write_varint(out, self.file.into());
        }
        if self.status.has(Status::HAVE_DATA) {
            write_varint(out, self.data_at.into());
        }
        if self.status.has(Status::HAVE_UNDO) {
            write_varint(out, self.undo_at.into());
        }
        out.extend_from_slice(&self.header);
    }

    /// Reads the value of an entry.
    pub fn read(mut value: &[u8]) -> Result<Self, Malformed> {
        let from = &mut value;
        let mut number = |what| read_varint(from, what, u32::MAX.into()).map(|n| n as u32);
        number("the version of a block's entry")?;
        let height = number("a height")?;
        let status = Status(number("a block's status")?);
        let transactions = number("a number of transactions")?;
        let mut if_has = |flag, what| if status.has(flag) { number(what) } else { Ok(0) };
        let file = if_has(Status::HAVE_DATA | Status::HAVE_UNDO, "the number of a file")?;
        let data_at = if_has(Status::HAVE_DATA, "the place of a block")?;
        let undo_at = if_has(Status::HAVE_UNDO, "the place of undo data")?;
        let header = *split_array(from, "a header")?;
        match value.len() as u64 {
            0 => Ok(BlockEntry { height, status, transactions, file, data_at, undo_at, header }),
            bytes => Err(Malformed::Trailing { what: "a block's entry", bytes }),
        }
    }

    /// The hash of the block: SHA-256d of its header.
    #[must_use]
    pub fn hash(&self) -> BlockHash {
        Header(&self.header).hash()
    }

    /// The hash of the parent.
    #[must_use]
    pub fn parent(&self) -> BlockHash {
        Header(&self.header).previous()
    }
}

/// The entry of a block file and its undo file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileEntry {
    /// Number of blocks.
    pub blocks: u32,
    /// Used bytes of the block file.
    pub data_bytes: u32,
    /// Used bytes of the undo file.
    pub undo_bytes: u32,
    /// Lowest and highest height of a block.
    pub heights: (u32, u32),
    /// Earliest and latest time of a block.
    pub times: (u32, u32),
}

impl FileEntry {
    /// Adds a block.
    pub(super) fn add(&mut self, height: u32, time: u32) {
        let ((low, high), (early, late)) = match self.blocks {
            0 => ((height, height), (time, time)),
            _ => (self.heights, self.times),
        };
        self.heights = (low.min(height), high.max(height));
        self.times = (early.min(time), late.max(time));
        self.blocks += 1;
    }

    /// Appends the value of the entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        let FileEntry { blocks, data_bytes, undo_bytes, heights, times } = *self;
        for number in [blocks, data_bytes, undo_bytes, heights.0, heights.1, times.0, times.1] {
            write_varint(out, number.into());
        }
    }

    /// Reads the value of an entry.
    pub fn read(mut value: &[u8]) -> Result<Self, Malformed> {
        let mut numbers = [0; 7];
        for number in &mut numbers {
            let what = "a number of a file's entry";
            *number = read_varint(&mut value, what, u32::MAX.into())? as u32;
        }
        let [blocks, data_bytes, undo_bytes, low, high, early, late] = numbers;
        let (heights, times) = ((low, high), (early, late));
        match value.len() as u64 {
            0 => Ok(FileEntry { blocks, data_bytes, undo_bytes, heights, times }),
            bytes => Err(Malformed::Trailing { what: "a file's entry", bytes }),
        }
    }
}
