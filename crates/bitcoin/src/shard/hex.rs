//! Bytes in documents, as hexadecimal digits.

use crate::{BlockHash, Hash};
use blockmill_verdict::Digits;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `N` bytes, in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A text is not the hexadecimal form of the expected number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoHex {
    bytes: usize,
    found: String,
}

impl fmt::Display for NoHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} hexadecimal digits, found {:?}", 2 * self.bytes, self.found)
    }
}

impl std::error::Error for NoHex {}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = NoHex;

    fn try_from(text: String) -> Result<Self, NoHex> {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pair = |pair: &[u8]| match *pair {
            [high, low] => Some((16 * digit(high)? + digit(low)?) as u8),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NoHex { bytes: N, found: text })
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(bytes: Hex<N>) -> Self {
        Digits(&bytes.0).to_string()
    }
}

impl Hex<32> {
    /// A hash in the order in which users write it: last byte first.
    pub(crate) fn of_hash(mut hash: Hash) -> Self {
        hash.reverse();
        Self(hash)
    }

    /// The block hash.
    pub(crate) fn hash(self) -> BlockHash {
        let Self(mut hash) = self;
        hash.reverse();
        BlockHash(hash)
    }
}
