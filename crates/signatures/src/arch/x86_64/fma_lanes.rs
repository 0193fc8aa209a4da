//! Limbs in four registers of four numbers each (AVX2 and FMA).

use core::arch::x86_64::{
    _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};
use core::mem::MaybeUninit;
use core::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use super::fma::{Fma, Register, splat};
use crate::lanes::limb::{Entry, LANES, Limb, Mask, Part, plus_products, plus_squares};

/// Sixteen numbers. The registers are worked on one after the other in formulas, for which one has
/// just enough of them.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Registers([Register; PARTS]);

const PARTS: usize = 4;

#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn enabled<A, R>(arguments: A, work: impl FnOnce(A) -> R) -> R {
    work(arguments)
}

#[inline(always)]
fn load(_: Fma, numbers: &[u64; 4]) -> Register {
    // SAFETY: the first argument is the proof that the CPU has the features; the load reads
    // `numbers`.
    Register(unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) })
}

/// Word j of each row.
#[inline(always)]
fn transpose(rows: [Register; 4]) -> [Register; 4] {
    let [Register(a), Register(b), Register(c), Register(d)] = rows;
    // SAFETY: a row is the proof that the CPU has the features.
    unsafe {
        let (ab0, ab1) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        let (cd0, cd1) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
        [
            Register(_mm256_permute2x128_si256::<0x20>(ab0, cd0)),
            Register(_mm256_permute2x128_si256::<0x20>(ab1, cd1)),
            Register(_mm256_permute2x128_si256::<0x31>(ab0, cd0)),
            Register(_mm256_permute2x128_si256::<0x31>(ab1, cd1)),
        ]
    }
}

/// Applies an operation to each register.
macro_rules! each {
    (|$($register:ident = $limb:ident),*| $operation:expr) => {{
        let mut out = self_of!($($limb),*);
        for (i, out) in out.0.iter_mut().enumerate() {
            $(let $register = $limb.0[i];)*
            *out = $operation;
        }
        out
    }};
}

/// The first.
macro_rules! self_of {
    ($first:ident $(, $rest:ident)*) => {
        $first
    };
}

impl Part for Registers {
    type Factor = Self;

    const SIGNED: bool = false;

    #[inline(always)]
    fn begin(_: u64, _: u64) -> u64 {
        0
    }

    #[inline(always)]
    fn same(self, number: u64) -> Self {
        Self::splat(self.proven(), number)
    }

    #[inline(always)]
    fn factor(self) -> Self {
        self
    }

    #[inline(always)]
    fn low_factor(self) -> Self {
        self
    }

    #[inline(always)]
    fn plus_product([low, high]: [Self; 2], a: Self, b: Self) -> [Self; 2] {
        [low.plus_low(a, b), high.plus_high(a, b)]
    }

    #[inline(always)]
    fn plus_products(sums: [Self; 10], a: [Self; 5], b: [Self; 5]) -> [Self; 10] {
        plus_products(sums, a, b)
    }

    #[inline(always)]
    fn plus_squares(sums: [Self; 10], a: [Self; 5]) -> [Self; 10] {
        plus_squares(sums, a)
    }

    #[inline(always)]
    fn plus_low(self, a: Self, b: Self) -> Self {
        each!(|sum = self, a = a, b = b| sum.plus_low(a, b))
    }

    #[inline(always)]
    fn plus_high(self, a: Self, b: Self) -> Self {
        each!(|sum = self, a = a, b = b| sum.plus_high(a, b))
    }

    #[inline(always)]
    fn plus_small(self, a: Self, b: u64) -> Self {
        each!(|sum = self, a = a| sum.plus_small(a, b))
    }

    #[inline(always)]
    fn signed_shift(self, bits: u64) -> Self {
        each!(|a = self| a.signed_shift(bits))
    }

    #[inline(always)]
    fn replaced(self, mask: Mask, other: Self) -> Self {
        let mut out = self;
        for (i, (out, other)) in out.0.iter_mut().zip(other.0).enumerate() {
            *out = out.replaced(mask >> (4 * i), other);
        }
        out
    }

    #[inline(always)]
    fn where_odd(self, number: Self) -> Self {
        each!(|a = self, number = number| a.where_odd(number))
    }
}

/// Part i of the limbs.
#[inline(always)]
fn part(limbs: &[Registers; 5], i: usize) -> [Register; 5] {
    let [l0, l1, l2, l3, l4] = limbs;
    [l0.0[i], l1.0[i], l2.0[i], l3.0[i], l4.0[i]]
}

/// The bits of all registers.
#[inline(always)]
fn bits(registers: Registers, bits: impl Fn(Register) -> Mask) -> Mask {
    let mut all = 0;
    for (i, register) in registers.0.into_iter().enumerate() {
        all |= bits(register) << (4 * i);
    }
    all
}

impl Limb for Registers {
    type Proof = Fma;

    type Part = Register;

    fn proof() -> Option<Fma> {
        Fma::new()
    }

    #[inline(always)]
    fn run_with<A, R>(_: Fma, arguments: A, work: impl FnOnce(A) -> R) -> R {
        // SAFETY: the first argument is the proof that the CPU has the features.
        unsafe { enabled(arguments, work) }
    }

    #[inline(always)]
    fn each<const N: usize>(
        inputs: [&[Self; 5]; N],
        mask: Mask,
        work: impl Fn([[Register; 5]; N], Mask) -> [Register; 5],
    ) -> [Self; 5] {
        let mut out = MaybeUninit::<[Self; 5]>::uninit();
        let registers = out.as_mut_ptr().cast::<Register>();
        for i in 0..PARTS {
            let done = work(
                inputs.map(
                    #[inline(always)]
                    |input| part(input, i),
                ),
                mask >> (4 * i),
            );
            for (k, done) in done.into_iter().enumerate() {
                // SAFETY: `out` is five limbs of `PARTS` registers each, and nothing else.
                unsafe { registers.add(PARTS * k + i).write(done) };
            }
        }
        // SAFETY: the loops have written all parts of all limbs.
        unsafe { out.assume_init() }
    }

    #[inline(always)]
    fn replace_each<const N: usize>(
        first: &mut [Self; 5],
        inputs: [&[Self; 5]; N],
        work: impl Fn([Register; 5], [[Register; 5]; N]) -> [Register; 5],
    ) {
        for i in 0..PARTS {
            let done = work(
                part(first, i),
                inputs.map(
                    #[inline(always)]
                    |input| part(input, i),
                ),
            );
            for (limb, done) in first.iter_mut().zip(done) {
                limb.0[i] = done;
            }
        }
    }

    #[inline(always)]
    fn splat(proof: Fma, number: u64) -> Self {
        Registers([splat(proof, number); PARTS])
    }

    #[inline(always)]
    fn load(proof: Fma, numbers: &[u64; LANES]) -> Self {
        let (quarters, _) = numbers.as_chunks();
        let mut out = Self::splat(proof, 0);
        for (out, quarter) in out.0.iter_mut().zip(quarters) {
            *out = load(proof, quarter);
        }
        out
    }

    #[inline(always)]
    fn gather<'a>(proof: Fma, entry: impl Fn(usize) -> &'a Entry) -> [Self; 8] {
        let mut words = [Self::splat(proof, 0); 8];
        for part in 0..PARTS {
            for half in 0..2 {
                let mut rows = [splat(proof, 0); 4];
                for (i, row) in rows.iter_mut().enumerate() {
                    let (halves, _) = entry(4 * part + i).0.as_chunks();
                    *row = load(proof, &halves[half]);
                }
                for (i, word) in transpose(rows).into_iter().enumerate() {
                    words[4 * half + i].0[part] = word;
                }
            }
        }
        words
    }

    #[inline(always)]
    fn scatter(words: [Self; 8], mut entry: impl FnMut(usize, Entry)) {
        for part in 0..PARTS {
            let mut entries = [Entry::ZERO; 4];
            for half in 0..2 {
                let [a, b, c, d] = [0, 1, 2, 3].map(
                    #[inline(always)]
                    |i| words[4 * half + i].0[part],
                );
                for (entry, row) in entries.iter_mut().zip(transpose([a, b, c, d])) {
                    entry.0[4 * half..][..4].copy_from_slice(&row.numbers());
                }
            }
            for (i, of_lane) in entries.into_iter().enumerate() {
                entry(4 * part + i, of_lane);
            }
        }
    }

    #[inline(always)]
    fn proven(self) -> Fma {
        self.0[0].proven()
    }

    #[inline(always)]
    fn has(self, some: u64) -> Mask {
        !bits(
            self,
            #[inline(always)]
            |register| (register & some).is_zero(),
        )
    }

    #[inline(always)]
    fn is_zero(self) -> Mask {
        bits(
            self,
            #[inline(always)]
            |register| register.is_zero(),
        )
    }

    #[inline(always)]
    fn is_negative(self) -> Mask {
        bits(
            self,
            #[inline(always)]
            |register| register.highest(),
        )
    }

    #[inline(always)]
    fn numbers(self) -> [u64; LANES] {
        let mut all = [0; LANES];
        let (quarters, _) = all.as_chunks_mut();
        for (quarter, register) in quarters.iter_mut().zip(self.0) {
            *quarter = register.numbers();
        }
        all
    }
}

/// Defines an operator from the operator of the registers.
macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl $trait for Registers {
            type Output = Self;

            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                each!(|a = self, b = b| $trait::$method(a, b))
            }
        }
    };
}
operator!(Add, add);
operator!(Sub, sub);
operator!(BitOr, bitor);
operator!(BitXor, bitxor);

/// Defines an operator with a number that is the same for all lanes.
macro_rules! operator_with_number {
    ($trait:ident, $method:ident) => {
        impl $trait<u64> for Registers {
            type Output = Self;

            #[inline(always)]
            fn $method(self, number: u64) -> Self {
                each!(|a = self| $trait::$method(a, number))
            }
        }
    };
}
operator_with_number!(BitAnd, bitand);
operator_with_number!(Shl, shl);
operator_with_number!(Shr, shr);
