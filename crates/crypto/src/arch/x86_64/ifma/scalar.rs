//! Integers modulo the order n of secp256k1's group.
//!
//! Products are Montgomery's (1985) with `R = 2^260`. A [`Scalar`] has limbs below 2^52 and is
//! below 2^257, which a product keeps: `(2^514 + n * R) / R < 2^254 + n`.

use super::limb::{
    LOW, Lanes, Limb, Mask, carry, difference, limbs, product, signed_carry, square,
};

/// The order of the group, in words of 64 bits.
const ORDER: [u64; 4] =
    [0xbfd2_5e8c_d036_4141, 0xbaae_dce6_af48_a03b, 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ffff];
/// The order of the group, in limbs.
pub(super) const N: [u64; 5] = limbs(ORDER);

/// `-1 / n` modulo 2^52
const FACTOR: u64 = {
    // each step of Newton doubles the bits that are right: 1, 2, 4, ... 64
    let (mut inverse, mut step) = (1u64, 0);
    while step < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(ORDER[0].wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg() & LOW
};

/// `R` modulo n
const R: [u64; 5] = power_of_two(260);
/// `R * R` modulo n
const R_SQUARED: [u64; 5] = power_of_two(520);

/// `2^bits` modulo n.
const fn power_of_two(bits: usize) -> [u64; 5] {
    let (mut number, mut step) = ([1, 0, 0, 0, 0], 0);
    while step < bits {
        number = twice(number);
        step += 1;
    }
    number
}

/// `2 * number` modulo n.
const fn twice(number: [u64; 5]) -> [u64; 5] {
    let (mut sum, mut less) = ([0; 5], [0; 5]);
    let (mut carried, mut borrowed, mut k) = (0, 0, 0);
    while k < 5 {
        let limb = 2 * number[k] + carried;
        sum[k] = limb & LOW;
        carried = limb >> 52;
        let limb = sum[k].wrapping_sub(N[k]).wrapping_sub(borrowed);
        less[k] = limb & LOW;
        borrowed = limb >> 63;
        k += 1;
    }
    if borrowed == 0 { less } else { sum }
}

/// Sixteen integers modulo n.
#[derive(Clone, Copy)]
pub(super) struct Scalar(pub(super) [Limb; 5]);

/// A product divided by R: makes the lowest limb a multiple of 2^52 and carries it away, five
/// times.
#[inline(always)]
fn reduce(mut sum: [Limb; 10]) -> Scalar {
    let (zero, factor) = (sum[0].same(0), sum[0].same(FACTOR));
    for i in 0..5 {
        let times = zero.plus_low(sum[i], factor);
        for k in 0..5 {
            let n = zero.same(N[k]);
            sum[i + k] = sum[i + k].plus_low(times, n);
            sum[i + k + 1] = sum[i + k + 1].plus_high(times, n);
        }
        sum[i + 1] = sum[i + 1] + (sum[i] >> 52);
    }
    let [.., h0, h1, h2, h3, h4] = sum;
    Scalar(carry([h0, h1, h2, h3, h4]))
}

impl Scalar {
    /// `R` modulo n: Montgomery's 1.
    #[inline(always)]
    pub(super) fn one(lanes: Lanes) -> Self {
        Scalar(lanes.splat_all(R))
    }

    /// `self * b / R`
    #[inline(always)]
    pub(super) fn mul(self, b: Self) -> Self {
        reduce(product(self.0, b.0))
    }

    /// `self * self / R`
    #[inline(always)]
    fn square(self) -> Self {
        reduce(square(self.0))
    }

    /// `self * R`
    #[inline(always)]
    pub(super) fn to_montgomery(self) -> Self {
        let mut r_squared = self.0;
        for (limb, number) in r_squared.iter_mut().zip(R_SQUARED) {
            *limb = limb.same(number);
        }
        self.mul(Scalar(r_squared))
    }

    /// `self^(n - 2)`: `R / a` of a number `a * R`; 0 for 0.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn invert(self, lanes: Lanes) -> Self {
        let mut powers = [Self::one(lanes); 16];
        for i in 1..16 {
            powers[i] = powers[i - 1].mul(self);
        }
        let mut out = Self::one(lanes);
        for word in [ORDER[3], ORDER[2], ORDER[1], ORDER[0] - 2] {
            for i in (0..16).rev() {
                for _ in 0..4 {
                    out = out.square();
                }
                out = out.mul(powers[(word >> (4 * i) & 15) as usize]);
            }
        }
        out
    }

    /// The integers below n.
    #[inline(always)]
    pub(super) fn canonical(self) -> Self {
        let (less, negative) = difference(self.0, N);
        let mut out = less;
        for k in 0..5 {
            out[k] = less[k].replaced(negative, self.0[k]);
        }
        Scalar(out)
    }

    /// `n - self` of an integer up to n.
    #[inline(always)]
    pub(super) fn negate(self) -> Self {
        let mut out = self.0;
        for (limb, n) in out.iter_mut().zip(N) {
            *limb = limb.same(n) - *limb;
        }
        Scalar(signed_carry(out))
    }

    /// 1 in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(super) fn one_where(self, mask: Mask) -> Self {
        let mut out = self.0;
        for (k, limb) in out.iter_mut().enumerate() {
            *limb = limb.replaced(mask, limb.same(u64::from(k == 0)));
        }
        Scalar(out)
    }
}

#[cfg(test)]
mod tests;
