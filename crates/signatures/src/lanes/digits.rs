//! The digits of the numbers that multiply points.

use super::limb::{LOW, Limb, Mask, signed_carry};
use super::montgomery::{Modulus, Montgomery};

/// Digits of some bits each. Digit `d` of `w` bits at place `i` stands for the odd number `(2 * d +
/// 1 - 2^w) * 2^(w * i)`, and all together for an odd number. So no digit stands for 0.
#[derive(Clone, Copy)]
pub(crate) struct Digits<L, const K: usize>([L; K]);

impl<L: Limb, const K: usize> Digits<L, K> {
    /// The digits of odd numbers below `2^BITS` in size: `(number + 2^BITS - 1) / 2` in binary.
    #[inline(always)]
    pub(super) fn new<const BITS: usize>(mut number: [L; K]) -> Self {
        let (limb, bit) = (BITS.div_ceil(52) - 1, BITS - 52 * (BITS.div_ceil(52) - 1));
        number[limb] = number[limb] + number[limb].same(1 << bit);
        let number = signed_carry(number);
        let mut half = number;
        for k in 0..K {
            half[k] = number[k] >> 1;
            if k + 1 < K {
                half[k] = half[k] | (number[k + 1] & 1) << 51;
            }
        }
        Digits(half)
    }

    /// The size of the odd number that digit `place` of `WIDTH` bits stands for, halved and rounded
    /// down: an index below `2^(WIDTH - 1)`; and the lanes in which the number is negative.
    #[inline(always)]
    pub(crate) fn digit<const WIDTH: usize>(&self, place: usize) -> (L, Mask) {
        let (limb, shift) = (place * WIDTH / 52, (place * WIDTH % 52) as u64);
        let mut digit = self.0[limb] >> shift;
        if limb + 1 < K {
            digit = digit | self.0[limb + 1] << (52 - shift);
        }
        let positive = digit.has(1 << (WIDTH - 1));
        // d for positive numbers, 2^w - 1 - d for negative, both without the highest bit
        let opposite = digit ^ digit.same(LOW);
        (opposite.replaced(positive, digit) & ((1 << (WIDTH - 1)) - 1), !positive)
    }
}

/// The digits of an integer below n, of 257 to 260 bits. An even one is replaced by itself less n,
/// which is odd and multiplies points alike.
#[inline(always)]
pub(crate) fn digits<const BITS: usize, L: Limb, M: Modulus>(
    number: &Montgomery<L, M>,
) -> Digits<L, 5> {
    let even = !number.0[0].has(1);
    let mut odd = number.0;
    for (limb, n) in odd.iter_mut().zip(M::LIMBS) {
        *limb = *limb - limb.same(n).only(even);
    }
    Digits::new::<BITS>(odd)
}

#[cfg(test)]
mod tests;
