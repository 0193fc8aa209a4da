//! Limbs in two registers of eight numbers each, with the multiply-add of 52 bits (AVX-512 IFMA).
//!
//! The registers go side by side: while one waits for its results, the other works.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi64_mask,
    _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_mov_epi64,
    _mm512_or_si512, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_sllv_epi64, _mm512_srav_epi64,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_test_epi64_mask,
    _mm512_xor_si512,
};
use core::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use crate::lanes::limb::{Entry, LANES, Limb, Mask, Part, plus_products, plus_squares};
use blockmill_hashes::avx512::transpose;

cpufeatures::new!(cpu, "avx512f", "avx512bw", "avx512ifma");

/// Proof that the CPU has AVX-512F, AVX-512BW and AVX-512IFMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ifma(());

/// Sixteen numbers. A value is the proof that the CPU has the features of [`Ifma`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers([__m512i; 2]);

/// Applies an instruction to both registers.
macro_rules! both {
    (|$($register:ident = $limb:ident),*| $instruction:expr) => {{
        // SAFETY: an operand is the proof that the CPU has the features.
        Registers(unsafe { [
            { $(let $register = $limb.0[0];)* $instruction },
            { $(let $register = $limb.0[1];)* $instruction },
        ] })
    }};
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn enabled<A, R>(arguments: A, work: impl FnOnce(A) -> R) -> R {
    work(arguments)
}

#[inline(always)]
fn register(_: Ifma, numbers: &[u64; 8]) -> __m512i {
    // SAFETY: the first argument is the proof that the CPU has the features; the load reads
    // `numbers`.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[inline(always)]
fn numbers(_: Ifma, register: __m512i) -> [u64; 8] {
    let mut numbers = [0; 8];
    // SAFETY: the first argument is the proof that the CPU has the features; the store writes
    // `numbers`.
    unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), register) };
    numbers
}

/// The words of the entries of eight lanes.
#[inline(always)]
fn columns<'a>(proof: Ifma, entry: &impl Fn(usize) -> &'a Entry, first: usize) -> [__m512i; 8] {
    let mut rows = [register(proof, &entry(first).0); 8];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = register(proof, &entry(first + i).0);
    }
    // SAFETY: `proof` is the proof that the CPU has the features.
    unsafe { transpose(rows) }
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
        both!(|sum = self, a = a, b = b| _mm512_madd52lo_epu64(sum, a, b))
    }

    #[inline(always)]
    fn plus_high(self, a: Self, b: Self) -> Self {
        both!(|sum = self, a = a, b = b| _mm512_madd52hi_epu64(sum, a, b))
    }

    #[inline(always)]
    fn plus_small(self, a: Self, b: u64) -> Self {
        self.plus_low(a, self.same(b))
    }

    #[inline(always)]
    fn signed_shift(self, bits: u64) -> Self {
        both!(|a = self| _mm512_srav_epi64(a, _mm512_set1_epi64(bits as i64)))
    }

    #[inline(always)]
    fn replaced(self, mask: Mask, other: Self) -> Self {
        let [low, high] = mask.to_le_bytes();
        // SAFETY: `self` is the proof that the CPU has the features.
        Registers(unsafe {
            [
                _mm512_mask_mov_epi64(self.0[0], low, other.0[0]),
                _mm512_mask_mov_epi64(self.0[1], high, other.0[1]),
            ]
        })
    }

    #[inline(always)]
    fn where_odd(self, number: Self) -> Self {
        self.only(number.has(1))
    }
}

impl Limb for Registers {
    type Proof = Ifma;

    type Part = Self;

    fn proof() -> Option<Ifma> {
        cpu::get().then_some(Ifma(()))
    }

    #[inline(always)]
    fn run_with<A, R>(_: Ifma, arguments: A, work: impl FnOnce(A) -> R) -> R {
        // SAFETY: the first argument is the proof that the CPU has the features.
        unsafe { enabled(arguments, work) }
    }

    #[inline(always)]
    fn each<const N: usize>(
        inputs: [&[Self; 5]; N],
        mask: Mask,
        work: impl Fn([[Self; 5]; N], Mask) -> [Self; 5],
    ) -> [Self; 5] {
        work(
            inputs.map(
                #[inline(always)]
                |input| *input,
            ),
            mask,
        )
    }

    #[inline(always)]
    fn replace_each<const N: usize>(
        first: &mut [Self; 5],
        inputs: [&[Self; 5]; N],
        work: impl Fn([Self; 5], [[Self; 5]; N]) -> [Self; 5],
    ) {
        *first = work(
            *first,
            inputs.map(
                #[inline(always)]
                |input| *input,
            ),
        );
    }

    #[inline(always)]
    fn splat(_: Ifma, number: u64) -> Self {
        // SAFETY: the first argument is the proof that the CPU has the features.
        Registers(unsafe { [_mm512_set1_epi64(number as i64); 2] })
    }

    #[inline(always)]
    fn load(proof: Ifma, numbers: &[u64; LANES]) -> Self {
        let (halves, _) = numbers.as_chunks();
        Registers([register(proof, &halves[0]), register(proof, &halves[1])])
    }

    #[inline(always)]
    fn gather<'a>(proof: Ifma, entry: impl Fn(usize) -> &'a Entry) -> [Self; 8] {
        let (low, high) = (columns(proof, &entry, 0), columns(proof, &entry, 8));
        let mut words = [Registers([low[0], high[0]]); 8];
        for (word, (low, high)) in words.iter_mut().zip(low.into_iter().zip(high)) {
            *word = Registers([low, high]);
        }
        words
    }

    #[inline(always)]
    fn scatter(words: [Self; 8], mut entry: impl FnMut(usize, Entry)) {
        let proof = words[0].proven();
        for half in 0..2 {
            let mut columns = [words[0].0[half]; 8];
            for (column, word) in columns.iter_mut().zip(words) {
                *column = word.0[half];
            }
            // SAFETY: `proof` is the proof that the CPU has the features.
            let rows = unsafe { transpose(columns) };
            for (lane, row) in rows.into_iter().enumerate() {
                entry(8 * half + lane, Entry(numbers(proof, row)));
            }
        }
    }

    #[inline(always)]
    fn proven(self) -> Ifma {
        Ifma(())
    }

    #[inline(always)]
    fn has(self, bits: u64) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        let [low, high] = unsafe {
            let bits = _mm512_set1_epi64(bits as i64);
            [_mm512_test_epi64_mask(self.0[0], bits), _mm512_test_epi64_mask(self.0[1], bits)]
        };
        Mask::from_le_bytes([low, high])
    }

    #[inline(always)]
    fn is_zero(self) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        let [low, high] = unsafe {
            let zero = _mm512_setzero_si512();
            [_mm512_cmpeq_epi64_mask(self.0[0], zero), _mm512_cmpeq_epi64_mask(self.0[1], zero)]
        };
        Mask::from_le_bytes([low, high])
    }

    #[inline(always)]
    fn is_negative(self) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        let [low, high] = unsafe {
            let zero = _mm512_setzero_si512();
            [_mm512_cmplt_epi64_mask(self.0[0], zero), _mm512_cmplt_epi64_mask(self.0[1], zero)]
        };
        Mask::from_le_bytes([low, high])
    }

    #[inline(always)]
    fn numbers(self) -> [u64; LANES] {
        let mut all = [0; LANES];
        let (halves, _) = all.as_chunks_mut();
        for (half, register) in halves.iter_mut().zip(self.0) {
            *half = numbers(self.proven(), register);
        }
        all
    }
}

/// Makes an operator of an instruction.
macro_rules! operator {
    ($trait:ident, $method:ident, $instruction:ident) => {
        impl $trait for Registers {
            type Output = Self;

            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                both!(|a = self, b = b| $instruction(a, b))
            }
        }
    };
}
operator!(Add, add, _mm512_add_epi64);
operator!(Sub, sub, _mm512_sub_epi64);
operator!(BitOr, bitor, _mm512_or_si512);
operator!(BitXor, bitxor, _mm512_xor_si512);

/// Defines an operator of an instruction and a number that is the same for all lanes.
macro_rules! operator_with_number {
    ($trait:ident, $method:ident, $instruction:ident) => {
        impl $trait<u64> for Registers {
            type Output = Self;

            #[inline(always)]
            fn $method(self, number: u64) -> Self {
                both!(|a = self| $instruction(a, _mm512_set1_epi64(number as i64)))
            }
        }
    };
}
operator_with_number!(BitAnd, bitand, _mm512_and_si512);
operator_with_number!(Shl, shl, _mm512_sllv_epi64);
operator_with_number!(Shr, shr, _mm512_srlv_epi64);
