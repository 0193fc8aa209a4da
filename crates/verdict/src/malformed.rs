//! Bytes that do not encode what they should: the error of decoders, and the reads that give it.

use std::error::Error;
use std::fmt::{self, Formatter};

/// Why bytes do not encode an entry of a database, a coin or undo data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end too early.
    Truncated {
        /// The item that was read.
        what: &'static str,
        /// Its size in bytes.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// A number is too large.
    TooLarge {
        /// The number.
        what: &'static str,
        /// The largest valid number.
        limit: u64,
        /// The number found, or `u64::MAX` for a larger one.
        found: u64,
    },
    /// There are too many or too few items.
    Count {
        /// The counted items.
        what: &'static str,
        /// The expected number.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A number, a flag or a constant has a wrong value.
    Unexpected {
        /// Its name.
        what: &'static str,
        /// The expected value.
        expected: u64,
        /// The value found.
        found: u64,
    },
    /// Bytes are left over.
    Trailing {
        /// The item before them.
        what: &'static str,
        /// Their number.
        bytes: u64,
    },
    /// A compressed public key is none: its x coordinate is not on the curve.
    NotOnCurve,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { what, needed, available } => {
                write!(f, "{what}: expected {needed} bytes, found {available}")
            }
            Self::TooLarge { what, limit, found: u64::MAX } => {
                write!(f, "{what}: expected at most {limit}, found more")
            }
            Self::TooLarge { what, limit, found } => {
                write!(f, "{what}: expected at most {limit}, found {found}")
            }
            Self::Count { what, expected, found } => {
                write!(f, "expected {expected} {what}, found {found}")
            }
            Self::Unexpected { what, expected, found } => {
                write!(f, "{what}: expected {expected:#x}, found {found:#x}")
            }
            Self::Trailing { what, bytes } => {
                write!(f, "expected the end of {what}, found {bytes} more bytes")
            }
            Self::NotOnCurve => f.write_str("invalid public key: x is not on the curve"),
        }
    }
}

impl Error for Malformed {}

/// Splits `N` bytes off the front of `from`.
///
/// # Errors
/// [`Malformed::Truncated`] if there are fewer.
#[inline]
pub fn split_array<'a, const N: usize>(
    from: &mut &'a [u8],
    what: &'static str,
) -> Result<&'a [u8; N], Malformed> {
    let found = Malformed::Truncated { what, needed: N as u64, available: from.len() as u64 };
    let (head, rest) = from.split_first_chunk().ok_or(found)?;
    *from = rest;
    Ok(head)
}

/// Splits a given number of bytes off the front of `from`.
///
/// # Errors
/// [`Malformed::Truncated`] if there are fewer.
#[inline]
pub fn split_bytes<'a>(
    from: &mut &'a [u8],
    needed: u64,
    what: &'static str,
) -> Result<&'a [u8], Malformed> {
    let found = Malformed::Truncated { what, needed, available: from.len() as u64 };
    let needed = usize::try_from(needed).map_err(|_| found)?;
    let (head, rest) = from.split_at_checked(needed).ok_or(found)?;
    *from = rest;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_past_the_end_takes_nothing() {
        let mut from = &[1, 2, 3][..];
        assert_eq!(split_array(&mut from, "a"), Ok(&[1, 2]));
        let error = split_array::<2>(&mut from, "a pair").unwrap_err();
        assert_eq!(error.to_string(), "a pair: expected 2 bytes, found 1");
        let error = split_bytes(&mut from, u64::MAX, "all").unwrap_err();
        assert!(matches!(error, Malformed::Truncated { needed: u64::MAX, available: 1, .. }));
        assert_eq!((split_bytes(&mut from, 1, "one"), from.len()), (Ok(&[3][..]), 0));
    }

    #[test]
    fn a_number_that_is_too_large_is_shown_as_far_as_it_is_known() {
        let text = |found| Malformed::TooLarge { what: "height", limit: 7, found }.to_string();
        assert_eq!(text(8), "height: expected at most 7, found 8");
        assert_eq!(text(u64::MAX), "height: expected at most 7, found more");
    }
}
