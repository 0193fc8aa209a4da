//! Hash types.
//!
//! Both hold their bytes in the order of the encoding (big-endian in neo-go). Their `Display` form
//! is Neo's: `0x` and the bytes reversed.

use super::address::Address;
use blockmill_hashes::sha256;
use blockmill_verdict::Reversed;
use ripemd::{Digest, Ripemd160};
use std::fmt;
use std::str::FromStr;

/// An invalid hash or address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct TextError {
    /// The expected form.
    pub expected: &'static str,
    /// The text.
    pub found: String,
}

macro_rules! hash {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $form:literal) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl $name {
            /// Its length in bytes.
            pub const BYTES: usize = $bytes;
            /// All bytes zero.
            pub const ZERO: Self = Self([0; $bytes]);

            /// Its bytes in the order of the encoding.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }

            /// From bytes in the order of the encoding; `None` if the length differs.
            #[must_use]
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "0x{}", Reversed(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        /// Reads what `Display` writes, with or without `0x`.
        impl FromStr for $name {
            type Err = TextError;

            fn from_str(text: &str) -> Result<Self, TextError> {
                let found = || text.chars().take(80).collect();
                let error = || TextError { expected: $form, found: found() };
                let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
                let (pairs, []) = digits.as_chunks::<2>() else { return Err(error()) };
                if pairs.len() != $bytes {
                    return Err(error());
                }
                let mut bytes = [0; $bytes];
                for (byte, [high, low]) in bytes.iter_mut().rev().zip(pairs) {
                    let digit = |digit: u8| char::from(digit).to_digit(16).ok_or_else(error);
                    *byte = (digit(*high)? << 4 | digit(*low)?) as u8;
                }
                Ok(Self(bytes))
            }
        }
    };
}

hash! {
    /// The hash of a script or of a contract: RIPEMD-160 of SHA-256. Also names accounts.
    UInt160, 20, "40 hexadecimal digits"
}
hash! {
    /// The hash of a block or a transaction (SHA-256 of what is signed), a merkle or state root.
    UInt256, 32, "64 hexadecimal digits"
}

impl UInt160 {
    /// The hash of a script (`hash.Hash160` of neo-go).
    #[must_use]
    pub fn of_script(script: &[u8]) -> Self {
        Self::of_digest(&sha256(script))
    }

    /// The hash of a script, from the script's SHA-256.
    #[must_use]
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        Self(Ripemd160::digest(digest).into())
    }

    /// The account as an address.
    #[must_use]
    pub fn address(self) -> Address {
        Address(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_shown_reversed_and_read_back() {
        let mut hash = UInt160::ZERO;
        hash.0[0] = 0xab;
        let text = "0x00000000000000000000000000000000000000ab";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        assert_eq!(text[2..].to_uppercase().parse(), Ok(hash));
        for bad in ["", "0x", &text[..40], "0x00000000000000000000000000000000000000a+"] {
            assert!(bad.parse::<UInt160>().is_err(), "{bad}");
        }
        assert!(text.parse::<UInt256>().is_err());
    }
}
