//! Addresses: accounts in base58 with a version and a checksum.

use super::hash::{TextError, UInt160};
use blockmill_hashes::sha256d;
use std::fmt;
use std::str::FromStr;

/// The version of N3 addresses (`address.NEO3Prefix` of neo-go): they begin with an N.
const VERSION: u8 = 0x35;
/// Version, script hash, four bytes of SHA-256d of both.
const BYTES: usize = 25;
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// A script hash whose `Display` form is an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub UInt160);

impl Address {
    fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [VERSION; BYTES];
        bytes[1..21].copy_from_slice(&self.0.0);
        let sum = sha256d(&bytes[..21]);
        bytes[21..].copy_from_slice(&sum[..4]);
        bytes
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the version is not zero, so there are no leading zeros; 25 bytes have at most 35 digits
        let mut number = self.bytes();
        let mut digits = [0; 35];
        let mut first = digits.len();
        while number.iter().any(|byte| *byte != 0) {
            let mut rest = 0;
            for byte in &mut number {
                let value = rest << 8 | u32::from(*byte);
                (*byte, rest) = ((value / 58) as u8, value % 58);
            }
            first -= 1;
            digits[first] = ALPHABET[rest as usize];
        }
        digits[first..].iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
    }
}

impl FromStr for Address {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let error = || TextError {
            expected: "an address that begins with N",
            found: text.chars().take(80).collect(),
        };
        let mut number = [0; BYTES];
        for digit in text.bytes().take(36) {
            let value = ALPHABET.iter().position(|known| *known == digit).ok_or_else(error)?;
            let mut carry = value as u32;
            for byte in number.iter_mut().rev() {
                let sum = u32::from(*byte) * 58 + carry;
                (*byte, carry) = (sum as u8, sum >> 8);
            }
            if carry != 0 {
                return Err(error());
            }
        }
        let account = UInt160::from_slice(&number[1..21]).ok_or_else(error)?;
        if text.len() > 35 || Self(account).bytes() != number {
            return Err(error());
        }
        Ok(Self(account))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_documentation_is_shown_and_read_back() {
        // docs.neo.org, "Wallets": script hash and address of the same account
        let hash: UInt160 = "0xed7cc6f5f2dd842d384f254bc0c2d58fb69a4761".parse().unwrap();
        let address = hash.address().to_string();
        assert_eq!(address, "NUnLWXALK2G6gYa7RadPLRiQYunZHnncxg");
        assert_eq!(address.parse(), Ok(Address(hash)));
    }

    #[test]
    fn a_changed_address_is_refused() {
        let address = UInt160([7; 20]).address().to_string();
        assert_eq!(address.parse(), Ok(Address(UInt160([7; 20]))));
        for place in 0..address.len() {
            let mut changed = address.clone().into_bytes();
            changed[place] = if changed[place] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed.parse::<Address>().is_err(), "{changed}");
        }
        for bad in ["", "N", "0OIl", &"z".repeat(35), &"z".repeat(1000)] {
            assert!(bad.parse::<Address>().is_err());
        }
    }
}
