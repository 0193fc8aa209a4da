//! Numbers modulo the prime of P-256 and modulo the order of its group, in Montgomery form: `a` is
//! kept as `a * 2^256`. Four limbs of 64 bits, the lowest first. Nothing is constant in time.

use core::marker::PhantomData;

pub(super) type Limbs = [u64; 4];

/// A modulus between 2^255 and 2^256.
pub(super) trait Modulus: Copy {
    const M: Limbs;

    /// `sum / 2^256` modulo `M`, less than twice `M`: four limbs and a carry. `sum` is below `M *
    /// 2^256`.
    fn reduce(sum: [u64; 8]) -> (Limbs, u64);
}

/// The prime of the field: 2^256 - 2^224 + 2^192 + 2^96 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prime;

/// The order of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order;

impl Modulus for Prime {
    const M: Limbs = [u64::MAX, 0xffff_ffff, 0, 0xffff_ffff_0000_0001];

    /// `-1 / M` modulo 2^64 is 1, so each step adds `M` times the lowest limb `low`, which
    /// vanishes. `M` plus 1 begins with 2^96: two shifts are the products with the lower limbs.
    #[inline(always)]
    fn reduce(mut sum: [u64; 8]) -> (Limbs, u64) {
        let mut top = 0;
        for i in 0..4 {
            let (low, carry) = (sum[i], 0);
            let (second, carry) = add(sum[i + 1], low << 32, carry);
            let (third, carry) = add(sum[i + 2], low >> 32, carry);
            let (fourth, carry) = add_product(sum[i + 3], low, Self::M[3], carry);
            let (fifth, carry) = add(sum[i + 4], carry, top);
            (sum[i + 1], sum[i + 2], sum[i + 3], sum[i + 4]) = (second, third, fourth, fifth);
            top = carry;
        }
        ([sum[4], sum[5], sum[6], sum[7]], top)
    }
}

impl Modulus for Order {
    const M: Limbs =
        [0xf3b9_cac2_fc63_2551, 0xbce6_faad_a717_9e84, u64::MAX, 0xffff_ffff_0000_0000];

    #[inline(always)]
    fn reduce(mut sum: [u64; 8]) -> (Limbs, u64) {
        const FACTOR: u64 = negative_inverse(Order::M[0]);
        let mut top = 0;
        for i in 0..4 {
            let factor = sum[i].wrapping_mul(FACTOR);
            let mut carry = 0;
            for j in 0..4 {
                (sum[i + j], carry) = add_product(sum[i + j], factor, Self::M[j], carry);
            }
            (sum[i + 4], top) = add(sum[i + 4], carry, top);
        }
        ([sum[4], sum[5], sum[6], sum[7]], top)
    }
}

/// `-1 / odd` modulo 2^64.
const fn negative_inverse(odd: u64) -> u64 {
    // each round doubles the bits that are right, of which there is one
    let (mut inverse, mut round) = (1_u64, 0);
    while round < 6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        round += 1;
    }
    inverse.wrapping_neg()
}

/// `a + b + carry` and the new carry.
#[inline(always)]
const fn add(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = a as u128 + b as u128 + carry as u128;
    (sum as u64, (sum >> 64) as u64)
}

/// `a - b - borrow` and the new borrow, 0 or 1.
#[inline(always)]
const fn subtract(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = (a as u128).wrapping_sub(b as u128 + borrow as u128);
    (difference as u64, (difference >> 64) as u64 & 1)
}

/// `a + b * c + carry` and the new carry; it always fits.
#[inline(always)]
const fn add_product(a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    let sum = a as u128 + b as u128 * c as u128 + carry as u128;
    (sum as u64, (sum >> 64) as u64)
}

#[inline(always)]
const fn sum_of(a: Limbs, b: Limbs) -> (Limbs, u64) {
    let (low, carry) = add(a[0], b[0], 0);
    let (second, carry) = add(a[1], b[1], carry);
    let (third, carry) = add(a[2], b[2], carry);
    let (high, carry) = add(a[3], b[3], carry);
    ([low, second, third, high], carry)
}

#[inline(always)]
pub(super) const fn difference_of(a: Limbs, b: Limbs) -> (Limbs, u64) {
    let (low, borrow) = subtract(a[0], b[0], 0);
    let (second, borrow) = subtract(a[1], b[1], borrow);
    let (third, borrow) = subtract(a[2], b[2], borrow);
    let (high, borrow) = subtract(a[3], b[3], borrow);
    ([low, second, third, high], borrow)
}

/// `limbs + carry * 2^256`, less than twice `modulus`, modulo it.
#[inline(always)]
const fn reduced_once(limbs: Limbs, carry: u64, modulus: Limbs) -> Limbs {
    let (less, borrow) = difference_of(limbs, modulus);
    // all ones if nothing is to be subtracted; a branch would be wrong half of the time
    let keep = (borrow & !carry).wrapping_neg();
    [
        less[0] ^ (less[0] ^ limbs[0]) & keep,
        less[1] ^ (less[1] ^ limbs[1]) & keep,
        less[2] ^ (less[2] ^ limbs[2]) & keep,
        less[3] ^ (less[3] ^ limbs[3]) & keep,
    ]
}

/// `2^exponent` modulo `modulus`.
const fn power_of_two(exponent: usize, modulus: Limbs) -> Limbs {
    let (mut power, mut i) = ([1, 0, 0, 0], 0);
    while i < exponent {
        let (twice, carry) = sum_of(power, power);
        power = reduced_once(twice, carry, modulus);
        i += 1;
    }
    power
}

/// The limbs of 32 bytes, the highest first.
pub(super) fn limbs_of(bytes: &[u8; 32]) -> Limbs {
    let (words, _) = bytes.as_chunks();
    core::array::from_fn(|i| u64::from_be_bytes(words[3 - i]))
}

/// A number modulo `M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number<M>(Limbs, PhantomData<M>);

impl<M: Modulus> Number<M> {
    pub(super) const ZERO: Self = Self([0; 4], PhantomData);
    pub(super) const ONE: Self = Self(power_of_two(256, M::M), PhantomData);
    const SQUARE_OF_TWO_256: Self = Self(power_of_two(512, M::M), PhantomData);

    /// A number of less than twice `M`.
    pub(super) fn reduced(limbs: Limbs) -> Self {
        Self(reduced_once(limbs, 0, M::M), PhantomData).times(&Self::SQUARE_OF_TWO_256)
    }

    /// A number below `M` in big-endian bytes; none if it is not below.
    pub(super) fn of_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let limbs = limbs_of(bytes);
        (difference_of(limbs, M::M).1 == 1).then(|| Self::reduced(limbs))
    }

    /// The number itself, below `M`.
    pub(super) fn limbs(&self) -> Limbs {
        let [a, b, c, d] = self.0;
        let (limbs, carry) = M::reduce([a, b, c, d, 0, 0, 0, 0]);
        reduced_once(limbs, carry, M::M)
    }

    pub(super) fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (bytes, limb) in bytes.as_chunks_mut().0.iter_mut().rev().zip(self.limbs()) {
            *bytes = limb.to_be_bytes();
        }
        bytes
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0 == [0; 4]
    }

    fn of_sum(sum: [u64; 8]) -> Self {
        let (limbs, carry) = M::reduce(sum);
        Self(reduced_once(limbs, carry, M::M), PhantomData)
    }

    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        let (sum, carry) = sum_of(self.0, other.0);
        Self(reduced_once(sum, carry, M::M), PhantomData)
    }

    #[inline(always)]
    pub(super) fn minus(&self, other: &Self) -> Self {
        let (difference, borrow) = difference_of(self.0, other.0);
        let below = borrow.wrapping_neg();
        let (raised, _) = sum_of(difference, M::M.map(|limb| limb & below));
        Self(raised, PhantomData)
    }

    pub(super) fn negated(&self) -> Self {
        Self::ZERO.minus(self)
    }

    pub(super) fn doubled(&self) -> Self {
        self.plus(self)
    }

    #[inline(always)]
    pub(super) fn times(&self, other: &Self) -> Self {
        let mut sum = [0; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                (sum[i + j], carry) = add_product(sum[i + j], self.0[i], other.0[j], carry);
            }
            sum[i + 4] = carry;
        }
        Self::of_sum(sum)
    }

    /// Products of different limbs count twice.
    #[inline(always)]
    pub(super) fn squared(&self) -> Self {
        let limbs = self.0;
        let mut sum = [0; 8];
        for i in 0..3 {
            let mut carry = 0;
            for j in i + 1..4 {
                (sum[i + j], carry) = add_product(sum[i + j], limbs[i], limbs[j], carry);
            }
            sum[i + 4] = carry;
        }
        let (mut shifted, mut carry) = (0, 0);
        for (i, limb) in limbs.into_iter().enumerate() {
            let square = u128::from(limb) * u128::from(limb);
            for (at, part) in [(2 * i, square as u64), (2 * i + 1, (square >> 64) as u64)] {
                let twice = sum[at] << 1 | shifted;
                shifted = sum[at] >> 63;
                (sum[at], carry) = add(twice, part, carry);
            }
        }
        Self::of_sum(sum)
    }

    /// This number to the power of `exponent`, four bits at a time.
    pub(super) fn power(&self, exponent: Limbs) -> Self {
        let mut powers = [Self::ONE; 16];
        for i in 1..16 {
            powers[i] = powers[i - 1].times(self);
        }
        let mut result = Self::ONE;
        for limb in exponent.iter().rev() {
            for shift in (0..64).step_by(4).rev() {
                for _ in 0..4 {
                    result = result.squared();
                }
                let digit = (limb >> shift & 15) as usize;
                if digit != 0 {
                    result = result.times(&powers[digit]);
                }
            }
        }
        result
    }

    /// `1 / self`; 0 has 0.
    pub(super) fn inverse(&self) -> Self {
        self.power(difference_of(M::M, [2, 0, 0, 0]).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use std::vec::Vec;

    fn big(limbs: &[u64]) -> BigUint {
        BigUint::new(limbs.iter().flat_map(|limb| [*limb as u32, (limb >> 32) as u32]).collect())
    }

    /// Numbers at the bounds of limbs and of the modulus, and others.
    fn numbers<M: Modulus>() -> Vec<Limbs> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            match state >> 61 {
                0 => 0,
                1 => u64::MAX,
                2 => u64::MAX << 32,
                _ => state.rotate_left(17).wrapping_mul(state),
            }
        };
        let below = |limbs: &Limbs| difference_of(*limbs, M::M).1 == 1;
        let mut all: Vec<Limbs> =
            (0..60).map(|_| core::array::from_fn(|_| next())).filter(below).collect();
        all.extend((1..4).map(|less| difference_of(M::M, [less, 0, 0, 0]).0));
        all.extend((0..4).map(|small| [small, 0, 0, 0]));
        all
    }

    fn agrees_with_large_integers<M: Modulus + PartialEq + core::fmt::Debug>() {
        let (modulus, numbers) = (big(&M::M), numbers::<M>());
        assert!(numbers.len() > 30);
        for a in &numbers {
            let number = Number::<M>::reduced(*a);
            assert_eq!(number.limbs(), *a);
            assert_eq!(Number::<M>::of_bytes(&number.to_bytes()), Some(number));
            assert_eq!(big(&number.squared().limbs()), big(a) * big(a) % &modulus);
            assert_eq!(number.plus(&number.negated()), Number::ZERO);
            let one = if number.is_zero() { Number::ZERO } else { Number::ONE };
            assert_eq!(number.times(&number.inverse()), one);
            for b in &numbers {
                let other = Number::<M>::reduced(*b);
                assert_eq!(big(&number.times(&other).limbs()), big(a) * big(b) % &modulus);
                assert_eq!(big(&number.plus(&other).limbs()), (big(a) + big(b)) % &modulus);
                let difference = (&modulus + big(a) - big(b)) % &modulus;
                assert_eq!(big(&number.minus(&other).limbs()), difference);
            }
        }
        let mut bytes = [0xff; 32];
        assert_eq!(Number::<M>::of_bytes(&bytes), None);
        bytes[..].copy_from_slice(&modulus.to_bytes_be());
        assert_eq!(Number::<M>::of_bytes(&bytes), None);
        assert_eq!(Number::<M>::reduced(M::M), Number::ZERO);
    }

    #[test]
    fn numbers_modulo_the_prime_agree_with_large_integers() {
        agrees_with_large_integers::<Prime>();
    }

    #[test]
    fn numbers_modulo_the_order_agree_with_large_integers() {
        agrees_with_large_integers::<Order>();
    }
}
