//! Limbs of plain integers: the naive oracle of the vectors, for tests. Every CPU has it, so the
//! arithmetic of this folder is tested where no vectors are.

use core::array;
use core::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use super::limb::{Entry, LANES, LOW, Limb, Mask, Part, plus_products, plus_squares};

/// Sixteen numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integers([u64; LANES]);

impl Integers {
    fn each(self, work: impl Fn(u64) -> u64) -> Self {
        Integers(self.0.map(work))
    }

    fn with(self, other: Self, work: impl Fn(u64, u64) -> u64) -> Self {
        Integers(array::from_fn(|lane| work(self.0[lane], other.0[lane])))
    }

    fn lanes(self, test: impl Fn(u64) -> bool) -> Mask {
        self.0.iter().rev().fold(0, |mask, number| mask << 1 | Mask::from(test(*number)))
    }
}

/// The product of the low 52 bits of two numbers.
fn product(a: u64, b: u64) -> u128 {
    u128::from(a & LOW) * u128::from(b & LOW)
}

impl Part for Integers {
    type Factor = Self;

    const SIGNED: bool = false;

    fn begin(_: u64, _: u64) -> u64 {
        0
    }

    fn same(self, number: u64) -> Self {
        Integers([number; LANES])
    }

    fn factor(self) -> Self {
        self
    }

    fn low_factor(self) -> Self {
        self
    }

    fn plus_product([low, high]: [Self; 2], a: Self, b: Self) -> [Self; 2] {
        [low.plus_low(a, b), high.plus_high(a, b)]
    }

    fn plus_products(sums: [Self; 10], a: [Self; 5], b: [Self; 5]) -> [Self; 10] {
        plus_products(sums, a, b)
    }

    fn plus_squares(sums: [Self; 10], a: [Self; 5]) -> [Self; 10] {
        plus_squares(sums, a)
    }

    fn plus_low(self, a: Self, b: Self) -> Self {
        self + a.with(b, |a, b| product(a, b) as u64 & LOW)
    }

    fn plus_high(self, a: Self, b: Self) -> Self {
        self + a.with(b, |a, b| (product(a, b) >> 52) as u64)
    }

    fn plus_small(self, a: Self, b: u64) -> Self {
        self.plus_low(a, self.same(b))
    }

    fn signed_shift(self, bits: u64) -> Self {
        self.each(|number| (number.cast_signed() >> bits).cast_unsigned())
    }

    fn replaced(self, mask: Mask, other: Self) -> Self {
        let lane = |lane| if mask >> lane & 1 == 1 { other.0[lane] } else { self.0[lane] };
        Integers(array::from_fn(lane))
    }

    fn where_odd(self, number: Self) -> Self {
        self.with(number, |own, number| own * (number & 1))
    }
}

impl Limb for Integers {
    type Proof = ();

    type Part = Self;

    fn proof() -> Option<()> {
        Some(())
    }

    fn run_with<A, R>((): (), arguments: A, work: impl FnOnce(A) -> R) -> R {
        work(arguments)
    }

    fn each<const N: usize>(
        inputs: [&[Self; 5]; N],
        mask: Mask,
        work: impl Fn([[Self; 5]; N], Mask) -> [Self; 5],
    ) -> [Self; 5] {
        work(inputs.map(|input| *input), mask)
    }

    fn replace_each<const N: usize>(
        first: &mut [Self; 5],
        inputs: [&[Self; 5]; N],
        work: impl Fn([Self; 5], [[Self; 5]; N]) -> [Self; 5],
    ) {
        *first = work(*first, inputs.map(|input| *input));
    }

    fn splat((): (), number: u64) -> Self {
        Integers([number; LANES])
    }

    fn load((): (), numbers: &[u64; LANES]) -> Self {
        Integers(*numbers)
    }

    fn gather<'a>((): (), entry: impl Fn(usize) -> &'a Entry) -> [Self; 8] {
        array::from_fn(|word| Integers(array::from_fn(|lane| entry(lane).0[word])))
    }

    fn scatter(words: [Self; 8], mut entry: impl FnMut(usize, Entry)) {
        for lane in 0..LANES {
            entry(lane, Entry(words.map(|word| word.0[lane])));
        }
    }

    fn proven(self) {}

    fn has(self, bits: u64) -> Mask {
        self.lanes(|number| number & bits != 0)
    }

    fn is_zero(self) -> Mask {
        self.lanes(|number| number == 0)
    }

    fn is_negative(self) -> Mask {
        self.lanes(|number| number >> 63 == 1)
    }

    fn numbers(self) -> [u64; LANES] {
        self.0
    }
}

/// Makes an operator of two vectors.
macro_rules! operator {
    ($trait:ident, $method:ident, $work:expr) => {
        impl $trait for Integers {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.with(other, $work)
            }
        }
    };
}
operator!(Add, add, u64::wrapping_add);
operator!(Sub, sub, u64::wrapping_sub);
operator!(BitOr, bitor, |a, b| a | b);
operator!(BitXor, bitxor, |a, b| a ^ b);

/// Defines an operator of a vector and a number that is the same for all lanes.
macro_rules! operator_with_number {
    ($trait:ident, $method:ident, $work:expr) => {
        impl $trait<u64> for Integers {
            type Output = Self;

            fn $method(self, number: u64) -> Self {
                self.each(|own| $work(own, number))
            }
        }
    };
}
operator_with_number!(BitAnd, bitand, |a, b| a & b);
operator_with_number!(Shl, shl, |a, b| a << b);
operator_with_number!(Shr, shr, |a, b| a >> b);
