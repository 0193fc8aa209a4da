//! Vectors of sixteen numbers of 64 bits, and integers in radix 2^52 built from them.
//!
//! The code of this folder is written once for all kinds of vectors and has no `unsafe`: the
//! instructions of a CPU are in `arch`, as an implementation of [`Limb`]. Everything that a loop
//! does often is inlined into a function for which the CPU's features are enabled, see
//! [`Limb::run`]; so all sums and products of a formula stay in registers as far as possible.

use core::fmt;
use core::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

/// Number of lanes of a limb.
pub(crate) const LANES: usize = 16;

/// The low 52 bits.
pub(crate) const LOW: u64 = (1 << 52) - 1;

/// A bit for each lane.
pub(crate) type Mask = u16;

/// x and y of an affine point in words of 64 bits, the lowest first: one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Entry(pub(crate) [u64; 8]);

impl Entry {
    pub(crate) const ZERO: Self = Entry([0; 8]);
}

/// The registers that a formula is worked out in at once: a number in each lane, 64 bits, of which
/// an integer in radix 2^52 uses the low 52, but for sums that are not carried yet. A value is the
/// proof that the CPU has what the operations need.
///
/// No operation mixes lanes.
pub(crate) trait Part:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitAnd<u64, Output = Self>
    + Shl<u64, Output = Self>
    + Shr<u64, Output = Self>
{
    /// A number that can be multiplied.
    type Factor: Copy;

    /// The low parts of products lie between -2^51 and 2^51, the high parts between 0 and 2^52.
    /// Otherwise both are from 0 to 2^52 - 1.
    const SIGNED: bool;

    /// The initial value of a sum, modulo 2^64, so that it is right when this many low and high
    /// parts of products have been added.
    fn begin(low: u64, high: u64) -> u64;

    /// The same number in every lane.
    fn same(self, number: u64) -> Self;

    /// The factor of numbers below 2^52.
    fn factor(self) -> Self::Factor;

    /// The factor of the low 52 bits.
    fn low_factor(self) -> Self::Factor;

    /// Adds the parts of a product, `low + 2^52 * high`, to a sum each, see [`Part::begin`].
    fn plus_product(sums: [Self; 2], a: Self::Factor, b: Self::Factor) -> [Self; 2];

    /// Adds the parts of the product of two integers with carried limbs to ten sums of weight
    /// `2^(52 * i)`, as many as [`parts_of_product`] tells.
    fn plus_products(sums: [Self; 10], a: [Self; 5], b: [Self; 5]) -> [Self; 10];

    /// Adds the parts of the square of an integer with carried limbs, as many as those of a
    /// product.
    fn plus_squares(sums: [Self; 10], a: [Self; 5]) -> [Self; 10];

    /// `self` plus the low 52 bits of the product of the low 52 bits of both factors.
    fn plus_low(self, a: Self, b: Self) -> Self;

    /// `self` plus the high 52 bits of the product of the low 52 bits of both factors.
    fn plus_high(self, a: Self, b: Self) -> Self;

    /// `self` plus a product that is below 2^52.
    fn plus_small(self, a: Self, b: u64) -> Self;

    /// `self / 2^bits`, rounded down, of signed numbers.
    fn signed_shift(self, bits: u64) -> Self;

    /// `other` in the lanes whose bit is set, `self` in the rest.
    fn replaced(self, mask: Mask, other: Self) -> Self;

    /// `self` in the lanes whose number is odd, 0 in the rest.
    fn where_odd(self, number: Self) -> Self;
}

/// A number in each of the sixteen lanes.
pub(crate) trait Limb: Part {
    /// Proof that the CPU has the features.
    type Proof: Copy + fmt::Debug + Send + Sync;

    /// The unit of computation of formulas: as many lanes as keep the CPU busy and fit in its
    /// registers.
    type Part: Part;

    /// The proof, or `None` on a CPU without the features.
    fn proof() -> Option<Self::Proof>;

    /// Runs `work` in a function of its own, for which the CPU's features are enabled. Only code
    /// that is inlined into `work` profits: closures and functions marked `inline(always)`.
    ///
    /// Two arguments are passed in registers, captures of `work` in memory.
    fn run_with<A, R>(proof: Self::Proof, arguments: A, work: impl FnOnce(A) -> R) -> R;

    /// Runs `work` without arguments.
    #[inline(always)]
    fn run<R>(proof: Self::Proof, work: impl FnOnce() -> R) -> R {
        Self::run_with(
            proof,
            (),
            #[inline(always)]
            |()| work(),
        )
    }

    /// Runs `work` for each part of the limbs, one after the other, with the mask's bits for its
    /// lanes.
    fn each<const N: usize>(
        inputs: [&[Self; 5]; N],
        mask: Mask,
        work: impl Fn([[Self::Part; 5]; N], Mask) -> [Self::Part; 5],
    ) -> [Self; 5];

    /// Replaces the first limbs by what `work` makes of each part of them and of the others.
    fn replace_each<const N: usize>(
        first: &mut [Self; 5],
        inputs: [&[Self; 5]; N],
        work: impl Fn([Self::Part; 5], [[Self::Part; 5]; N]) -> [Self::Part; 5],
    );

    /// The same number in every lane.
    fn splat(proof: Self::Proof, number: u64) -> Self;

    /// A number for each lane.
    fn load(proof: Self::Proof, numbers: &[u64; LANES]) -> Self;

    /// The words of an entry for each lane.
    fn gather<'a>(proof: Self::Proof, entry: impl Fn(usize) -> &'a Entry) -> [Self; 8];

    /// Gives `entry` the words of each lane.
    fn scatter(words: [Self; 8], entry: impl FnMut(usize, Entry));

    /// The proof that this value is.
    fn proven(self) -> Self::Proof;

    /// The lanes that have one of these bits.
    fn has(self, bits: u64) -> Mask;

    /// The lanes that hold 0.
    fn is_zero(self) -> Mask;

    /// The lanes that hold a negative number.
    fn is_negative(self) -> Mask;

    /// The number of each lane.
    fn numbers(self) -> [u64; LANES];

    /// `self` in the lanes whose bit is set, 0 in the rest.
    #[inline(always)]
    fn only(self, mask: Mask) -> Self {
        self.same(0).replaced(mask, self)
    }
}

/// The limbs of the same number in every lane.
#[inline(always)]
pub(crate) fn splat_all<L: Limb, const K: usize>(proof: L::Proof, limbs: [u64; K]) -> [L; K] {
    let mut all = [L::splat(proof, 0); K];
    for (limb, number) in all.iter_mut().zip(limbs) {
        *limb = L::splat(proof, number);
    }
    all
}

/// The limbs of integers below 2^256, which are given for each lane in big-endian bytes.
#[inline(always)]
pub(crate) fn load<'a, L: Limb>(proof: L::Proof, number: impl Fn(usize) -> &'a [u8; 32]) -> [L; 5] {
    let mut rows = [[0; LANES]; 4];
    for lane in 0..LANES {
        let (words, _) = number(lane).as_chunks::<8>();
        for (row, word) in rows.iter_mut().zip(words.iter().rev()) {
            row[lane] = u64::from_be_bytes(*word);
        }
    }
    let [w0, w1, w2, w3] = &rows;
    split([L::load(proof, w0), L::load(proof, w1), L::load(proof, w2), L::load(proof, w3)])
}

/// The limbs of an integer below 2^256, which is given in words of 64 bits, the lowest first.
pub(crate) const fn limbs(words: [u64; 4]) -> [u64; 5] {
    let [w0, w1, w2, w3] = words;
    [
        w0 & LOW,
        (w0 >> 52 | w1 << 12) & LOW,
        (w1 >> 40 | w2 << 24) & LOW,
        (w2 >> 28 | w3 << 36) & LOW,
        w3 >> 16,
    ]
}

/// The limbs of integers below 2^256, which are given in words of 64 bits.
#[inline(always)]
pub(crate) fn split<L: Limb>([w0, w1, w2, w3]: [L; 4]) -> [L; 5] {
    [
        w0 & LOW,
        (w0 >> 52 | w1 << 12) & LOW,
        (w1 >> 40 | w2 << 24) & LOW,
        (w2 >> 28 | w3 << 36) & LOW,
        w3 >> 16,
    ]
}

/// The words of 64 bits of carried limbs below 2^256.
#[inline(always)]
pub(crate) fn join<L: Limb>([l0, l1, l2, l3, l4]: [L; 5]) -> [L; 4] {
    [l0 | l1 << 52, l1 >> 12 | l2 << 40, l2 >> 24 | l3 << 28, l3 >> 36 | l4 << 16]
}

/// Integers below 2^256 in big-endian bytes, of carried limbs.
#[inline(always)]
pub(crate) fn store<L: Limb>(limbs: [L; 5]) -> [[u8; 32]; LANES] {
    let [w0, w1, w2, w3] = join(limbs);
    let rows = [w3.numbers(), w2.numbers(), w1.numbers(), w0.numbers()];
    let mut numbers = [[0; 32]; LANES];
    for (lane, number) in numbers.iter_mut().enumerate() {
        let (words, _) = number.as_chunks_mut::<8>();
        for (word, row) in words.iter_mut().zip(&rows) {
            *word = row[lane].to_be_bytes();
        }
    }
    numbers
}

/// Moves the bits of each limb but the last above 52 bits to the next.
#[inline(always)]
pub(crate) fn carry<L: Part, const K: usize>(mut l: [L; K]) -> [L; K] {
    for k in 1..K {
        l[k] = l[k] + (l[k - 1] >> 52);
        l[k - 1] = l[k - 1] & LOW;
    }
    l
}

/// Carries signed limbs; the last keeps the sign.
#[inline(always)]
pub(crate) fn signed_carry<L: Part, const K: usize>(mut l: [L; K]) -> [L; K] {
    for k in 1..K {
        l[k] = l[k] + l[k - 1].signed_shift(52);
        l[k - 1] = l[k - 1] & LOW;
    }
    l
}

/// Number of low and high parts that are added to each of the ten sums of a product.
pub(crate) const fn parts_of_product(sum: usize) -> (u64, u64) {
    let (low, high) = ([1, 2, 3, 4, 5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5, 4, 3, 2, 1]);
    (low[sum], high[sum])
}

/// Constants that keep the sums of signed parts positive: `2^58` in each but the last, taken from
/// the next.
pub(crate) const ROOM: [u64; 10] = {
    let mut room = [ROOM_OF_SUM - ROOM_TAKEN; 10];
    room[0] = ROOM_OF_SUM;
    room[9] = ROOM_TAKEN.wrapping_neg();
    room
};
pub(crate) const ROOM_OF_SUM: u64 = 1 << 58;
pub(crate) const ROOM_TAKEN: u64 = ROOM_OF_SUM >> 52;

/// The initial ten sums of some products and of `more` low and high parts: 0, or the constants of
/// signed parts, and `room`.
#[inline(always)]
pub(crate) fn begin<L: Part>(
    any: L,
    products: u64,
    more: [(u64, u64); 10],
    room: [u64; 10],
) -> [L; 10] {
    let mut sums = [any.same(0); 10];
    if L::SIGNED {
        for (k, sum) in sums.iter_mut().enumerate() {
            let (low, high) = parts_of_product(k);
            let parts = L::begin(products * low + more[k].0, products * high + more[k].1);
            *sum = any.same(parts.wrapping_add(room[k]));
        }
    }
    sums
}

/// The product of two integers with carried limbs: ten sums of weight `2^(52 * i)`, not carried,
/// none of which is negative.
#[inline(always)]
pub(crate) fn product<L: Part>(a: [L; 5], b: [L; 5]) -> [L; 10] {
    L::plus_products(begin(a[0], 1, [(0, 0); 10], ROOM), a, b)
}

/// [`Part::plus_products`] by single multiply-adds. Each sum grows by at most nine parts.
///
/// The low and the high parts are summed up apart, so that fewer wait for each other.
#[inline(always)]
pub(crate) fn plus_products<L: Part>(mut low: [L; 10], a: [L; 5], b: [L; 5]) -> [L; 10] {
    let mut high = [a[0].same(0); 10];
    for i in 0..5 {
        for j in 0..5 {
            low[i + j] = low[i + j].plus_low(a[i], b[j]);
            high[i + j + 1] = high[i + j + 1].plus_high(a[i], b[j]);
        }
    }
    for i in 0..10 {
        low[i] = low[i] + high[i];
    }
    low
}

/// [`Part::plus_squares`] by single multiply-adds.
#[inline(always)]
pub(crate) fn plus_squares<L: Part>(mut sums: [L; 10], a: [L; 5]) -> [L; 10] {
    let zero = a[0].same(0);
    let (mut low, mut high) = ([zero; 10], [zero; 10]);
    for i in 0..5 {
        for j in i + 1..5 {
            low[i + j] = low[i + j].plus_low(a[i], a[j]);
            high[i + j + 1] = high[i + j + 1].plus_high(a[i], a[j]);
        }
    }
    for i in 0..10 {
        let cross = low[i] + high[i];
        sums[i] = sums[i] + (cross + cross);
    }
    for i in 0..5 {
        sums[2 * i] = sums[2 * i].plus_low(a[i], a[i]);
        sums[2 * i + 1] = sums[2 * i + 1].plus_high(a[i], a[i]);
    }
    sums
}

/// The lanes that hold 0.
#[inline(always)]
pub(crate) fn is_zero<L: Limb>(l: [L; 5]) -> Mask {
    (l[0] | l[1] | l[2] | l[3] | l[4]).is_zero()
}

/// `number - less` of carried limbs and the lanes where that is negative.
#[inline(always)]
pub(crate) fn difference<L: Limb>(number: [L; 5], less: [u64; 5]) -> ([L; 5], Mask) {
    let mut out = number;
    for (limb, less) in out.iter_mut().zip(less) {
        *limb = *limb - limb.same(less);
    }
    let out = signed_carry(out);
    (out, out[4].is_negative())
}

/// The lanes that hold a number below `bound`; all limbs are carried.
#[inline(always)]
pub(crate) fn is_below<L: Limb>(number: [L; 5], bound: [u64; 5]) -> Mask {
    difference(number, bound).1
}
