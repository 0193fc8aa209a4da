//! The field of secp256k1, integers modulo `p = 2^256 - 2^32 - 977`, many elements at once.
//!
//! A number is five limbs in radix 2^52, `sum of limb[i] * 2^(52 * i)`. Each limb is a vector that
//! holds it for eight numbers, and a [`Field`] is `W` such groups of five vectors. Operations on
//! one group wait long for each other's results; those of the next group fill the gaps.
//!
//! Every `Field` is *tight*: limbs 0 to 3 are below 2^52 and limb 4 is at most 2^48, so that its
//! value is below 2^256 + 2^209. It is not unique: `p + 1` and 1 are both tight. All functions take
//! and return tight elements; each says why its own result is one, and asserts it in debug builds.
//!
//! The multiply-add of IFMA takes the low 52 bits of both factors, and adds the low or the high 52
//! bits of their product to a sum of 64 bits. So factors must have carried limbs, and a sum has
//! room for 4,096 such parts.

use core::arch::x86_64::{
    __m512i, __mmask8, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpeq_epi64_mask,
    _mm512_cmpge_epu64_mask, _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64,
    _mm512_mask_add_epi64, _mm512_mask_mov_epi64, _mm512_mask_sub_epi64, _mm512_or_si512,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_sub_epi64, _mm512_test_epi64_mask,
};

/// A limb of eight numbers.
pub(super) type Limb = __m512i;
/// All limbs of eight numbers.
pub(super) type Limbs = [Limb; 5];

/// The low bits of a limb.
const LIMB: u64 = (1 << 52) - 1;
/// The bits of limb 4 below 2^256.
const TOP: u64 = (1 << 48) - 1;
/// `2^256 - p`
const FOLD: u64 = 0x1_0000_03d1;
/// `p` in limbs.
pub(super) const P: [u64; 5] = [LIMB - FOLD + 1, LIMB, LIMB, LIMB, TOP];

/// `8 * W` tight numbers modulo p.
#[derive(Clone, Copy)]
pub(super) struct Field<const W: usize>(pub(super) [Limbs; W]);

/// The limbs of an integer below 2^256, which is given in words of 64 bits, the lowest first.
pub(super) const fn limbs(words: [u64; 4]) -> [u64; 5] {
    let [w0, w1, w2, w3] = words;
    [
        w0 & LIMB,
        (w0 >> 52 | w1 << 12) & LIMB,
        (w1 >> 40 | w2 << 24) & LIMB,
        (w2 >> 28 | w3 << 36) & LIMB,
        w3 >> 16,
    ]
}

/// A multiple of p, each of whose limbs is at least `times` the largest limb of a tight number:
/// `(times + 2) * p` with borrowed limbs. To add it before a subtraction keeps limbs positive.
const fn multiple_of_p(times: u64) -> [u64; 5] {
    let (multiple, borrowed) = (times + 2, times + 1);
    let middle = borrowed * LIMB;
    [
        (borrowed << 52) - multiple * FOLD,
        middle,
        middle,
        middle,
        (multiple << 48) - borrowed,
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn splat(limb: u64) -> Limb {
    _mm512_set1_epi64(limb as i64)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn splat_all(limbs: [u64; 5]) -> Limbs {
    [splat(limbs[0]), splat(limbs[1]), splat(limbs[2]), splat(limbs[3]), splat(limbs[4])]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn add(a: Limb, b: Limb) -> Limb {
    _mm512_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn sub(a: Limb, b: Limb) -> Limb {
    _mm512_sub_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn and(a: Limb, b: Limb) -> Limb {
    _mm512_and_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn down<const N: u32>(a: Limb) -> Limb {
    _mm512_srli_epi64::<N>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn up<const N: u32>(a: Limb) -> Limb {
    _mm512_slli_epi64::<N>(a)
}

/// `sum` plus the low 52 bits of `a * b`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn low(sum: Limb, a: Limb, b: Limb) -> Limb {
    _mm512_madd52lo_epu64(sum, a, b)
}

/// `sum` plus the high 52 bits of `a * b`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn high(sum: Limb, a: Limb, b: Limb) -> Limb {
    _mm512_madd52hi_epu64(sum, a, b)
}

/// Takes what each of the limbs 0 to 3 holds above 52 bits to the next.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn carry(mut l: Limbs) -> Limbs {
    let mask = splat(LIMB);
    l[1] = add(l[1], down::<52>(l[0]));
    l[0] = and(l[0], mask);
    l[2] = add(l[2], down::<52>(l[1]));
    l[1] = and(l[1], mask);
    l[3] = add(l[3], down::<52>(l[2]));
    l[2] = and(l[2], mask);
    l[4] = add(l[4], down::<52>(l[3]));
    l[3] = and(l[3], mask);
    l
}

/// The tight number of limbs below 2^58.
///
/// What limb 4 holds above 2^256 is below 2^11, and comes back times `FOLD`, below 2^44. Limb 4
/// keeps 48 bits; the carry that then arrives from below is at most 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn tighten(mut l: Limbs) -> Limbs {
    l[4] = add(l[4], down::<52>(l[3]));
    l[3] = and(l[3], splat(LIMB));
    let above = down::<48>(l[4]);
    l[4] = and(l[4], splat(TOP));
    l[0] = low(l[0], above, splat(FOLD));
    carry(l)
}

/// The product of `a` and `b`, added to `sum`: ten sums of weight `2^(52 * i)`, not carried.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn product(mut sum: [Limb; 10], a: &Limbs, b: &Limbs) -> [Limb; 10] {
    for i in 0..5 {
        for j in 0..5 {
            sum[i + j] = low(sum[i + j], a[i], b[j]);
        }
        for j in 0..5 {
            sum[i + j + 1] = high(sum[i + j + 1], a[i], b[j]);
        }
    }
    sum
}

/// The square of `a`: ten sums of weight `2^(52 * i)`, not carried.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn square_product(a: &Limbs) -> [Limb; 10] {
    let mut sum = [_mm512_setzero_si512(); 10];
    for i in 0..5 {
        for j in i + 1..5 {
            sum[i + j] = low(sum[i + j], a[i], a[j]);
            sum[i + j + 1] = high(sum[i + j + 1], a[i], a[j]);
        }
    }
    for sum in &mut sum[1..9] {
        *sum = add(*sum, *sum);
    }
    for i in 0..5 {
        sum[2 * i] = low(sum[2 * i], a[i], a[i]);
        sum[2 * i + 1] = high(sum[2 * i + 1], a[i], a[i]);
    }
    sum
}

/// The tight number of at most two products of tight numbers.
///
/// The sums are below `2 * 10 * 2^52 < 2^57`. The value is below 2^514, so that with carries the
/// upper half is below 2^254 and its limbs are below 2^52. `2^260` is `16 * FOLD`, of 37 bits:
/// the lower half plus the upper times that is below `2^260 + 2^291`. Again, what is above 2^256 is
/// below 2^36 and comes back times `FOLD` in two parts. Limb 4 keeps 48 bits and the carry that
/// then arrives from below is at most 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn reduce(sum: [Limb; 10]) -> Limbs {
    let [mut l0, mut l1, mut l2, mut l3, mut l4, h0, h1, h2, h3, h4] = sum;
    let fold = splat(16 * FOLD);
    // the multiply-add ignores what is above 52 bits, so carried limbs need no mask
    let h1 = add(h1, down::<52>(h0));
    let h2 = add(h2, down::<52>(h1));
    let h3 = add(h3, down::<52>(h2));
    let h4 = add(h4, down::<52>(h3));
    l3 = high(low(l3, h3, fold), h2, fold);
    l4 = high(low(l4, h4, fold), h3, fold);
    let l5 = high(_mm512_setzero_si512(), h4, fold);
    l0 = low(l0, h0, fold);
    l1 = high(low(l1, h1, fold), h0, fold);
    l2 = high(low(l2, h2, fold), h1, fold);
    l4 = add(l4, down::<52>(l3));
    l3 = and(l3, splat(LIMB));
    let above = add(down::<48>(l4), up::<4>(l5));
    l4 = and(l4, splat(TOP));
    l0 = low(l0, above, splat(FOLD));
    l1 = high(l1, above, splat(FOLD));
    carry([l0, l1, l2, l3, l4])
}

impl<const W: usize> Field<W> {
    /// The same number in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn splat(words: [u64; 4]) -> Self {
        Field([splat_all(limbs(words)); W])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn asserted(self) -> Self {
        #[cfg(debug_assertions)]
        for l in &self.0 {
            for (i, l) in l.iter().enumerate() {
                let most = if i == 4 { TOP + 1 } else { LIMB };
                assert!(words(*l).iter().all(|l| *l <= most), "limb {i} is not tight");
            }
        }
        self
    }

    /// The tight numbers whose limb `k` of group `w` is the sum `limb(w, k) < 2^58`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn linear(limb: impl Fn(usize, usize) -> Limb) -> Self {
        let mut out = [[_mm512_setzero_si512(); 5]; W];
        for (w, out) in out.iter_mut().enumerate() {
            *out = tighten([limb(w, 0), limb(w, 1), limb(w, 2), limb(w, 3), limb(w, 4)]);
        }
        Field(out).asserted()
    }

    /// `self * b`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul(&self, b: &Self) -> Self {
        let mut out = [[_mm512_setzero_si512(); 5]; W];
        for (out, (a, b)) in out.iter_mut().zip(self.0.iter().zip(&b.0)) {
            *out = reduce(product([_mm512_setzero_si512(); 10], a, b));
        }
        Field(out).asserted()
    }

    /// `self * self`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        let mut out = [[_mm512_setzero_si512(); 5]; W];
        for (out, a) in out.iter_mut().zip(&self.0) {
            *out = reduce(square_product(a));
        }
        Field(out).asserted()
    }

    /// `self * b + c * d`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn mul_add_mul(&self, b: &Self, c: &Self, d: &Self) -> Self {
        let mut out = [[_mm512_setzero_si512(); 5]; W];
        for w in 0..W {
            let sum = product([_mm512_setzero_si512(); 10], &self.0[w], &b.0[w]);
            out[w] = reduce(product(sum, &c.0[w], &d.0[w]));
        }
        Field(out).asserted()
    }

    /// `self * self + b * c`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn square_add_mul(&self, b: &Self, c: &Self) -> Self {
        let mut out = [[_mm512_setzero_si512(); 5]; W];
        for w in 0..W {
            out[w] = reduce(product(square_product(&self.0[w]), &b.0[w], &c.0[w]));
        }
        Field(out).asserted()
    }

    /// `self + b`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn add(&self, b: &Self) -> Self {
        Self::linear(|w, k| add(self.0[w][k], b.0[w][k]))
    }

    /// `self - b`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn sub(&self, b: &Self) -> Self {
        let bias = splat_all(const { multiple_of_p(1) });
        Self::linear(|w, k| add(self.0[w][k], sub(bias[k], b.0[w][k])))
    }

    /// `self - b - c`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn sub_both(&self, b: &Self, c: &Self) -> Self {
        let bias = splat_all(const { multiple_of_p(2) });
        Self::linear(|w, k| add(self.0[w][k], sub(bias[k], add(b.0[w][k], c.0[w][k]))))
    }

    /// `self - 2 * b`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn sub_twice(&self, b: &Self) -> Self {
        self.sub_both(b, b)
    }

    /// `self + b - 2 * c`
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn add_sub_twice(&self, b: &Self, c: &Self) -> Self {
        let bias = splat_all(const { multiple_of_p(2) });
        Self::linear(|w, k| {
            add(add(self.0[w][k], b.0[w][k]), sub(bias[k], add(c.0[w][k], c.0[w][k])))
        })
    }

    /// `-self - b` in the lanes whose bit is set, `self - b` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn signed_sub(&self, negative: [__mmask8; W], b: &Self) -> Self {
        let bias = splat_all(const { multiple_of_p(2) });
        Self::linear(|w, k| {
            let (a, rest) = (self.0[w][k], sub(bias[k], b.0[w][k]));
            _mm512_mask_sub_epi64(add(rest, a), negative[w], rest, a)
        })
    }

    /// `-self` in the lanes whose bit is set, `self` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn negate_where(&self, negative: [__mmask8; W]) -> Self {
        let bias = splat_all(const { multiple_of_p(1) });
        Self::linear(|w, k| _mm512_mask_sub_epi64(self.0[w][k], negative[w], bias[k], self.0[w][k]))
    }

    /// `b` in the lanes whose bit is set, `self` in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn replaced_where(&self, mask: [__mmask8; W], b: &Self) -> Self {
        let mut out = *self;
        for w in 0..W {
            for k in 0..5 {
                out.0[w][k] = _mm512_mask_mov_epi64(self.0[w][k], mask[w], b.0[w][k]);
            }
        }
        out
    }

    /// `self * 3 / 2`: the number and half of it.
    ///
    /// Half of an odd number is half of its sum with p. A limb's lowest bit is 2^51 in the limb
    /// below.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn three_halves(&self) -> Self {
        let (p, one) = (splat_all(P), splat(1));
        let mut even = self.0;
        for l in &mut even {
            let odd = _mm512_test_epi64_mask(l[0], one);
            for (l, p) in l.iter_mut().zip(p) {
                *l = _mm512_mask_add_epi64(*l, odd, *l, p);
            }
        }
        Self::linear(|w, k| {
            let sum = add(self.0[w][k], down::<1>(even[w][k]));
            if k < 4 { add(sum, up::<51>(and(even[w][k + 1], one))) } else { sum }
        })
    }

    /// The numbers below p, which are unique.
    ///
    /// A tight number with limb 4 at its bound becomes a small one; then all are below 2^256, and
    /// one of `p` or more is one that passes 2^256 when `FOLD` is added.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn canonical(&self) -> Self {
        let mut out = self.0;
        for l in &mut out {
            *l = tighten(*l);
            let mut less = *l;
            less[0] = add(less[0], splat(FOLD));
            let mut less = carry(less);
            let large = _mm512_cmpge_epu64_mask(less[4], splat(TOP + 1));
            less[4] = and(less[4], splat(TOP));
            for (l, less) in l.iter_mut().zip(less) {
                *l = _mm512_mask_mov_epi64(*l, large, less);
            }
        }
        Field(out).asserted()
    }

    /// The lanes that hold 0.
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn is_zero(&self) -> [__mmask8; W] {
        let mut zero = [0; W];
        for (zero, l) in zero.iter_mut().zip(&self.canonical().0) {
            let some = _mm512_or_si512(_mm512_or_si512(l[0], l[1]), _mm512_or_si512(l[2], l[3]));
            let some = _mm512_or_si512(some, l[4]);
            *zero = _mm512_cmpeq_epi64_mask(some, _mm512_setzero_si512());
        }
        zero
    }

    /// The lanes of a canonical element that hold an odd number.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    pub(super) fn is_odd(&self) -> [__mmask8; W] {
        let mut odd = [0; W];
        for (odd, l) in odd.iter_mut().zip(&self.0) {
            *odd = _mm512_test_epi64_mask(l[0], splat(1));
        }
        odd
    }

    /// `self^(2^times)`
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn squared(&self, times: usize) -> Self {
        let mut out = *self;
        for _ in 0..times {
            out = out.square();
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

/// The limbs of eight integers below 2^256, which are given in big-endian bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn load(numbers: [&[u8; 32]; 8]) -> Limbs {
    let mut rows = [[0; 8]; 4];
    for (lane, number) in numbers.into_iter().enumerate() {
        let (words, _) = number.as_chunks::<8>();
        for (row, word) in rows.iter_mut().zip(words.iter().rev()) {
            row[lane] = u64::from_be_bytes(*word);
        }
    }
    split([vector(&rows[0]), vector(&rows[1]), vector(&rows[2]), vector(&rows[3])])
}

/// The limbs of eight integers below 2^256, which are given in words of 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn split([w0, w1, w2, w3]: [__m512i; 4]) -> Limbs {
    let mask = splat(LIMB);
    [
        and(w0, mask),
        and(_mm512_or_si512(down::<52>(w0), up::<12>(w1)), mask),
        and(_mm512_or_si512(down::<40>(w1), up::<24>(w2)), mask),
        and(_mm512_or_si512(down::<28>(w2), up::<36>(w3)), mask),
        down::<16>(w3),
    ]
}

/// The words of 64 bits of carried limbs below 2^256.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn join(l: &Limbs) -> [__m512i; 4] {
    [
        _mm512_or_si512(l[0], up::<52>(l[1])),
        _mm512_or_si512(down::<12>(l[1]), up::<40>(l[2])),
        _mm512_or_si512(down::<24>(l[2]), up::<28>(l[3])),
        _mm512_or_si512(down::<36>(l[3]), up::<16>(l[4])),
    ]
}

/// Eight integers below 2^256 in big-endian bytes, of carried limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn store(l: &Limbs) -> [[u8; 32]; 8] {
    let mut numbers = [[0; 32]; 8];
    let rows = join(l);
    for (i, row) in rows.into_iter().rev().enumerate() {
        for (number, word) in numbers.iter_mut().zip(words(row)) {
            number[8 * i..8 * i + 8].copy_from_slice(&word.to_be_bytes());
        }
    }
    numbers
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn vector(words: &[u64; 8]) -> __m512i {
    // SAFETY: the load reads the 64 bytes of `words`.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
pub(super) fn words(vector: __m512i) -> [u64; 8] {
    let mut words = [0; 8];
    // SAFETY: the store writes the 64 bytes of `words`.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}
