//! The 80 bytes of a block header, and its target and work.

pub mod rules;

use crate::{BlockHash, Hash};
use ruint::aliases::U256;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 80;

/// A view of a header's bytes. All numbers are little-endian.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a>(pub &'a [u8; HEADER_BYTES]);

/// The fields of a header that rules check, besides its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// See [`Header::version`].
    pub version: i32,
    /// See [`Header::time`].
    pub time: u32,
    /// See [`Header::bits`].
    pub bits: u32,
}

impl Header<'_> {
    /// The version. Negative ones exist; the rules compare it as a signed number.
    pub fn version(&self) -> i32 {
        i32::from_le_bytes(self.field(0))
    }

    /// The hash of the parent.
    pub fn previous(&self) -> BlockHash {
        BlockHash(self.field(4))
    }

    /// The root of the tree of transaction ids.
    pub fn merkle_root(&self) -> Hash {
        self.field(36)
    }

    /// The time that the miner states, in seconds since 1970.
    pub fn time(&self) -> u32 {
        u32::from_le_bytes(self.field(68))
    }

    /// The target in its compact form; see [`target`].
    pub fn bits(&self) -> u32 {
        u32::from_le_bytes(self.field(72))
    }

    /// The nonce.
    pub fn nonce(&self) -> u32 {
        u32::from_le_bytes(self.field(76))
    }

    /// The fields that rules check.
    pub fn claims(&self) -> Claims {
        Claims { version: self.version(), time: self.time(), bits: self.bits() }
    }

    /// The block's hash. For many headers at once use `blockmill_hashes::ManySha256::sha256d_80`.
    pub fn hash(&self) -> BlockHash {
        BlockHash(blockmill_hashes::sha256d(self.0))
    }

    #[inline]
    fn field<const N: usize>(&self, start: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.0[start..start + N]);
        field
    }
}

/// The target of `bits`: a mantissa of 23 bits and a sign, and an exponent in bytes. `None` if it
/// is negative, zero or larger than 256 bits: no header may have such bits.
#[inline]
pub fn target(bits: u32) -> Option<U256> {
    let exponent = bits >> 24;
    let mantissa = bits & 0x007f_ffff;
    let negative = bits & 0x0080_0000 != 0;
    if exponent <= 3 {
        let value = mantissa >> (8 * (3 - exponent));
        return (value != 0 && !negative).then(|| U256::from(value));
    }
    let mantissa_bytes = (39 - mantissa.leading_zeros()) / 8;
    let overflows = mantissa_bytes + exponent - 3 > 32;
    if mantissa == 0 || negative || overflows {
        return None;
    }
    Some(U256::from(mantissa) << (8 * (exponent - 3)))
}

/// The compact form of a number: its three highest bytes and its length. Rounds down.
#[inline]
pub fn compact(value: U256) -> u32 {
    let mut exponent = value.bit_len().div_ceil(8);
    let low = |value: U256| value.as_limbs()[0] as u32;
    let mut mantissa = if exponent <= 3 {
        low(value) << (8 * (3 - exponent))
    } else {
        low(value >> (8 * (exponent - 3)))
    };
    // the highest of the 24 bits is the sign
    if mantissa & 0x0080_0000 != 0 {
        mantissa >>= 8;
        exponent += 1;
    }
    (exponent as u32) << 24 | mantissa
}

/// The expected number of hashes to find one that is not above `target`: 2^256 / (target + 1).
pub fn work(target: U256) -> U256 {
    // 2^256 does not fit; (2^256 - 1 - target) / (target + 1) + 1 is the same
    match target.checked_add(U256::ONE) {
        Some(divisor) => (!target / divisor).saturating_add(U256::ONE),
        None => U256::ONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_targets_agree_with_the_known_values_of_core() {
        // bits, target, bits again; facts of Core's arith_uint256_tests, bignum_SetCompact
        let good: [(u32, U256, u32); 6] = [
            (0x0112_3456, U256::from(0x12), 0x0112_0000),
            (0x0212_3456, U256::from(0x1234), 0x0212_3400),
            (0x0312_3456, U256::from(0x12_3456), 0x0312_3456),
            (0x0412_3456, U256::from(0x1234_5600), 0x0412_3456),
            (0x0500_9234, U256::from(0x9234_0000_u64), 0x0500_9234),
            (0x2012_3456, U256::from(0x12_3456) << 232, 0x2012_3456),
        ];
        for (bits, wanted, again) in good {
            assert_eq!(target(bits), Some(wanted), "{bits:08x}");
            assert_eq!(compact(wanted), again, "{bits:08x}");
        }
        assert_eq!(compact(U256::from(0x80)), 0x0200_8000);
        assert_eq!(compact(U256::ZERO), 0);
    }

    #[test]
    fn refuses_bits_that_are_zero_negative_or_too_big() {
        let zero = [0, 0x0012_3456, 0x0100_3456, 0x0200_0056, 0x0300_0000, 0x0400_0000];
        let negative_zero = [0x0092_3456, 0x0180_3456, 0x0280_0056, 0x0380_0000, 0x0480_0000];
        let negative = [0x01fe_dcba, 0x0492_3456];
        let overflow = [0xff12_3456, 0x2312_3456, 0x2200_0100, 0x2101_0000, !0x0080_0000];
        let all = zero.iter().chain(&negative_zero).chain(&negative).chain(&overflow);
        for bits in all {
            assert_eq!(target(*bits), None, "{bits:08x}");
        }
        // the largest mantissas that still fit
        for bits in [0x2200_00ff, 0x2100_ffff, 0x207f_ffff] {
            assert!(target(bits).is_some(), "{bits:08x}");
        }
    }

    #[test]
    fn work_of_known_targets() {
        let work_of = |bits| work(target(bits).unwrap());
        assert_eq!(work_of(0x1d00_ffff), U256::from(0x1_0001_0001_u64));
        assert_eq!(work_of(0x207f_ffff), U256::from(2));
        assert_eq!(work(U256::ONE), U256::ONE << 255);
        assert_eq!(work(U256::MAX), U256::ONE);
    }

    #[test]
    fn rounding_is_stable_for_every_length() {
        for shift in 0..256_usize {
            for low in [1_u64, 0x7f, 0x80, 0x8000, 0xff_ffff, 0x80_0000_0001] {
                let value: U256 = U256::from(low) << shift;
                if value.is_zero() {
                    continue;
                }
                let bits = compact(value);
                let rounded = target(bits).unwrap();
                assert!(rounded <= value);
                assert_eq!(compact(rounded), bits);
            }
        }
    }
}
