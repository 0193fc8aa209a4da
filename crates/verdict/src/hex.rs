//! Hashes, addresses and keys as messages and JSON show them: in hexadecimal digits.

use std::fmt;

/// Shows the digits alone.
#[derive(Clone, Copy, Debug)]
pub struct Digits<'a>(pub &'a [u8]);

/// Shows `0x` and the digits.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

/// Shows the digits of the last byte first, as users know the hashes of Bitcoin.
#[derive(Clone, Copy, Debug)]
pub struct Reversed<'a>(pub &'a [u8]);

impl fmt::Display for Digits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", Digits(self.0))
    }
}

impl fmt::Display for Reversed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Digits, Hex, Reversed};

    #[test]
    fn bytes_are_two_digits_each_in_the_order_that_is_asked_for() {
        let bytes = [0x00, 0x0f, 0xa0];
        assert_eq!(Digits(&bytes).to_string(), "000fa0");
        assert_eq!(Hex(&bytes).to_string(), "0x000fa0");
        assert_eq!(Reversed(&bytes).to_string(), "a00f00");
        assert_eq!(Digits(&[]).to_string(), "");
    }
}
