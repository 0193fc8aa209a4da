//! Integers of up to 32 bytes, two's complement.
//!
//! Nearly all are small: an inline `i64`. Others are shared big integers. An integer that fits 64
//! bits is never stored as a big one, so field equality is equality of values.

use std::rc::Rc;

use num_bigint::BigInt;

use super::{Fault, Item};

/// Length limit of an integer, in bytes.
pub const MAX_BYTES: usize = 32;

/// An integer of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integer {
    /// An integer of 64 bits.
    Small(i64),
    /// A larger integer.
    Big(Rc<BigInt>),
}

impl Integer {
    /// As a big integer.
    #[must_use]
    pub fn to_big(&self) -> BigInt {
        match self {
            Self::Small(small) => BigInt::from(*small),
            Self::Big(big) => BigInt::clone(big),
        }
    }

    /// As 32 bits.
    ///
    /// # Errors
    ///
    /// Returns a fault if the integer does not fit.
    pub fn to_i32(&self) -> Result<i32, Fault> {
        match self {
            Self::Small(small) => i32::try_from(*small).map_err(|_| Fault::NotInt32),
            Self::Big(_) => Err(Fault::NotInt32),
        }
    }

    /// The integer as 64 bits, if it fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Self::Small(small) => Some(*small),
            Self::Big(_) => None,
        }
    }

    /// The low 64 bits, as Go's `Int64` returns them for an integer of any size.
    #[must_use]
    pub fn low_i64(&self) -> i64 {
        match self {
            Self::Small(small) => *small,
            Self::Big(big) => {
                let low = big.magnitude().iter_u64_digits().next().unwrap_or(0).cast_signed();
                if big.sign() == num_bigint::Sign::Minus { low.wrapping_neg() } else { low }
            }
        }
    }

    /// Whether the integer is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::Small(0)
    }

    /// -1, 0 or 1.
    #[must_use]
    pub fn signum(&self) -> i64 {
        match self {
            Self::Small(small) => small.signum(),
            Self::Big(big) if big.sign() == num_bigint::Sign::Minus => -1,
            Self::Big(_) => 1,
        }
    }

    /// The shortest little-endian two's complement; empty for zero.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Small(small) => {
                let (bytes, len) = small_bytes(*small);
                bytes[..len].to_vec()
            }
            Self::Big(big) => big.to_signed_bytes_le(),
        }
    }

    /// Reads little-endian two's complement of at most 32 bytes.
    ///
    /// # Errors
    ///
    /// Returns a fault if there are more bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() > MAX_BYTES {
            return Err(Fault::IntegerTooBig);
        }
        if bytes.len() <= 8 {
            let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
            let mut all = if negative { [0xff; 8] } else { [0; 8] };
            all[..bytes.len()].copy_from_slice(bytes);
            return Ok(Self::Small(i64::from_le_bytes(all)));
        }
        Ok(Self::from(BigInt::from_signed_bytes_le(bytes)))
    }

    /// Checks the 32 bytes.
    ///
    /// # Errors
    ///
    /// Returns a fault if the integer needs more.
    pub fn checked(big: BigInt) -> Result<Self, Fault> {
        // 256 bits of magnitude hold only -2^255
        let bits = big.bits();
        let fits = bits < 256
            || bits == 256
                && big.sign() == num_bigint::Sign::Minus
                && big.magnitude().trailing_zeros() == Some(255);
        if fits { Ok(Self::from(big)) } else { Err(Fault::IntegerTooBig) }
    }
}

/// The little-endian two's complement of 64 bits, and the length of its shortest form.
#[must_use]
pub fn small_bytes(small: i64) -> ([u8; 8], usize) {
    let significant = if small < 0 { !small } else { small };
    let bits = 64 - significant.leading_zeros() as usize;
    let len = if small == 0 { 0 } else { bits / 8 + 1 };
    (small.to_le_bytes(), len)
}

impl From<BigInt> for Integer {
    fn from(big: BigInt) -> Self {
        match i64::try_from(&big) {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Big(Rc::new(big)),
        }
    }
}

impl From<Integer> for Item {
    fn from(integer: Integer) -> Self {
        match integer {
            Integer::Small(small) => Self::Int(small),
            Integer::Big(big) => Self::Big(big),
        }
    }
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Integer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            (Self::Big(a), Self::Big(b)) => a.cmp(b),
            // a big integer is outside the range of small ones
            (Self::Small(_), Self::Big(b)) => 0.cmp(&sign(b)),
            (Self::Big(a), Self::Small(_)) => sign(a).cmp(&0),
        }
    }
}

fn sign(big: &BigInt) -> i32 {
    if big.sign() == num_bigint::Sign::Minus { -1 } else { 1 }
}

impl std::fmt::Display for Integer {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Small(small) => small.fmt(f),
            Self::Big(big) => big.fmt(f),
        }
    }
}
