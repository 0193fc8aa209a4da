//! Integers modulo the order n of secp256k1's group, eight at once, and what multiplies points:
//! their digits.
//!
//! Products are Montgomery's (1985) with `R = 2^260`. A [`Scalar`] has limbs below 2^52 and is
//! below 2^257, which a product keeps: `(2^514 + n * R) / R < 2^254 + n`.

use core::arch::x86_64::{
    __mmask8, _mm_cvtsi64_si128, _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi64_mask,
    _mm512_mask_add_epi64, _mm512_mask_mov_epi64, _mm512_mask_sub_epi64, _mm512_or_si512,
    _mm512_setzero_si512, _mm512_sll_epi64, _mm512_srai_epi64, _mm512_srl_epi64,
    _mm512_test_epi64_mask, _mm512_xor_si512,
};

use super::field::{
    Limb, Limbs, add, and, carry, down, high, limbs, low, product, splat, splat_all, sub, up,
};

const LIMB: u64 = (1 << 52) - 1;

/// The order of the group, in words of 64 bits.
const ORDER: [u64; 4] =
    [0xbfd2_5e8c_d036_4141, 0xbaae_dce6_af48_a03b, 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ffff];
pub(super) const N: [u64; 5] = limbs(ORDER);

/// `-1 / n` modulo 2^52
const FACTOR: u64 = {
    // each step of Newton doubles the bits that are right: 1, 2, 4, ... 64
    let (mut inverse, mut step) = (1u64, 0);
    while step < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(ORDER[0].wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg() & LIMB
};

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
        sum[k] = limb & LIMB;
        carried = limb >> 52;
        let limb = sum[k].wrapping_sub(N[k]).wrapping_sub(borrowed);
        less[k] = limb & LIMB;
        borrowed = limb >> 63;
        k += 1;
    }
    if borrowed == 0 { less } else { sum }
}

const R: [u64; 5] = power_of_two(260);
const R_SQUARED: [u64; 5] = power_of_two(520);

/// Eight integers modulo n.
#[derive(Clone, Copy)]
pub(super) struct Scalar(pub(super) Limbs);

impl Scalar {
    /// `R` modulo n: Montgomery's 1.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn one() -> Self {
        Scalar(splat_all(R))
    }

    /// `self * b / R`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul(&self, b: &Self) -> Self {
        let n = splat_all(N);
        let mut sum = product([_mm512_setzero_si512(); 10], &self.0, &b.0);
        // makes the lowest limb a multiple of 2^52 and carries it away, five times
        for i in 0..5 {
            let times = low(_mm512_setzero_si512(), sum[i], splat(FACTOR));
            for k in 0..5 {
                sum[i + k] = low(sum[i + k], times, n[k]);
                sum[i + k + 1] = high(sum[i + k + 1], times, n[k]);
            }
            sum[i + 1] = add(sum[i + 1], down::<52>(sum[i]));
        }
        let [.., h0, h1, h2, h3, h4] = sum;
        Scalar(carry([h0, h1, h2, h3, h4]))
    }

    /// `self * R`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn to_montgomery(self) -> Self {
        self.mul(&Scalar(splat_all(R_SQUARED)))
    }

    /// `self^(n - 2)`: `R / a` of a number `a * R`; 0 for 0.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn invert(&self) -> Self {
        let mut powers = [Self::one(); 16];
        for i in 1..16 {
            powers[i] = powers[i - 1].mul(self);
        }
        let mut out = Self::one();
        for word in [ORDER[3], ORDER[2], ORDER[1], ORDER[0] - 2] {
            for i in (0..16).rev() {
                for _ in 0..4 {
                    out = out.mul(&out);
                }
                out = out.mul(&powers[(word >> (4 * i) & 15) as usize]);
            }
        }
        out
    }

    /// The integers below n.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn canonical(&self) -> Self {
        let (less, negative) = difference(&self.0, N);
        let mut out = less;
        for k in 0..5 {
            out[k] = _mm512_mask_mov_epi64(less[k], negative, self.0[k]);
        }
        Scalar(out)
    }

    /// `n - self` of an integer up to n.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn negate(&self) -> Self {
        let n = splat_all(N);
        let mut out = n;
        for k in 0..5 {
            out[k] = sub(n[k], self.0[k]);
        }
        Scalar(borrow(out))
    }

    /// 1 in the lanes whose bit is set, `self` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn one_where(&self, mask: __mmask8) -> Self {
        let mut out = self.0;
        for (k, limb) in out.iter_mut().enumerate() {
            *limb = _mm512_mask_mov_epi64(*limb, mask, splat(u64::from(k == 0)));
        }
        Scalar(out)
    }
}

/// The lanes that hold 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn is_zero(l: &Limbs) -> __mmask8 {
    let some = _mm512_or_si512(_mm512_or_si512(l[0], l[1]), _mm512_or_si512(l[2], l[3]));
    _mm512_cmpeq_epi64_mask(_mm512_or_si512(some, l[4]), _mm512_setzero_si512())
}

/// The lanes that hold a number below `bound`; all limbs are carried.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn is_below(number: &Limbs, bound: [u64; 5]) -> __mmask8 {
    difference(number, bound).1
}

/// `number - less` and the lanes where that is negative.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn difference(number: &Limbs, less: [u64; 5]) -> (Limbs, __mmask8) {
    let mut out = splat_all(less);
    for k in 0..5 {
        out[k] = sub(number[k], out[k]);
    }
    let out = borrow(out);
    (out, _mm512_cmplt_epi64_mask(out[4], _mm512_setzero_si512()))
}

/// Carries signed limbs; the highest keeps the sign.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn borrow<const K: usize>(mut l: [Limb; K]) -> [Limb; K] {
    for k in 1..K {
        l[k] = add(l[k], _mm512_srai_epi64::<52>(l[k - 1]));
        l[k - 1] = and(l[k - 1], splat(LIMB));
    }
    l
}

/// `BITS / w` digits of `w` bits. Digit `d` at place `i` stands for the odd number
/// `(2 * d + 1 - 2^w) * 2^(w * i)`, and all together for an odd number of at most `BITS` bits and
/// its sign. So no digit stands for 0.
#[derive(Clone, Copy)]
pub(super) struct Digits<const K: usize>([Limb; K]);

impl<const K: usize> Digits<K> {
    /// The digits of odd numbers: `(number + 2^BITS - 1) / 2` in binary.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn new<const BITS: usize>(mut number: [Limb; K]) -> Self {
        let (limb, bit) = (BITS.div_ceil(52) - 1, BITS - 52 * (BITS.div_ceil(52) - 1));
        number[limb] = add(number[limb], splat(1 << bit));
        let number = borrow(number);
        let mut half = number;
        for k in 0..K {
            half[k] = down::<1>(number[k]);
            if k + 1 < K {
                half[k] = add(half[k], up::<51>(and(number[k + 1], splat(1))));
            }
        }
        Digits(half)
    }

    /// The size of the odd number that digit `place` of `WIDTH` bits stands for, halved and rounded
    /// down: an index below `2^(WIDTH - 1)`; and the lanes in which the number is negative.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn digit<const WIDTH: usize>(&self, place: usize) -> (Limb, __mmask8) {
        let (limb, shift) = (place * WIDTH / 52, place * WIDTH % 52);
        let mut digit = _mm512_srl_epi64(self.0[limb], _mm_cvtsi64_si128(shift as i64));
        if limb + 1 < K {
            let next = _mm512_sll_epi64(self.0[limb + 1], _mm_cvtsi64_si128(52 - shift as i64));
            digit = _mm512_or_si512(digit, next);
        }
        let positive = _mm512_test_epi64_mask(digit, splat(1 << (WIDTH - 1)));
        // d for positive numbers, 2^w - 1 - d for negative, without the highest bit
        let all = splat((1 << WIDTH) - 1);
        let index = _mm512_mask_mov_epi64(_mm512_xor_si512(digit, all), positive, digit);
        (and(index, splat((1 << (WIDTH - 1)) - 1)), !positive)
    }
}

/// The digits of an integer below n, of up to 260 bits. An even one is replaced by itself less n,
/// which is odd and multiplies points alike.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn digits(number: &Scalar) -> Digits<5> {
    let even = !_mm512_test_epi64_mask(number.0[0], splat(1));
    let mut odd = number.0;
    for (limb, n) in odd.iter_mut().zip(splat_all(N)) {
        *limb = _mm512_mask_sub_epi64(*limb, even, *limb, n);
    }
    Digits::new::<260>(odd)
}

// The endomorphism (x, y) -> (beta * x, y) multiplies points by lambda. The lattice of the pairs
// (a, b) with a + b * lambda = 0 modulo n has the short base (A1, -B1), (A2, A1), with which an
// integer modulo n is split in halves (Gallant, Lambert and Vanstone 2001; the numbers are those of
// libsecp256k1). A2 = A1 + B1.
const A1: [u64; 3] = half(0x3086_d221_a7d4_6bcd_e86c_90e4_9284_eb15, 0);
const B1: [u64; 3] = half(0xe443_7ed6_010e_8828_6f54_7fa9_0abf_e4c3, 0);
const A2: [u64; 3] = half(0x14ca_50f7_a8e2_f3f6_57c1_108d_9d44_cfd8, 1);
/// `2^384 * A1 / n` and `2^384 * B1 / n`, rounded
const PER_N: [[u64; 5]; 2] = [
    limbs([
        0xe893_209a_45db_b031,
        0x3daa_8a14_71e8_ca7f,
        0xe86c_90e4_9284_eb15,
        0x3086_d221_a7d4_6bcd,
    ]),
    limbs([
        0x1571_b4ae_8ac4_7f71,
        0x2212_08ac_9df5_06c6,
        0x6f54_7fa9_0abf_e4c4,
        0xe443_7ed6_010e_8828,
    ]),
];

/// The limbs of `low + high * 2^128`.
const fn half(low: u128, high: u64) -> [u64; 3] {
    [low as u64 & LIMB, (low >> 52) as u64 & LIMB, (low >> 104) as u64 | high << 24]
}

/// The digits of two odd numbers `a` and `b` of up to 130 bits with `a + b * lambda = number`
/// modulo n, for an integer below n.
///
/// `a = number - c1 * A1 - c2 * A2` and `b = c1 * B1 - c2 * A1`, where c1 and c2 are `number * A1
/// / n` and `number * B1 / n`, rounded down and possibly one too small. So `-A1 - A2 < a < 2 * (A1
/// + A2)`, `|b| < 2 * (A1 + B1)`; then at most one vector of the base each is added, to make a and
/// b odd: below 2^130 in size.
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn split_digits(number: &Scalar) -> [Digits<3>; 2] {
    let number = &number.0;
    let (c1, c2) = (part(number, PER_N[0]), part(number, PER_N[1]));
    let (c1a1, c2a2) = (low_product(&c1, A1), low_product(&c2, A2));
    let (c1b1, c2a1) = (low_product(&c1, B1), low_product(&c2, A1));
    let mut a = [number[0], number[1], number[2]];
    let mut b = a;
    for k in 0..3 {
        a[k] = sub(a[k], add(c1a1[k], c2a2[k]));
        b[k] = sub(c1b1[k], c2a1[k]);
    }
    // A1 and B1 are odd, A2 is even: (A1, -B1) changes the parity of both, (A2, A1) that of b
    let a_even = !_mm512_test_epi64_mask(a[0], splat(1));
    let b_even = !_mm512_test_epi64_mask(b[0], splat(1));
    for k in 0..3 {
        a[k] = _mm512_mask_add_epi64(a[k], a_even, a[k], splat(A1[k]));
        b[k] = _mm512_mask_sub_epi64(b[k], a_even, b[k], splat(B1[k]));
        a[k] = _mm512_mask_sub_epi64(a[k], a_even ^ b_even, a[k], splat(A2[k]));
        b[k] = _mm512_mask_sub_epi64(b[k], a_even ^ b_even, b[k], splat(A1[k]));
    }
    [Digits::new::<130>(sign(a)), Digits::new::<130>(sign(b))]
}

/// `number * per_n / 2^384`, rounded down.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn part(number: &Limbs, per_n: [u64; 5]) -> [Limb; 3] {
    let sum = product([_mm512_setzero_si512(); 10], number, &splat_all(per_n));
    let [.., z7, z8, z9] = borrow(sum);
    let join = |low, high| and(add(down::<20>(low), up::<32>(high)), splat(LIMB));
    [join(z7, z8), join(z8, z9), down::<20>(z9)]
}

/// The product modulo 2^156, not carried.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn low_product(a: &[Limb; 3], b: [u64; 3]) -> [Limb; 3] {
    let mut sum = [_mm512_setzero_si512(); 3];
    for i in 0..3 {
        for j in 0..3 - i {
            sum[i + j] = low(sum[i + j], a[i], splat(b[j]));
            if i + j < 2 {
                sum[i + j + 1] = high(sum[i + j + 1], a[i], splat(b[j]));
            }
        }
    }
    sum
}

/// The number of least size that is equal to this one modulo 2^156, in signed limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn sign(l: [Limb; 3]) -> [Limb; 3] {
    let [l0, l1, l2] = borrow(l);
    [l0, l1, _mm512_srai_epi64::<12>(up::<12>(l2))]
}
