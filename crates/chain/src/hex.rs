//! Hashes, addresses and keys as messages and JSON show them.

use std::fmt;

/// Shows bytes in hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub enum Hex<'a> {
    /// The digits alone.
    Plain(&'a [u8]),
    /// `0x` and the digits.
    Prefixed(&'a [u8]),
    /// The digits of the last byte first, as users know the hashes of Bitcoin.
    Reversed(&'a [u8]),
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |byte: &u8| write!(f, "{byte:02x}");
        match self {
            Self::Plain(bytes) => bytes.iter().try_for_each(digits),
            Self::Prefixed(bytes) => write!(f, "0x{}", Self::Plain(bytes)),
            Self::Reversed(bytes) => bytes.iter().rev().try_for_each(digits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hex;

    #[test]
    fn bytes_are_two_digits_each_in_the_order_that_is_asked_for() {
        let bytes = [0x00, 0x0f, 0xa0];
        assert_eq!(Hex::Plain(&bytes).to_string(), "000fa0");
        assert_eq!(Hex::Prefixed(&bytes).to_string(), "0x000fa0");
        assert_eq!(Hex::Reversed(&bytes).to_string(), "a00f00");
        assert_eq!(Hex::Plain(&[]).to_string(), "");
    }
}
