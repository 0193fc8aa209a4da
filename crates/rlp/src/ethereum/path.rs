//! Parts of trie keys in hex-prefix form (Yellow Paper, appendix C): nibbles in pairs, after a
//! first nibble with two flags: whether a value follows, and whether the number of nibbles is odd.

use crate::{Decode, Encode, Error, ErrorKind, Reader, Write};
use core::ops::Range;

/// Flag of a path that ends at a value.
const LEAF: u8 = 0x20;
/// Flag of a path with an odd number of nibbles. The first of them shares its byte.
const ODD: u8 = 0x10;
/// Half-bytes of the longest key, a hash.
const LONGEST: usize = 64;

/// The half-bytes between two nodes of a trie, encoded.
///
/// ```
/// use blockmill_rlp::ethereum::Path;
///
/// // a leaf's path of three half-bytes: the flag 3, then 1, 2 and 3
/// let path = Path::new(&[0x31, 0x23]).unwrap();
/// assert!(path.is_leaf());
/// assert_eq!(path.nibbles().collect::<Vec<_>>(), [1, 2, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<'a>(&'a [u8]);

impl<'a> Path<'a> {
    /// Checks the first byte of an encoded path: its flags, and that zeros fill it when the number
    /// of half-bytes is even.
    pub fn new(encoded: &'a [u8]) -> Result<Self, ErrorKind> {
        match encoded.first() {
            None => Err(ErrorKind::Truncated { needed: 1, available: 0 }),
            Some(0x00 | 0x10..0x20 | 0x20 | 0x30..0x40) => Ok(Self(encoded)),
            Some(&found) => Err(ErrorKind::BadPath { found }),
        }
    }

    /// The encoding without an RLP prefix.
    #[must_use]
    pub fn encoded(&self) -> &'a [u8] {
        self.0
    }

    fn first(&self) -> u8 {
        self.0.first().copied().unwrap_or_default()
    }

    /// True when the path ends at a value, false when it ends at a node.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.first() & LEAF != 0
    }

    /// Number of nibbles.
    #[must_use]
    pub fn len(&self) -> usize {
        2 * (self.0.len() - 1) + usize::from(self.first() & ODD != 0)
    }

    /// True without half-bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The half-bytes, one after the other.
    pub fn nibbles(&self) -> impl Iterator<Item = u8> + use<'a> {
        let halves = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
        // after the flags, and after the zeros that make the number of nibbles even
        halves.skip(if self.first() & ODD != 0 { 1 } else { 2 })
    }
}

impl<'a> Decode<'a> for Path<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let offset = reader.offset();
        Self::new(reader.bytes()?).map_err(|kind| Error { offset, kind })
    }
}

impl Encode for Path<'_> {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        out.bytes(self.0);
    }
}

/// Room for one path of at most 64 half-bytes.
///
/// ```
/// use blockmill_rlp::ethereum::PathBuffer;
///
/// // the end of a key from its second half-byte on
/// let buffer = PathBuffer::new(&[0x12, 0x34], 1..4, true);
/// assert_eq!(buffer.path().nibbles().collect::<Vec<_>>(), [2, 3, 4]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PathBuffer {
    bytes: [u8; 1 + LONGEST / 2],
    len: usize,
}

impl PathBuffer {
    /// The path of these nibbles of `key`; even positions are the high nibbles. It ends at a value
    /// if `is_leaf`.
    ///
    /// # Panics
    ///
    /// Panics if there are more than 64 nibbles, or if they are outside the key.
    #[must_use]
    pub fn new(key: &[u8], nibbles: Range<usize>, is_leaf: bool) -> Self {
        let odd = nibbles.len() % 2;
        let len = 1 + nibbles.len() / 2;
        let mut bytes = [0; 1 + LONGEST / 2];
        bytes[0] = if is_leaf { LEAF } else { 0 };
        if odd == 1 {
            let half = key[nibbles.start / 2] >> (4 * (1 - nibbles.start % 2));
            bytes[0] |= ODD | (half & 0x0f);
        }
        let start = nibbles.start + odd;
        let pairs = &key[start / 2..nibbles.end.div_ceil(2)];
        if nibbles.end.is_multiple_of(2) {
            bytes[1..len].copy_from_slice(pairs);
        } else {
            let shifted = pairs.windows(2).map(|pair| pair[0] << 4 | pair[1] >> 4);
            bytes[1..len].iter_mut().zip(shifted).for_each(|(byte, pair)| *byte = pair);
        }
        Self { bytes, len }
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> Path<'_> {
        Path(&self.bytes[..self.len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn hex_prefix_marks_leaves_and_odd_lengths() {
        let key = [0x12, 0x34, 0x56];
        let cases: [(_, _, &[u8]); 9] = [
            (0..0, false, &[0x00]),
            (6..6, true, &[0x20]),
            (1..2, false, &[0x12]),
            (5..6, true, &[0x36]),
            (0..6, true, &[0x20, 0x12, 0x34, 0x56]),
            (1..6, true, &[0x32, 0x34, 0x56]),
            (1..5, false, &[0x00, 0x23, 0x45]),
            (0..5, false, &[0x11, 0x23, 0x45]),
            (3..3, false, &[0x00]),
        ];
        for (range, is_leaf, expected) in cases {
            let buffer = PathBuffer::new(&key, range.clone(), is_leaf);
            assert_eq!(buffer.path().encoded(), expected, "{range:?}");
            let path = Path::new(expected).unwrap();
            assert_eq!((path, path.is_leaf()), (buffer.path(), is_leaf));
            let nibbles: Vec<u8> = path.nibbles().collect();
            assert_eq!(nibbles, [1, 2, 3, 4, 5, 6][range]);
            assert_eq!((path.len(), path.is_empty()), (nibbles.len(), nibbles.is_empty()));
        }
    }

    #[test]
    fn first_byte_is_flags_and_zeros_or_a_half_byte() {
        for first in 0..=0xff {
            let is_good = matches!(first >> 4, 1 | 3) || matches!(first, 0x00 | 0x20);
            let bad = (!is_good).then_some(ErrorKind::BadPath { found: first });
            assert_eq!(Path::new(&[first, 0x12]).err(), bad);
        }
        let empty = ErrorKind::Truncated { needed: 1, available: 0 };
        assert_eq!(Path::new(&[]), Err(empty));
    }
}
