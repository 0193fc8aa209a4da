//! Integers modulo the order of a group, generic over the order.
//!
//! Products are Montgomery's (1985) with `R = 2^260`. A [`Montgomery`] number has limbs below 2^52
//! and is below 2^257, which a product keeps: `(2^514 + m * R) / R < 2^254 + m`.

use core::marker::PhantomData;

use super::limb::{
    LOW, Limb, Mask, Part, ROOM, begin, carry, difference, limbs, signed_carry, splat_all,
};

/// An odd modulus of 256 bits.
pub(crate) trait Modulus: Copy {
    /// The modulus in words of 64 bits, the lowest first.
    const WORDS: [u64; 4];
    /// The modulus in limbs.
    const LIMBS: [u64; 5] = limbs(Self::WORDS);
    /// `-1 / m` modulo 2^52.
    const FACTOR: u64 = factor(Self::WORDS[0]);
    /// `R` modulo m.
    const R: [u64; 5] = power_of_two(260, Self::LIMBS);
    /// `R * R` modulo m.
    const R_SQUARED: [u64; 5] = power_of_two(520, Self::LIMBS);
}

const fn factor(lowest: u64) -> u64 {
    // each step of Newton doubles the bits that are right: 1, 2, 4, ... 64
    let (mut inverse, mut step) = (1u64, 0);
    while step < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(lowest.wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg() & LOW
}

/// `2^bits` modulo m.
pub(super) const fn power_of_two(bits: usize, m: [u64; 5]) -> [u64; 5] {
    times_power_of_two([1, 0, 0, 0, 0], bits, m)
}

/// `number * 2^bits` modulo m, of a number below m.
pub(super) const fn times_power_of_two(mut number: [u64; 5], bits: usize, m: [u64; 5]) -> [u64; 5] {
    let mut step = 0;
    while step < bits {
        number = twice(number, m);
        step += 1;
    }
    number
}

/// `2 * number` modulo m.
const fn twice(number: [u64; 5], m: [u64; 5]) -> [u64; 5] {
    let (mut sum, mut less) = ([0; 5], [0; 5]);
    let (mut carried, mut borrowed, mut k) = (0, 0, 0);
    while k < 5 {
        let limb = 2 * number[k] + carried;
        sum[k] = limb & LOW;
        carried = limb >> 52;
        let limb = sum[k].wrapping_sub(m[k]).wrapping_sub(borrowed);
        less[k] = limb & LOW;
        borrowed = limb >> 63;
        k += 1;
    }
    if borrowed == 0 { less } else { sum }
}

/// Sixteen integers modulo m.
#[derive(Clone, Copy)]
pub(crate) struct Montgomery<L, M>(pub(crate) [L; 5], PhantomData<M>);

/// The initial sums of a product: as many parts come from the multiples of m.
#[inline(always)]
fn begin_two<L: Part>(any: L) -> [L; 10] {
    begin(any, 2, [(0, 0); 10], ROOM)
}

/// A product divided by R: makes the lowest limb a multiple of 2^52 and carries it away, five
/// times.
#[inline(always)]
fn reduce<L: Part, M: Modulus>(mut sum: [L; 10]) -> [L; 5] {
    let (zero, factor) = (sum[0].same(0), sum[0].same(M::FACTOR));
    let mut m = [zero.factor(); 5];
    for (m, limb) in m.iter_mut().zip(M::LIMBS) {
        *m = zero.same(limb).factor();
    }
    for i in 0..5 {
        // without the constant of the low part that is still to come
        let lowest = sum[i] - zero.same(L::begin(1, 0));
        let times = zero.plus_low(lowest, factor).factor();
        for k in 0..5 {
            [sum[i + k], sum[i + k + 1]] =
                L::plus_product([sum[i + k], sum[i + k + 1]], times, m[k]);
        }
        sum[i + 1] = sum[i + 1] + (sum[i] >> 52);
    }
    let [.., h0, h1, h2, h3, h4] = sum;
    carry([h0, h1, h2, h3, h4])
}

impl<L: Limb, M: Modulus> Montgomery<L, M> {
    /// The integers of these limbs, which are carried and below 2^257.
    #[inline(always)]
    pub(crate) fn new(limbs: [L; 5]) -> Self {
        Montgomery(limbs, PhantomData)
    }

    /// `R` modulo m: Montgomery's 1.
    #[inline(always)]
    pub(crate) fn one(proof: L::Proof) -> Self {
        Self::new(splat_all(proof, M::R))
    }

    /// `self * b / R`
    #[inline(always)]
    pub(crate) fn mul(&self, b: &Self) -> Self {
        L::run(
            self.0[0].proven(),
            #[inline(always)]
            || {
                Self::new(L::each(
                    [&self.0, &b.0],
                    0,
                    #[inline(always)]
                    |[a, b], _| reduce::<_, M>(L::Part::plus_products(begin_two(a[0]), a, b)),
                ))
            },
        )
    }

    /// `self^(2^times)`, with the division by R at each step.
    #[inline(always)]
    fn squared(&self, times: usize) -> Self {
        L::run(
            self.0[0].proven(),
            #[inline(always)]
            || {
                let mut out = *self;
                for _ in 0..times {
                    out = Self::new(L::each(
                        [&out.0],
                        0,
                        #[inline(always)]
                        |[a], _| reduce::<_, M>(L::Part::plus_squares(begin_two(a[0]), a)),
                    ));
                }
                out
            },
        )
    }

    /// `self * R`
    #[inline(always)]
    pub(crate) fn to_montgomery(self) -> Self {
        self.mul(&Self::new(splat_all(self.0[0].proven(), M::R_SQUARED)))
    }

    /// `self^(m - 2)` for a prime m: `R / a` of a number `a * R`; 0 for 0.
    pub(crate) fn invert(&self) -> Self {
        let one = Self::one(self.0[0].proven());
        let mut powers = [one; 16];
        for i in 1..16 {
            powers[i] = powers[i - 1].mul(self);
        }
        let mut out = one;
        let [w0, w1, w2, w3] = M::WORDS;
        for word in [w3, w2, w1, w0 - 2] {
            for i in (0..16).rev() {
                out = out.squared(4).mul(&powers[(word >> (4 * i) & 15) as usize]);
            }
        }
        out
    }

    /// The integers below m, of numbers below twice m, as all products are.
    #[inline(always)]
    pub(crate) fn canonical(&self) -> Self {
        let (less, negative) = difference(self.0, M::LIMBS);
        let mut out = less;
        for k in 0..5 {
            out[k] = less[k].replaced(negative, self.0[k]);
        }
        Self::new(out)
    }

    /// `m - self` of an integer up to m.
    #[inline(always)]
    pub(crate) fn negate(&self) -> Self {
        let mut out = self.0;
        for (limb, m) in out.iter_mut().zip(M::LIMBS) {
            *limb = limb.same(m) - *limb;
        }
        Self::new(signed_carry(out))
    }

    /// 1 in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(crate) fn one_where(&self, mask: Mask) -> Self {
        let mut out = self.0;
        for (k, limb) in out.iter_mut().enumerate() {
            *limb = limb.replaced(mask, limb.same(u64::from(k == 0)));
        }
        Self::new(out)
    }
}

#[cfg(test)]
mod tests;
