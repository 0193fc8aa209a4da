//! The field of P-256, integers modulo `p = 2^256 - 2^224 + 2^192 + 2^96 - 1` (FIPS 186-4, section
//! D.1.2.3).
//!
//! Numbers are Montgomery's (1985) with `R = 2^260`: `a * R` stands for a. Because of `p = -1`
//! modulo 2^96, the factor of a step is the lowest limb itself; and `p + 1` has three limbs, two of
//! which are powers of two.

use super::field::{Field, Prime};
use super::limb::{LOW, Limb, Part, ROOM, begin, difference, limbs, product, signed_carry};
use super::montgomery::{power_of_two, times_power_of_two};

/// The bits of limb 4 below 2^256.
const TOP: u64 = (1 << 48) - 1;
/// `p`
const P: [u64; 5] = limbs([u64::MAX, 0xffff_ffff, 0, 0xffff_ffff_0000_0001]);
/// `R * R` modulo p.
const R_SQUARED: [u64; 5] = power_of_two(520, P);

/// The prime of P-256. A tight number is below 2^256 + 2^235.
#[derive(Clone, Copy, Debug)]
pub(crate) struct R1Prime;

/// A multiple of p, each of whose limbs is at least `times` the largest limb of a tight number:
/// `(times + 2) * p` with borrowed limbs, all below `7 * 2^52`.
const fn multiple(times: u64) -> [u64; 5] {
    let (mut out, mut k) = (P, 0);
    while k < 5 {
        out[k] *= times + 2;
        if k < 4 {
            out[k] += times << 52;
        }
        if k > 0 {
            out[k] -= times;
        }
        k += 1;
    }
    out
}

impl Prime for R1Prime {
    const P: [u64; 5] = P;
    const TIGHT: u64 = TOP + 1 + (1 << 27);
    const ONE: [u64; 4] = words(power_of_two(260, P));
    const ONCE: [u64; 5] = multiple(1);
    const TWICE: [u64; 5] = multiple(2);

    /// The bits of limb 4 above 2^256 are t below 2^11. They are added as t times `2^224 - 2^192 -
    /// 2^96 + 1`, below 2^235. Limb 4 keeps 48 bits, so that the number stays positive; the carry
    /// that then arrives from below is at most 1.
    #[inline(always)]
    fn fold<L: Part>([l0, l1, l2, l3, l4]: [L; 5]) -> [L; 5] {
        let l4 = l4 + (l3 >> 52);
        let above = l4 >> 48;
        signed_carry([
            l0 + above,
            l1 - (above << 44),
            l2,
            (l3 & LOW) - (above << 36),
            (l4 & TOP) + (above << 16),
        ])
    }

    /// Adds a multiple of p five times, each of which makes the lowest limb a multiple of 2^52 and
    /// is carried away.
    ///
    /// With `m` the limb modulo 2^52, `m * p = m * (p + 1) - m`. A sum is below `2 * 9 * 2^52` at
    /// first, or `2^58 + 2^53` more with room for signed parts, and grows by at most five parts
    /// below 2^52 and a carry, so it stays below 2^59. The value is below
    /// `(2^519 + 2^474) / 2^260 + p < 2^260`.
    #[inline(always)]
    fn reduce<L: Part>(mut sums: [L; 10]) -> [L; 5] {
        let [low, mid, top] = [1 << 44, 1 << 36, (1 << 48) - (1 << 16)];
        let (low, mid, top) =
            (sums[0].same(low).factor(), sums[0].same(mid).factor(), sums[0].same(top).factor());
        for i in 0..5 {
            let (m, carried) = (sums[i].low_factor(), sums[i] >> 52);
            sums[i + 1] = sums[i + 1] + carried;
            [sums[i + 1], sums[i + 2]] = L::plus_product([sums[i + 1], sums[i + 2]], m, low);
            [sums[i + 3], sums[i + 4]] = L::plus_product([sums[i + 3], sums[i + 4]], m, mid);
            [sums[i + 4], sums[i + 5]] = L::plus_product([sums[i + 4], sums[i + 5]], m, top);
        }
        let [.., h0, h1, h2, h3, h4] = sums;
        Self::fold([h0, h1, h2, h3, h4])
    }

    /// The last sum would be negative for small products before the others are carried. So `2^218 *
    /// p` is added, which has 63 there; divided by R, it is below 2^215.
    #[inline(always)]
    fn begin<L: Part>(any: L, products: u64) -> [L; 10] {
        const ROOM_AND_MULTIPLE: [u64; 10] = {
            let (mut room, mut k, mut below) = (ROOM, 0, 0);
            while k < 6 {
                let limb = if k < 5 { P[k] } else { 0 };
                room[4 + k] = room[4 + k].wrapping_add(limb << 10 & LOW | below >> 42);
                (below, k) = (limb, k + 1);
            }
            room
        };
        let mut more = [(0, 0); 10];
        for i in 0..5 {
            for low in [i + 1, i + 3, i + 4] {
                more[low].0 += 1;
                more[low + 1].1 += 1;
            }
        }
        begin(any, products, more, ROOM_AND_MULTIPLE)
    }

    /// Folded numbers are below 2^256, less than twice p.
    #[inline(always)]
    fn canonical<L: Limb>(limbs: [L; 5]) -> [L; 5] {
        let number = Self::fold(limbs);
        let (mut out, negative) = difference(number, P);
        for (out, number) in out.iter_mut().zip(number) {
            *out = out.replaced(negative, number);
        }
        out
    }

    #[inline(always)]
    fn of_integers<L: Limb>(limbs: [L; 5]) -> [L; 5] {
        let mut factor = limbs;
        for (factor, limb) in factor.iter_mut().zip(R_SQUARED) {
            *factor = factor.same(limb);
        }
        Self::reduce(product(limbs, factor))
    }

    #[inline(always)]
    fn to_integers<L: Limb>([l0, l1, l2, l3, l4]: [L; 5]) -> [L; 5] {
        let zero = l0.same(0);
        Self::reduce([l0, l1, l2, l3, l4, zero, zero, zero, zero, zero])
    }

    /// `number^((p + 1) / 4)`, where the exponent is `2^254 - 2^222 + 2^190 + 2^94`.
    fn sqrt<L: Limb>(number: &Field<L, Self>) -> Field<L, Self> {
        let [_, x32] = runs_of_ones(number);
        x32.squared(32).mul(number).squared(96).mul(number).squared(94)
    }

    /// `number^(p - 2)`
    fn invert<L: Limb>(number: &Field<L, Self>) -> Field<L, Self> {
        let [x30, x32] = runs_of_ones(number);
        let high = x32.squared(32).mul(number).squared(128).mul(&x32);
        high.squared(32).mul(&x32).squared(30).mul(&x30).squared(2).mul(number)
    }
}

/// The powers `2^30 - 1` and `2^32 - 1`.
fn runs_of_ones<L: Limb>(number: &Field<L, R1Prime>) -> [Field<L, R1Prime>; 2] {
    let x2 = number.squared(1).mul(number);
    let x3 = x2.squared(1).mul(number);
    let x6 = x3.squared(3).mul(&x3);
    let x12 = x6.squared(6).mul(&x6);
    let x15 = x12.squared(3).mul(&x3);
    let x30 = x15.squared(15).mul(&x15);
    [x30, x30.squared(2).mul(&x2)]
}

/// The words of 64 bits of an integer below 2^256 in limbs.
const fn words([l0, l1, l2, l3, l4]: [u64; 5]) -> [u64; 4] {
    [l0 | l1 << 52, l1 >> 12 | l2 << 40, l2 >> 24 | l3 << 28, l3 >> 36 | l4 << 16]
}

/// The representation of an integer below p, in words of 64 bits: `integer * R` modulo p.
pub(super) const fn montgomery(integer: [u64; 4]) -> [u64; 4] {
    words(times_power_of_two(limbs(integer), 260, P))
}

#[cfg(test)]
mod tests;
