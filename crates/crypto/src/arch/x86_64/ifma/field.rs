//! The field of secp256k1, integers modulo `p = 2^256 - 2^32 - 977`.
//!
//! A number is five limbs in radix 2^52, `sum of limb[i] * 2^(52 * i)`. Every [`Field`] is *tight*:
//! limbs 0 to 3 are below 2^52 and limb 4 is at most 2^48, so that its value is below 2^256 +
//! 2^209. It is not unique: `p + 1` and 1 are both tight. All functions take and return tight
//! elements; each says why its own result is one, and asserts it in debug builds.
//!
//! The multiply-add of IFMA takes the low 52 bits of both factors, and adds the low or the high 52
//! bits of their product to a sum of 64 bits. So factors must have carried limbs, and a sum has
//! room for 4,096 such parts.

use super::limb::{LOW, Lanes, Limb, Mask, carry, is_zero, limbs, product};

/// The bits of limb 4 below 2^256.
const TOP: u64 = (1 << 48) - 1;
/// `2^256 - p`
const FOLD: u64 = 0x1_0000_03d1;
/// `p` in limbs.
pub(super) const P: [u64; 5] = [LOW - FOLD + 1, LOW, LOW, LOW, TOP];

/// Sixteen tight numbers modulo p.
#[derive(Clone, Copy)]
pub(super) struct Field(pub(super) [Limb; 5]);

/// A multiple of p, each of whose limbs is at least `times` the largest limb of a tight number:
/// `(times + 2) * p` with borrowed limbs. To add it before a subtraction keeps limbs positive.
const fn multiple_of_p(times: u64) -> [u64; 5] {
    let (multiple, borrowed) = (times + 2, times + 1);
    let middle = borrowed * LOW;
    [(borrowed << 52) - multiple * FOLD, middle, middle, middle, (multiple << 48) - borrowed]
}
const ONCE: [u64; 5] = multiple_of_p(1);
const TWICE: [u64; 5] = multiple_of_p(2);

/// The tight number of limbs below 2^58.
///
/// What limb 4 holds above 2^256 is below 2^11, and comes back times `FOLD`, below 2^44. Limb 4
/// keeps 48 bits; the carry that then arrives from below is at most 1.
#[inline(always)]
fn tighten([l0, l1, l2, l3, l4]: [Limb; 5]) -> Field {
    let l4 = l4 + (l3 >> 52);
    let l0 = l0.plus_low(l4 >> 48, l0.same(FOLD));
    Field(carry([l0, l1, l2, l3 & LOW, l4 & TOP])).asserted()
}

/// The tight number whose limb k is the sum `limb(k) < 2^58`.
#[inline(always)]
fn linear(limb: impl Fn(usize) -> Limb) -> Field {
    tighten([limb(0), limb(1), limb(2), limb(3), limb(4)])
}

/// The tight number of at most two products of tight numbers.
///
/// The sums are below `2 * 9 * 2^52 < 2^57`. The value is below 2^514, so that with carries the
/// upper half is below 2^254 and its limbs are below 2^52. `2^260` is `16 * FOLD`, of 37 bits:
/// the lower half plus the upper times that is below `2^260 + 2^291`. Again, what is above 2^256 is
/// below 2^36 and comes back times `FOLD` in two parts. Limb 4 keeps 48 bits and the carry that
/// then arrives from below is at most 1.
#[inline(always)]
fn reduce([l0, l1, l2, l3, l4, h0, h1, h2, h3, h4]: [Limb; 10]) -> Field {
    let fold = l0.same(16 * FOLD);
    // the multiply-add ignores what is above 52 bits, so carried limbs need no mask
    let h1 = h1 + (h0 >> 52);
    let h2 = h2 + (h1 >> 52);
    let h3 = h3 + (h2 >> 52);
    let h4 = h4 + (h3 >> 52);
    let l3 = l3.plus_low(h3, fold).plus_high(h2, fold);
    let l4 = l4.plus_low(h4, fold).plus_high(h3, fold);
    let l5 = l0.same(0).plus_high(h4, fold);
    let l0 = l0.plus_low(h0, fold);
    let l1 = l1.plus_low(h1, fold).plus_high(h0, fold);
    let l2 = l2.plus_low(h2, fold).plus_high(h1, fold);
    let l4 = l4 + (l3 >> 52);
    let above = (l4 >> 48) + (l5 << 4);
    let l0 = l0.plus_low(above, l0.same(FOLD));
    let l1 = l1.plus_high(above, l0.same(FOLD));
    Field(carry([l0, l1, l2, l3 & LOW, l4 & TOP])).asserted()
}

/// The square of a tight number: ten sums of weight `2^(52 * i)`, not carried.
#[inline(always)]
fn square_product(a: [Limb; 5]) -> [Limb; 10] {
    let zero = a[0].same(0);
    let (mut low, mut high) = ([zero; 10], [zero; 10]);
    for i in 0..5 {
        for j in i + 1..5 {
            low[i + j] = low[i + j].plus_low(a[i], a[j]);
            high[i + j + 1] = high[i + j + 1].plus_high(a[i], a[j]);
        }
    }
    let mut sum = [zero; 10];
    for i in 0..10 {
        let cross = low[i] + high[i];
        sum[i] = cross + cross;
    }
    for i in 0..5 {
        sum[2 * i] = sum[2 * i].plus_low(a[i], a[i]);
        sum[2 * i + 1] = sum[2 * i + 1].plus_high(a[i], a[i]);
    }
    sum
}

#[inline(always)]
fn sum(a: [Limb; 10], b: [Limb; 10]) -> [Limb; 10] {
    let mut sum = a;
    for (sum, b) in sum.iter_mut().zip(b) {
        *sum = *sum + b;
    }
    sum
}

impl Field {
    /// The same number, below p, in every lane.
    #[inline(always)]
    pub(super) fn splat(lanes: Lanes, words: [u64; 4]) -> Self {
        Field(lanes.splat_all(limbs(words)))
    }

    /// The same number, below p, in every lane.
    #[inline(always)]
    pub(super) fn same(&self, words: [u64; 4]) -> Self {
        let mut out = *self;
        for (out, limb) in out.0.iter_mut().zip(limbs(words)) {
            *out = out.same(limb);
        }
        out
    }

    #[inline(always)]
    fn asserted(self) -> Self {
        #[cfg(debug_assertions)]
        for (i, l) in self.0.iter().enumerate() {
            let most = if i == 4 { TOP + 1 } else { LOW };
            assert!(l.numbers().iter().all(|l| *l <= most), "limb {i} is not tight");
        }
        self
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul(&self, b: &Self) -> Self {
        reduce(product(self.0, b.0))
    }

    /// Replaces `self` by `self * b`.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul_assign(&mut self, b: &Self) {
        *self = reduce(product(self.0, b.0));
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        reduce(square_product(self.0))
    }

    /// Replaces `self` by `self * b + c * d`.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul_add_mul_assign(&mut self, b: &Self, c: &Self, d: &Self) {
        *self = reduce(sum(product(self.0, b.0), product(c.0, d.0)));
    }

    /// Replaces `self` by `a * a + b * c`.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn set_square_add_mul(&mut self, a: &Self, b: &Self, c: &Self) {
        *self = reduce(sum(square_product(a.0), product(b.0, c.0)));
    }

    #[inline(always)]
    pub(super) fn add(&self, b: &Self) -> Self {
        linear(
            #[inline(always)]
            |k| self.0[k] + b.0[k],
        )
    }

    #[inline(always)]
    pub(super) fn sub(&self, b: &Self) -> Self {
        linear(
            #[inline(always)]
            |k| self.0[k].same(ONCE[k]) - b.0[k] + self.0[k],
        )
    }

    /// `self - b - c`
    #[inline(always)]
    pub(super) fn sub_both(&self, b: &Self, c: &Self) -> Self {
        linear(
            #[inline(always)]
            |k| self.0[k].same(TWICE[k]) - b.0[k] - c.0[k] + self.0[k],
        )
    }

    /// `self + b - 2 * c`
    #[inline(always)]
    pub(super) fn add_sub_twice(&self, b: &Self, c: &Self) -> Self {
        linear(
            #[inline(always)]
            |k| self.0[k].same(TWICE[k]) - c.0[k] - c.0[k] + self.0[k] + b.0[k],
        )
    }

    /// `-self - b` in the lanes whose bit is set, `self - b` in the others.
    #[inline(always)]
    pub(super) fn signed_sub(&self, negative: Mask, b: &Self) -> Self {
        linear(
            #[inline(always)]
            |k| {
                let less = self.0[k].same(TWICE[k]) - b.0[k];
                (less + self.0[k]).replaced(negative, less - self.0[k])
            },
        )
    }

    /// `-self` in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(super) fn negated(&self, negative: Mask) -> Self {
        linear(
            #[inline(always)]
            |k| self.0[k].replaced(negative, self.0[k].same(ONCE[k]) - self.0[k]),
        )
    }

    /// `b` in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(super) fn replaced(&self, mask: Mask, b: &Self) -> Self {
        let mut out = *self;
        for (out, b) in out.0.iter_mut().zip(b.0) {
            *out = out.replaced(mask, b);
        }
        out
    }

    /// `self * 3 / 2`: the number and half of it.
    ///
    /// Half of an odd number is half of its sum with p. A limb's lowest bit is 2^51 in the limb
    /// below.
    #[inline(always)]
    pub(super) fn three_halves(&self) -> Self {
        let odd = self.0[0].has(1);
        let mut even = self.0;
        for (even, p) in even.iter_mut().zip(P) {
            *even = *even + even.same(p).only(odd);
        }
        linear(
            #[inline(always)]
            |k| {
                let sum = self.0[k] + (even[k] >> 1);
                if k < 4 { sum + ((even[k + 1] & 1) << 51) } else { sum }
            },
        )
    }

    /// Equal numbers below 2^256: one with limb 4 at its bound becomes a small one.
    #[inline(always)]
    pub(super) fn below_2_256(&self) -> Self {
        tighten(self.0)
    }

    /// The numbers below p, which are unique: one of p or more passes 2^256 when `FOLD` is added.
    #[inline(always)]
    pub(super) fn canonical(&self) -> Self {
        let number = self.below_2_256();
        let mut less = number.0;
        less[0] = less[0] + less[0].same(FOLD);
        let mut less = carry(less);
        let large = less[4].has(TOP + 1);
        less[4] = less[4] & TOP;
        number.replaced(large, &Field(less)).asserted()
    }

    /// The lanes that hold 0.
    #[inline(always)]
    pub(super) fn is_zero(&self) -> Mask {
        is_zero(self.canonical().0)
    }

    /// The lanes of canonical numbers that hold an odd one.
    #[inline(always)]
    pub(super) fn is_odd(&self) -> Mask {
        self.0[0].has(1)
    }

    /// `self^(2^times)`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn squared(&self, times: usize) -> Self {
        let mut out = *self;
        for _ in 0..times {
            out = reduce(square_product(out.0));
        }
        out
    }

    /// The powers `2^2 - 1`, `2^22 - 1` and `2^223 - 1`, of which the exponents below are made:
    /// binary, they are runs of ones of these lengths.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn runs_of_ones(&self) -> [Self; 3] {
        let x2 = self.squared(1).mul(self);
        let x3 = x2.squared(1).mul(self);
        let x6 = x3.squared(3).mul(&x3);
        let x9 = x6.squared(3).mul(&x3);
        let x11 = x9.squared(2).mul(&x2);
        let x22 = x11.squared(11).mul(&x11);
        let x44 = x22.squared(22).mul(&x22);
        let x88 = x44.squared(44).mul(&x44);
        let x176 = x88.squared(88).mul(&x88);
        let x220 = x176.squared(44).mul(&x44);
        [x2, x22, x220.squared(3).mul(&x3)]
    }

    /// `self^((p + 1) / 4)`: a square root, where there is one.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn sqrt(&self) -> Self {
        let [x2, x22, x223] = self.runs_of_ones();
        x223.squared(23).mul(&x22).squared(6).mul(&x2).squared(2)
    }

    /// `self^(p - 2)`: the inverse; 0 for 0.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn invert(&self) -> Self {
        let [x2, x22, x223] = self.runs_of_ones();
        let high = x223.squared(23).mul(&x22).squared(5).mul(self);
        high.squared(3).mul(&x2).squared(2).mul(self)
    }
}
