//! Sums and differences, which have no carries until their end.

use super::{Field, Loose, Prime};
use crate::lanes::limb::{Limb, Mask, Part, carry};

/// The value of each limb.
#[inline(always)]
pub(in crate::lanes) fn five<T>(limb: impl Fn(usize) -> T) -> [T; 5] {
    [limb(0), limb(1), limb(2), limb(3), limb(4)]
}

/// The loose number of sums of limbs below 2^58, the last of which is also below 2^50.
#[inline(always)]
pub(in crate::lanes) fn loose<L: Limb, P: Prime, const N: usize>(
    numbers: [&Field<L, P>; N],
    mask: Mask,
    sums: impl Fn([[L::Part; 5]; N], Mask) -> [L::Part; 5],
) -> Loose<L, P> {
    let limbs = L::each(
        limbs_of(numbers),
        mask,
        #[inline(always)]
        |parts, mask| carry(sums(parts, mask)),
    );
    Loose::of(limbs).asserted(1 << 51)
}

/// The tight number of sums of limbs below 2^58.
#[inline(always)]
fn tight<L: Limb, P: Prime, const N: usize>(
    numbers: [&Field<L, P>; N],
    mask: Mask,
    sums: impl Fn([[L::Part; 5]; N], Mask) -> [L::Part; 5],
) -> Field<L, P> {
    let limbs = L::each(
        limbs_of(numbers),
        mask,
        #[inline(always)]
        |parts, mask| P::fold(sums(parts, mask)),
    );
    Field::of(limbs)
}

#[inline(always)]
fn limbs_of<L, P, const N: usize>(numbers: [&Field<L, P>; N]) -> [&[L; 5]; N] {
    numbers.map(
        #[inline(always)]
        |number| &number.0.0,
    )
}

impl<L: Limb, P: Prime> Field<L, P> {
    #[inline(always)]
    pub(crate) fn add(&self, b: &Self) -> Self {
        tight(
            [self, b],
            0,
            #[inline(always)]
            |[a, b], _| {
                five(
                    #[inline(always)]
                    |k| a[k] + b[k],
                )
            },
        )
    }

    /// `self - b`, with limb 4 up to 4 times 2^48.
    #[inline(always)]
    pub(crate) fn sub(&self, b: &Self) -> Loose<L, P> {
        loose(
            [self, b],
            0,
            #[inline(always)]
            |[a, b], _| {
                five(
                    #[inline(always)]
                    |k| a[k].same(P::ONCE[k]) - b[k] + a[k],
                )
            },
        )
    }

    /// `-self - b` in the lanes whose bit is set, `self - b` in the others, with limb 4 up to 5
    /// times 2^48.
    #[inline(always)]
    pub(crate) fn signed_sub(&self, negative: Mask, b: &Self) -> Loose<L, P> {
        loose(
            [self, b],
            negative,
            #[inline(always)]
            |[a, b], negative| {
                five(
                    #[inline(always)]
                    |k| {
                        let less = a[k].same(P::TWICE[k]) - b[k];
                        (less + a[k]).replaced(negative, less - a[k])
                    },
                )
            },
        )
    }

    /// `self - b`
    #[inline(always)]
    pub(crate) fn sub_tight(&self, b: &Self) -> Self {
        tight(
            [self, b],
            0,
            #[inline(always)]
            |[a, b], _| {
                five(
                    #[inline(always)]
                    |k| a[k].same(P::ONCE[k]) - b[k] + a[k],
                )
            },
        )
    }

    /// `self - b - c`
    #[inline(always)]
    pub(crate) fn sub_both(&self, b: &Self, c: &Self) -> Self {
        tight(
            [self, b, c],
            0,
            #[inline(always)]
            |[a, b, c], _| {
                five(
                    #[inline(always)]
                    |k| a[k].same(P::TWICE[k]) - b[k] - c[k] + a[k],
                )
            },
        )
    }

    /// `self + b - 2 * c`
    #[inline(always)]
    pub(crate) fn add_sub_twice(&self, b: &Self, c: &Self) -> Self {
        tight(
            [self, b, c],
            0,
            #[inline(always)]
            |[a, b, c], _| {
                five(
                    #[inline(always)]
                    |k| a[k].same(P::TWICE[k]) - c[k] - c[k] + a[k] + b[k],
                )
            },
        )
    }

    /// `-self` in the lanes whose bit is set, `self` in the others.
    #[inline(always)]
    pub(crate) fn negated(&self, negative: Mask) -> Self {
        tight(
            [self],
            negative,
            #[inline(always)]
            |[a], negative| {
                five(
                    #[inline(always)]
                    |k| a[k].replaced(negative, a[k].same(P::ONCE[k]) - a[k]),
                )
            },
        )
    }

    /// `self * 3 / 2`: the number and half of it, with limb 4 up to twice 2^48.
    ///
    /// Half of an odd number is half of its sum with p. A limb's lowest bit is 2^51 in the limb
    /// below.
    #[inline(always)]
    pub(crate) fn three_halves(&self) -> Loose<L, P> {
        loose(
            [self],
            0,
            #[inline(always)]
            |[a], _| {
                let mut even = a;
                for (even, p) in even.iter_mut().zip(P::P) {
                    *even = *even + even.same(p).where_odd(a[0]);
                }
                five(
                    #[inline(always)]
                    |k| {
                        let sum = a[k] + (even[k] >> 1);
                        if k < 4 { sum + ((even[k + 1] & 1) << 51) } else { sum }
                    },
                )
            },
        )
    }
}
