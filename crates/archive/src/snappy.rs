//! Decompresses Snappy blocks with a limit: the announced length is checked against what the bytes
//! can contain.
//!
//! The densest element of the format is a copy of 64 bytes in 3 bytes, so a block of `n` bytes
//! never has more than `64 n / 3`. A block that announces more is rejected before memory is
//! allocated.

use blockmill_verdict::Location;
use std::fmt;

use snap::raw::{Decoder, decompress_len};

use crate::Error;

/// The reason why bytes are not the expected Snappy data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnappyError {
    /// The announced length is more than the bytes can hold, or than an item may have.
    Bomb {
        /// Bytes announced.
        announced: u64,
        /// The most that is accepted.
        limit: u64,
    },
    /// The length prefix or an element of a block is corrupt.
    Block(BlockFault),
    /// A framed stream does not begin with its identifier.
    NoIdentifier,
    /// A framed stream ends inside a chunk.
    Truncated {
        /// Bytes that the chunk needs.
        needed: usize,
        /// Bytes that are left.
        available: usize,
    },
    /// A chunk type that a reader must not skip.
    UnknownChunk {
        /// The type byte.
        kind: u8,
    },
    /// A chunk holds more than 65,536 bytes.
    LongChunk {
        /// Bytes that it holds.
        found: usize,
    },
    /// The checksum of a chunk is wrong.
    Checksum {
        /// The stored value.
        expected: u32,
        /// The value of the bytes.
        found: u32,
    },
}

/// A fault inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockFault {
    /// The block is empty or its length prefix is not a 32-bit varint.
    Length,
    /// An element reads or writes outside the block.
    Element,
}

impl fmt::Display for SnappyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bomb { announced, limit } => {
                write!(f, "Snappy data announces {announced} bytes, at most {limit} are possible")
            }
            Self::Block(BlockFault::Length) => f.write_str("Snappy block has no valid length"),
            Self::Block(BlockFault::Element) => f.write_str("Snappy block is damaged"),
            Self::NoIdentifier => f.write_str("Snappy stream does not begin with its identifier"),
            Self::Truncated { needed, available } => {
                write!(f, "Snappy chunk needs {needed} bytes, {available} are left")
            }
            Self::UnknownChunk { kind } => write!(f, "unknown Snappy chunk type {kind:#04x}"),
            Self::LongChunk { found } => {
                write!(f, "Snappy chunk of {found} bytes, at most 65536 are allowed")
            }
            Self::Checksum { expected, found } => {
                write!(f, "Snappy chunk checksum is {found:#010x}, expected {expected:#010x}")
            }
        }
    }
}

impl SnappyError {
    /// The error of the item `what` at `location`.
    pub fn at(self, location: Location, what: &'static str) -> Error {
        match self {
            Self::Bomb { announced, limit } => Error::TooLarge { location, what, limit, announced },
            Self::Checksum { expected, found } => Error::Crc { location, what, expected, found },
            other => Error::Snappy { location, what, reason: other.to_string() },
        }
    }
}

/// Appends the content of one block to `out`, at most `limit` bytes. Returns how many were
/// appended.
pub(crate) fn unpack_block(
    decoder: &mut Decoder,
    block: &[u8],
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<usize, SnappyError> {
    if block.is_empty() {
        return Err(SnappyError::Block(BlockFault::Length));
    }
    let announced = decompress_len(block).map_err(|_| SnappyError::Block(BlockFault::Length))?;
    let limit = limit.min(block.len().saturating_mul(64) / 3);
    if announced > limit {
        return Err(SnappyError::Bomb { announced: announced as u64, limit: limit as u64 });
    }
    let start = out.len();
    out.resize(start + announced, 0);
    let result = decoder.decompress(block, &mut out[start..]);
    if result != Ok(announced) {
        out.truncate(start);
        return Err(SnappyError::Block(BlockFault::Element));
    }
    Ok(announced)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 64 << 20;

    fn unpack(block: &[u8], limit: usize) -> Result<Vec<u8>, SnappyError> {
        let mut out = vec![];
        unpack_block(&mut Decoder::new(), block, limit, &mut out)?;
        Ok(out)
    }

    #[test]
    fn the_densest_possible_block_is_within_the_bound() {
        let zeros = vec![0; 1 << 20];
        let block = snap::raw::Encoder::new().compress_vec(&zeros).unwrap();
        assert_eq!(unpack(&block, MAX), Ok(zeros));
    }

    #[test]
    fn a_bomb_is_refused_before_allocation() {
        // A varint of 2^32 - 1, then one literal byte.
        let block = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x61];
        let mut out = vec![];
        let error = unpack_block(&mut Decoder::new(), &block, MAX, &mut out).unwrap_err();
        assert_eq!(error, SnappyError::Bomb { announced: 0xffff_ffff, limit: 7 * 64 / 3 });
        assert_eq!(out.capacity(), 0);
    }

    #[test]
    fn an_item_over_the_limit_is_refused() {
        let block = snap::raw::Encoder::new().compress_vec(&[7; 1000]).unwrap();
        assert_eq!(unpack(&block, 999), Err(SnappyError::Bomb { announced: 1000, limit: 999 }));
    }

    #[test]
    fn damaged_blocks_leave_the_output_as_it_was() {
        let mut out = vec![1, 2, 3];
        for block in [&[][..], &[0xff], &[0x05, 0x00, 0x61], &[0x04, 0x0d, 0x01]] {
            assert!(unpack_block(&mut Decoder::new(), block, MAX, &mut out).is_err());
            assert_eq!(out, [1, 2, 3]);
        }
    }
}
