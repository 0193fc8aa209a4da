//! The field of secp256k1, integers modulo `p = 2^256 - 2^32 - 977`.
//!
//! A number is five limbs in radix 2^52, `sum of limb[i] * 2^(52 * i)`. The multiply-add of IFMA
//! takes the low 52 bits of both factors, and adds the low or the high 52 bits of their product to
//! a sum of 64 bits. So factors must have carried limbs, and a sum has room for 4,096 such parts.
//!
//! There are two kinds, and neither is unique: `p + 1` and 1 are the same element.
//!
//! * [`Loose`]: limbs 0 to 3 are below 2^52 and limb 4 is below 2^51. It can be multiplied.
//! * [`Field`] is tight: limbs 0 to 3 are below 2^52 and limb 4 is at most 2^48, so that its value
//!   is below 2^256 + 2^209. It can also be subtracted. Every tight number is a loose one.
//!
//! All products are tight. Each function says why its result is what it returns, and asserts it in
//! debug builds.

use core::ops::Deref;

use super::limb::{LOW, Lanes, Limb, Mask, add_product, carry, is_zero, limbs, product, square};

/// The bits of limb 4 below 2^256.
const TOP: u64 = (1 << 48) - 1;
/// `2^256 - p`
const FOLD: u64 = 0x1_0000_03d1;
/// `p` in limbs.
pub(super) const P: [u64; 5] = [LOW - FOLD + 1, LOW, LOW, LOW, TOP];

/// Sixteen numbers modulo p that can be multiplied.
#[derive(Clone, Copy)]
pub(super) struct Loose([Limb; 5]);

/// Sixteen tight numbers modulo p.
#[derive(Clone, Copy)]
pub(super) struct Field(Loose);

impl Deref for Field {
    type Target = Loose;

    #[inline(always)]
    fn deref(&self) -> &Loose {
        &self.0
    }
}

/// A multiple of p, each of whose limbs is at least `times` the largest limb of a tight number:
/// `(times + 2) * p` with borrowed limbs. To add it before a subtraction keeps limbs positive.
const fn multiple_of_p(times: u64) -> [u64; 5] {
    let (multiple, borrowed) = (times + 2, times + 1);
    let middle = borrowed * LOW;
    [(borrowed << 52) - multiple * FOLD, middle, middle, middle, (multiple << 48) - borrowed]
}
const ONCE: [u64; 5] = multiple_of_p(1);
const TWICE: [u64; 5] = multiple_of_p(2);

/// The loose number whose limb k is the sum `limb(k) < 2^58`, and limb 4 also below 2^50.
#[inline(always)]
fn loose(limb: impl Fn(usize) -> Limb) -> Loose {
    Loose(carry([limb(0), limb(1), limb(2), limb(3), limb(4)])).asserted(1 << 51)
}

/// The tight number whose limb k is the sum `limb(k) < 2^58`.
///
/// What limb 4 holds above 2^256 is below 2^11, and comes back times `FOLD`, below 2^44. Limb 4
/// keeps 48 bits; the carry that then arrives from below is at most 1.
#[inline(always)]
fn tight(limb: impl Fn(usize) -> Limb) -> Field {
    let [l0, l1, l2, l3, l4] = [limb(0), limb(1), limb(2), limb(3), limb(4)];
    let l4 = l4 + (l3 >> 52);
    let l0 = l0.plus_low(l4 >> 48, l0.same(FOLD));
    Field(Loose(carry([l0, l1, l2, l3 & LOW, l4 & TOP])).asserted(TOP + 1))
}

/// The tight number of at most two products of loose numbers.
///
/// The sums are below `2 * 9 * 2^52 < 2^57`. The value is below 2^519, so that with carries the
/// upper half is below 2^259 and its limbs are below 2^52. `2^260` is `16 * FOLD`, of 37 bits: the
/// lower half plus the upper times that is below 2^297. Again, what is above 2^256 is below 2^42
/// and comes back times `FOLD` in two parts. Limb 4 keeps 48 bits, and the carry that then arrives
/// from below is at most 1.
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
    Field(Loose(carry([l0, l1, l2, l3 & LOW, l4 & TOP])).asserted(TOP + 1))
}

impl Loose {
    /// The same, asserted to have limbs 0 to 3 below 2^52 and limb 4 of `most` at most.
    #[inline(always)]
    fn asserted(self, most: u64) -> Self {
        if cfg!(debug_assertions) {
            for (limb, most) in self.0.iter().zip([LOW, LOW, LOW, LOW, most]) {
                assert!(limb.numbers().iter().all(|limb| *limb <= most), "a limb above {most}");
            }
        }
        self
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul(&self, b: &Self) -> Field {
        reduce(product(self.0, b.0))
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn square(&self) -> Field {
        reduce(square(self.0))
    }

    /// The lanes that hold 0.
    #[inline(always)]
    pub(super) fn is_zero(&self) -> Mask {
        is_zero(
            tight(
                #[inline(always)]
                |k| self.0[k],
            )
            .canonical()
            .limbs(),
        )
    }
}

impl Field {
    /// The numbers of these limbs, which are carried and below 2^256.
    #[inline(always)]
    pub(super) fn new(limbs: [Limb; 5]) -> Self {
        Field(Loose(limbs).asserted(TOP))
    }

    #[inline(always)]
    pub(super) fn limbs(&self) -> [Limb; 5] {
        self.0.0
    }

    /// The same number, below p, in every lane.
    #[inline(always)]
    pub(super) fn splat(lanes: Lanes, words: [u64; 4]) -> Self {
        Field::new(lanes.splat_all(limbs(words)))
    }

    /// The same number, below p, in every lane.
    #[inline(always)]
    pub(super) fn same(&self, words: [u64; 4]) -> Self {
        let mut out = self.limbs();
        for (out, limb) in out.iter_mut().zip(limbs(words)) {
            *out = out.same(limb);
        }
        Field::new(out)
    }

    /// Replaces `self` by `self * b`.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul_assign(&mut self, b: &Loose) {
        *self = reduce(product(self.limbs(), b.0));
    }

    /// Replaces `self` by `self * b + c * d`.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul_add_mul_assign(&mut self, b: &Loose, c: &Loose, d: &Loose) {
        *self = reduce(add_product(product(self.limbs(), b.0), c.0, d.0));
    }

    /// Replaces `self` by `a * a + b * c`.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn set_square_add_mul(&mut self, a: &Loose, b: &Loose, c: &Loose) {
        *self = reduce(add_product(square(a.0), b.0, c.0));
    }

    #[inline(always)]
    pub(super) fn add(&self, b: &Self) -> Self {
        let (a, b) = (self.limbs(), b.limbs());
        tight(
            #[inline(always)]
            |k| a[k] + b[k],
        )
    }

    /// `self - b`, with limb 4 up to 4 times 2^48.
    #[inline(always)]
    pub(super) fn sub(&self, b: &Self) -> Loose {
        let (a, b) = (self.limbs(), b.limbs());
        loose(
            #[inline(always)]
            |k| a[k].same(ONCE[k]) - b[k] + a[k],
        )
    }

    /// `-self - b` in the lanes whose bit is set, `self - b` in the others, with limb 4 up to 5
    /// times 2^48.
    #[inline(always)]
    pub(super) fn signed_sub(&self, negative: Mask, b: &Self) -> Loose {
        let (a, b) = (self.limbs(), b.limbs());
        loose(
            #[inline(always)]
            |k| {
                let less = a[k].same(TWICE[k]) - b[k];
                (less + a[k]).replaced(negative, less - a[k])
            },
        )
    }

    /// `self - b`
    #[inline(always)]
    pub(super) fn sub_tight(&self, b: &Self) -> Self {
        let (a, b) = (self.limbs(), b.limbs());
        tight(
            #[inline(always)]
            |k| a[k].same(ONCE[k]) - b[k] + a[k],
        )
    }

    /// `self - b - c`
    #[inline(always)]
    pub(super) fn sub_both(&self, b: &Self, c: &Self) -> Self {
        let (a, b, c) = (self.limbs(), b.limbs(), c.limbs());
        tight(
            #[inline(always)]
            |k| a[k].same(TWICE[k]) - b[k] - c[k] + a[k],
        )
    }

    /// `self + b - 2 * c`
    #[inline(always)]
    pub(super) fn add_sub_twice(&self, b: &Self, c: &Self) -> Self {
        let (a, b, c) = (self.limbs(), b.limbs(), c.limbs());
        tight(
            #[inline(always)]
            |k| a[k].same(TWICE[k]) - c[k] - c[k] + a[k] + b[k],
        )
    }

    /// `-self` in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(super) fn negated(&self, negative: Mask) -> Self {
        let a = self.limbs();
        tight(
            #[inline(always)]
            |k| a[k].replaced(negative, a[k].same(ONCE[k]) - a[k]),
        )
    }

    /// `b` in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(super) fn replaced(&self, mask: Mask, b: &Self) -> Self {
        let mut out = self.limbs();
        for (out, b) in out.iter_mut().zip(b.limbs()) {
            *out = out.replaced(mask, b);
        }
        Field(Loose(out))
    }

    /// `self * 3 / 2`: the number and half of it, with limb 4 up to twice 2^48.
    ///
    /// Half of an odd number is half of its sum with p. A limb's lowest bit is 2^51 in the limb
    /// below.
    #[inline(always)]
    pub(super) fn three_halves(&self) -> Loose {
        let a = self.limbs();
        let odd = a[0].has(1);
        let mut even = a;
        for (even, p) in even.iter_mut().zip(P) {
            *even = *even + even.same(p).only(odd);
        }
        loose(
            #[inline(always)]
            |k| {
                let sum = a[k] + (even[k] >> 1);
                if k < 4 { sum + ((even[k + 1] & 1) << 51) } else { sum }
            },
        )
    }

    /// Equal numbers below 2^256: one with limb 4 at its bound becomes a small one.
    #[inline(always)]
    pub(super) fn below_2_256(&self) -> Self {
        tight(
            #[inline(always)]
            |k| self.limbs()[k],
        )
    }

    /// The numbers below p, which are unique: one of p or more passes 2^256 when `FOLD` is added.
    #[inline(always)]
    pub(super) fn canonical(&self) -> Self {
        let number = self.below_2_256();
        let mut less = number.limbs();
        less[0] = less[0] + less[0].same(FOLD);
        let mut less = carry(less);
        let large = less[4].has(TOP + 1);
        less[4] = less[4] & TOP;
        number.replaced(large, &Field::new(less))
    }

    /// The lanes of canonical numbers that hold an odd one.
    #[inline(always)]
    pub(super) fn is_odd(&self) -> Mask {
        self.limbs()[0].has(1)
    }

    /// `self^(2^times)`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn squared(&self, times: usize) -> Self {
        let mut out = *self;
        for _ in 0..times {
            out = reduce(square(out.limbs()));
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

#[cfg(test)]
mod tests;
