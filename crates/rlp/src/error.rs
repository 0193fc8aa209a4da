//! Why bytes are not the expected RLP.

use core::fmt;

/// An error of decoding RLP: the reason, and the offset of the byte.
///
/// ```
/// use blockmill_rlp::{Decode, Error, ErrorKind};
///
/// let error = Vec::<u64>::decode(&[0xc2, 1, 0]).unwrap_err();
/// assert_eq!(error, Error { offset: 2, kind: ErrorKind::LeadingZero });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// Offset of the offending item's first byte from the start of the outermost buffer.
    pub offset: usize,
    /// The reason.
    pub kind: ErrorKind,
}

/// The ways in which RLP can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The prefix announces more bytes than there are.
    Truncated {
        /// Bytes that the item needs after its prefix's first byte.
        needed: u64,
        /// Bytes that are left.
        available: u64,
    },
    /// A length of 55 or less in the long form, or a length with leading zeros.
    NonCanonicalLength,
    /// A single byte below 0x80 written with a prefix.
    NonCanonicalByte,
    /// An integer with leading zero bytes.
    LeadingZero,
    /// A byte string, but a list was expected.
    ExpectedList,
    /// A list, but a byte string was expected.
    ExpectedBytes,
    /// A byte string of fixed size has another size.
    WrongLength {
        /// Bytes that the type has.
        expected: usize,
        /// Bytes that were found.
        found: usize,
    },
    /// An integer does not fit its type.
    TooLarge {
        /// Bytes that the type has.
        max: usize,
        /// Bytes that were found.
        found: usize,
    },
    /// An array with another number of values.
    WrongCount {
        /// Values that the type has.
        expected: usize,
        /// Values that were found.
        found: usize,
    },
    /// A truth value that is neither 0 nor 1.
    NotBool {
        /// The number.
        found: u8,
    },
    /// Text that is not UTF-8.
    NotUtf8,
    /// Bytes follow the last expected item.
    TrailingBytes {
        /// Number of bytes.
        count: usize,
    },
    /// The first byte of a typed object is not one of its types (EIP-2718, EIP-7685).
    UnknownType {
        /// The byte.
        found: u8,
    },
    /// One byte that is no status (EIP-658).
    UnknownStatus {
        /// The byte.
        found: u8,
    },
    /// One byte that is neither a vote for a validator nor one against it.
    UnknownVote {
        /// The byte.
        found: u8,
    },
    /// A path in a trie begins with a wrong byte (Yellow Paper, appendix C).
    BadPath {
        /// The byte.
        found: u8,
    },
    /// A trie node that is embedded in its parent has the length of a hash or more.
    NodeTooLong {
        /// Bytes that it has.
        found: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RLP at byte {}: ", self.offset)?;
        match self.kind {
            ErrorKind::Truncated { needed, available } => {
                write!(f, "expected {needed} bytes, found {available}")
            }
            ErrorKind::NonCanonicalLength => {
                f.write_str("expected a length in its shortest form, found a longer one")
            }
            ErrorKind::NonCanonicalByte => {
                f.write_str("expected a byte below 0x80 without a prefix, found one")
            }
            ErrorKind::LeadingZero => {
                f.write_str("expected an integer without leading zeros, found some")
            }
            ErrorKind::ExpectedList => f.write_str("expected a list, found a byte string"),
            ErrorKind::ExpectedBytes => f.write_str("expected a byte string, found a list"),
            ErrorKind::WrongLength { expected, found } => {
                write!(f, "expected {expected} bytes, found {found}")
            }
            ErrorKind::TooLarge { max, found } => {
                write!(f, "expected an integer of at most {max} bytes, found {found}")
            }
            ErrorKind::WrongCount { expected, found } => {
                write!(f, "expected {expected} values, found {found}")
            }
            ErrorKind::NotBool { found } => write!(f, "expected 0 or 1, found {found}"),
            ErrorKind::NotUtf8 => f.write_str("expected text in UTF-8, found other bytes"),
            ErrorKind::TrailingBytes { count } => {
                write!(f, "expected no more items, found {count} bytes")
            }
            ErrorKind::UnknownType { found } => {
                write!(f, "expected a known type, found {found:#04x}")
            }
            ErrorKind::UnknownStatus { found } => {
                write!(f, "expected a status of 0 or 1, found {found}")
            }
            ErrorKind::UnknownVote { found } => {
                write!(f, "expected a vote for or against a validator, found {found:#04x}")
            }
            ErrorKind::BadPath { found } => {
                write!(f, "expected a path that begins with 00, 1x, 20 or 3x, found {found:02x}")
            }
            ErrorKind::NodeTooLong { found } => {
                write!(f, "expected a hash or a node of at most 31 bytes, found {found}")
            }
        }
    }
}

impl core::error::Error for Error {}
