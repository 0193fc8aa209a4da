//! Half the doublings on secp256k1: its endomorphism splits a multiplier in two of half the length.

use super::digits::Digits;
use super::limb::{LOW, Limb, limbs, product, signed_carry};
use super::montgomery::Montgomery;
use super::secp256k1::K1Order;

// The endomorphism (x, y) -> (beta * x, y) multiplies points by lambda. The lattice of the pairs
// (a, b) with a + b * lambda = 0 modulo n has the short base (A1, -B1), (A2, A1), with which an
// integer modulo n is split in halves (Gallant, Lambert and Vanstone 2001; the numbers are those of
// libsecp256k1). A2 = A1 + B1.
const A1: [u64; 3] = half(0x3086_d221_a7d4_6bcd_e86c_90e4_9284_eb15, 0);
const B1: [u64; 3] = half(0xe443_7ed6_010e_8828_6f54_7fa9_0abf_e4c3, 0);
const A2: [u64; 3] = half(0x14ca_50f7_a8e2_f3f6_57c1_108d_9d44_cfd8, 1);
/// `2^384 * A1 / n`, rounded.
const A1_PER_N: [u64; 5] = limbs([
    0xe893_209a_45db_b031,
    0x3daa_8a14_71e8_ca7f,
    0xe86c_90e4_9284_eb15,
    0x3086_d221_a7d4_6bcd,
]);
/// `2^384 * B1 / n`, rounded.
const B1_PER_N: [u64; 5] = limbs([
    0x1571_b4ae_8ac4_7f71,
    0x2212_08ac_9df5_06c6,
    0x6f54_7fa9_0abf_e4c4,
    0xe443_7ed6_010e_8828,
]);

/// The limbs of `low + high * 2^128`.
const fn half(low: u128, high: u64) -> [u64; 3] {
    [low as u64 & LOW, (low >> 52) as u64 & LOW, (low >> 104) as u64 | high << 24]
}

/// The digits of two odd numbers `a` and `b` of 130 bits with `a + b * lambda = number` modulo n,
/// for an integer below 2^256.
///
/// `a = number - c1 * A1 - c2 * A2` and `b = c1 * B1 - c2 * A1`, where c1 and c2 are `number * A1
/// / n` and `number * B1 / n` but for less than 2. Then at most each vector of the base is added
/// or subtracted once, to make both odd. So `a` is less than `3 * (A1 + A2)` in size and `b` less
/// than `3 * (A1 + B1)`, below 2^130.
#[inline(always)]
pub(crate) fn split_digits<L: Limb>(number: &Montgomery<L, K1Order>) -> [Digits<L, 3>; 2] {
    let number = number.0;
    let (c1, c2) = (part(number, A1_PER_N), part(number, B1_PER_N));
    let (c1a1, c2a2) = (low_product(c1, A1), low_product(c2, A2));
    let (c1b1, c2a1) = (low_product(c1, B1), low_product(c2, A1));
    let mut a = [number[0], number[1], number[2]];
    let mut b = a;
    for k in 0..3 {
        a[k] = a[k] - c1a1[k] - c2a2[k];
        b[k] = c1b1[k] - c2a1[k];
    }
    // A1 and B1 are odd, A2 is even: (A1, -B1) changes the parity of both, (A2, A1) that of b
    let (first, second) = (!a[0].has(1), !a[0].has(1) ^ !b[0].has(1));
    for k in 0..3 {
        let [a1, b1, a2] = [a[k].same(A1[k]), a[k].same(B1[k]), a[k].same(A2[k])];
        a[k] = a[k] + a1.only(first) - a2.only(second);
        b[k] = b[k] - b1.only(first) - a1.only(second);
    }
    [Digits::new::<130>(signed(a)), Digits::new::<130>(signed(b))]
}

/// `number * per_n / 2^384`, rounded down.
#[inline(always)]
fn part<L: Limb>(number: [L; 5], per_n: [u64; 5]) -> [L; 3] {
    let mut factor = number;
    for (limb, per_n) in factor.iter_mut().zip(per_n) {
        *limb = limb.same(per_n);
    }
    let [.., z7, z8, z9] = signed_carry(product(number, factor));
    [(z7 >> 20 | z8 << 32) & LOW, (z8 >> 20 | z9 << 32) & LOW, z9 >> 20]
}

/// The product modulo 2^156, not carried.
#[inline(always)]
fn low_product<L: Limb>(a: [L; 3], b: [u64; 3]) -> [L; 3] {
    let mut sum = [a[0].same(0); 3];
    for i in 0..3 {
        for j in 0..3 - i {
            let b = a[0].same(b[j]);
            sum[i + j] = sum[i + j].plus_low(a[i], b);
            if i + j < 2 {
                sum[i + j + 1] = sum[i + j + 1].plus_high(a[i], b);
            }
        }
    }
    sum
}

/// The number of least size that is equal to this one modulo 2^156, in signed limbs.
#[inline(always)]
fn signed<L: Limb>(l: [L; 3]) -> [L; 3] {
    let [l0, l1, l2] = signed_carry(l);
    // shifts the sign bit of 52 down from the top
    [l0, l1, (l2 << 12).signed_shift(12)]
}
