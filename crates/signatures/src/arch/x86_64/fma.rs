//! Products of four numbers of 52 bits, made of doubles (AVX2 and FMA).
//!
//! A double holds integers up to 2^53. For `a, b < 2^52` the sum `a * b + 2^104`, rounded to the
//! double next to it, is `2^104 + 2^52 * h`, because doubles from 2^104 to 2^105 are 2^52 apart.
//! What rounding lost, `l = a * b - 2^52 * h`, is found by a second multiply-add, which rounds
//! nothing: `-2^51 <= l <= 2^51`. So a product is two parts, of which the low one has a sign. Both
//! come as the bits of a double, which are an integer plus a constant; sums begin with the opposite
//! of all constants that they will get ([`Part::begin`]). The idea of two multiply-adds is that of
//! Emmart, Zheng and Weems (2018), who round down instead.
//!
//! The arithmetic in detail:
//!
//! * `h <= 2^52 - 2`, as `(2^52 - 1)^2 = 2^104 - 2^53 + 1`. So `a * b + 2^104` stays below 2^105.
//! * The second multiply-add begins with `(2^104 - 3 * 2^51) - (2^104 + 2^52 * h)`, which is
//!   `-2^51 * (2 * h + 3)`; `2 * h + 3 < 2^53`, so it is exact. `2^104 - 3 * 2^51` is a double, as
//!   those below 2^104 are 2^51 apart.
//! * Its result `l - 3 * 2^51` lies between -2^53 and -2^52, where all integers are doubles, the
//!   bits of which go down by one when `l` goes up by one.
//!
//! Everything else rounds nothing. The code relies on rounding to nearest, which Rust does.

use core::arch::asm;
use core::arch::x86_64::{
    __m256d, __m256i, _mm_cvtsi64_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_blendv_epi8,
    _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_fmadd_pd,
    _mm256_movemask_pd, _mm256_or_si256, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setr_epi64x,
    _mm256_setzero_si256, _mm256_sll_epi64, _mm256_srl_epi64, _mm256_storeu_si256,
    _mm256_sub_epi64, _mm256_sub_pd, _mm256_xor_si256,
};
use core::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use crate::lanes::limb::{LOW, Mask, Part};

cpufeatures::new!(cpu, "avx2", "fma");

/// The bits of the doubles from 2^52 to 2^53 are `UNITS` plus the integer less 2^52.
const UNITS: u64 = 0x433 << 52;
/// The bits of `2^104 + 2^52 * h` are `HIGH` plus h. Its double is 2^104.
const HIGH: u64 = 0x467 << 52;
/// The bits of `l - 3 * 2^51` are `LESS` less l.
const LESS: u64 = (0xc33 << 52) + (1 << 51);
/// `2^104 - 3 * 2^51`
const TURN: f64 = f64::from_bits(HIGH - 3);

/// Proof that the CPU has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fma(());

impl Fma {
    /// The proof, or `None` on a CPU without the features.
    pub(super) fn new() -> Option<Self> {
        cpu::get().then_some(Fma(()))
    }
}

/// Four numbers. A value is the proof that the CPU has the features of [`Fma`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register(pub(super) __m256i);

/// Four doubles that are integers. A value is such a proof, too.
#[derive(Clone, Copy)]
pub(crate) struct Doubles(__m256d);

/// Returns the sum, opaque to the compiler. Otherwise it would delay all sums until all parts are
/// there, for which there are not enough registers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn settled(mut sum: __m256i) -> __m256i {
    // SAFETY: there is no instruction, only a comment.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) sum, options(pure, nomem, nostack, preserves_flags));
    }
    sum
}

#[inline(always)]
pub(super) fn splat(_: Fma, number: u64) -> Register {
    // SAFETY: the first argument is the proof that the CPU has the features.
    Register(unsafe { _mm256_set1_epi64x(number as i64) })
}

impl Register {
    /// The proof that this value is.
    #[inline(always)]
    pub(super) fn proven(self) -> Fma {
        Fma(())
    }

    #[inline(always)]
    pub(super) fn numbers(self) -> [u64; 4] {
        let mut numbers = [0; 4];
        // SAFETY: `self` is the proof that the CPU has the features; the store writes `numbers`.
        unsafe { _mm256_storeu_si256(numbers.as_mut_ptr().cast(), self.0) };
        numbers
    }

    /// The lanes with the highest bit.
    #[inline(always)]
    pub(super) fn highest(self) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { _mm256_movemask_pd(_mm256_castsi256_pd(self.0)) as Mask }
    }

    #[inline(always)]
    pub(super) fn is_zero(self) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        Register(unsafe { _mm256_cmpeq_epi64(self.0, _mm256_setzero_si256()) }).highest()
    }

    #[inline(always)]
    fn and(self, b: Self) -> Self {
        // SAFETY: `self` is the proof that the CPU has the features.
        Register(unsafe { _mm256_and_si256(self.0, b.0) })
    }

    #[inline(always)]
    fn settled(self) -> Self {
        // SAFETY: `self` is the proof that the CPU has the features.
        Register(unsafe { settled(self.0) })
    }

    /// The bits of the parts of a product: `HIGH + h` and `LESS - l`.
    #[inline(always)]
    fn parts(a: Doubles, b: Doubles) -> [Self; 2] {
        // SAFETY: a factor is the proof that the CPU has the features.
        unsafe {
            let high = _mm256_fmadd_pd(a.0, b.0, _mm256_set1_pd(f64::from_bits(HIGH)));
            let rest = _mm256_sub_pd(_mm256_set1_pd(TURN), high);
            let low = _mm256_fmadd_pd(a.0, b.0, rest);
            [Register(_mm256_castpd_si256(low)), Register(_mm256_castpd_si256(high))]
        }
    }

    /// The parts of a product that are no less than 0.
    #[inline(always)]
    fn positive_parts(self, b: Self) -> [Self; 2] {
        let [low, high] = Self::parts(self.low_factor(), b.low_factor());
        let low = self.same(LESS) - low;
        // a negative low part borrows 2^52
        [low & LOW, high - self.same(HIGH) - (low >> 63)]
    }
}

/// Adds the products of these limbs. As a loop, compilers would keep it one.
macro_rules! plus_products_of {
    ($sums:ident, $a:ident, $b:ident: $($i:literal $j:literal),*) => {$(
        [$sums[$i + $j], $sums[$i + $j + 1]] =
            Self::plus_product([$sums[$i + $j], $sums[$i + $j + 1]], $a[$i], $b[$j]);
    )*};
}

impl Part for Register {
    type Factor = Doubles;

    const SIGNED: bool = true;

    #[inline(always)]
    fn begin(low: u64, high: u64) -> u64 {
        low.wrapping_mul(LESS).wrapping_sub(high.wrapping_mul(HIGH))
    }

    #[inline(always)]
    fn same(self, number: u64) -> Self {
        splat(self.proven(), number)
    }

    #[inline(always)]
    fn factor(self) -> Doubles {
        debug_assert!(self.numbers().iter().all(|number| *number <= LOW), "a factor above 2^52");
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe {
            let units = _mm256_set1_epi64x(UNITS as i64);
            let double = _mm256_castsi256_pd(_mm256_or_si256(self.0, units));
            Doubles(_mm256_sub_pd(double, _mm256_castsi256_pd(units)))
        }
    }

    #[inline(always)]
    fn low_factor(self) -> Doubles {
        (self & LOW).factor()
    }

    #[inline(always)]
    fn plus_product([low, high]: [Self; 2], a: Doubles, b: Doubles) -> [Self; 2] {
        let parts = Self::parts(a, b);
        [(low - parts[0]).settled(), (high + parts[1]).settled()]
    }

    #[inline(always)]
    fn plus_products(mut sums: [Self; 10], a: [Self; 5], b: [Self; 5]) -> [Self; 10] {
        let (mut x, mut y) = ([a[0].factor(); 5], [b[0].factor(); 5]);
        for k in 1..5 {
            (x[k], y[k]) = (a[k].factor(), b[k].factor());
        }
        // sum after sum, so that few registers are in use at a time
        plus_products_of!(sums, x, y:
            0 0, 0 1, 1 0, 0 2, 1 1, 2 0, 0 3, 1 2, 2 1, 3 0, 0 4, 1 3, 2 2, 3 1, 4 0,
            1 4, 2 3, 3 2, 4 1, 2 4, 3 3, 4 2, 3 4, 4 3, 4 4);
        sums
    }

    #[inline(always)]
    fn plus_squares(mut sums: [Self; 10], a: [Self; 5]) -> [Self; 10] {
        let mut x = [a[0].factor(); 5];
        for k in 1..5 {
            x[k] = a[k].factor();
        }
        let mut cross = [a[0].same(0); 10];
        plus_products_of!(cross, x, x: 0 1, 0 2, 0 3, 1 2, 0 4, 1 3, 1 4, 2 3, 2 4, 3 4);
        for k in 1..9 {
            sums[k] = sums[k] + (cross[k] + cross[k]);
        }
        plus_products_of!(sums, x, x: 0 0, 1 1, 2 2, 3 3, 4 4);
        sums
    }

    #[inline(always)]
    fn plus_low(self, a: Self, b: Self) -> Self {
        self + a.positive_parts(b)[0]
    }

    #[inline(always)]
    fn plus_high(self, a: Self, b: Self) -> Self {
        self + a.positive_parts(b)[1]
    }

    /// The product plus 2^52 is a double with bits that are the product plus `UNITS`.
    #[inline(always)]
    fn plus_small(self, a: Self, b: u64) -> Self {
        // SAFETY: `self` is the proof that the CPU has the features.
        let product = unsafe {
            let units = _mm256_castsi256_pd(_mm256_set1_epi64x(UNITS as i64));
            _mm256_castpd_si256(_mm256_fmadd_pd(a.factor().0, _mm256_set1_pd(b as f64), units))
        };
        self + (Register(product) - self.same(UNITS))
    }

    /// AVX2 shifts only numbers without sign: `(a + 2^63) / 2^bits - 2^63 / 2^bits`.
    #[inline(always)]
    fn signed_shift(self, bits: u64) -> Self {
        let positive = self + self.same(1 << 63);
        (positive >> bits) - self.same(1 << 63 >> bits)
    }

    #[inline(always)]
    fn replaced(self, mask: Mask, other: Self) -> Self {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe {
            let lanes = _mm256_setr_epi64x(1, 2, 4, 8);
            let bits = _mm256_and_si256(self.same(mask.into()).0, lanes);
            Register(_mm256_blendv_epi8(self.0, other.0, _mm256_cmpeq_epi64(bits, lanes)))
        }
    }

    #[inline(always)]
    fn where_odd(self, number: Self) -> Self {
        self.and(self.same(0) - (number & 1))
    }
}

/// Makes an operator of an instruction.
macro_rules! operator {
    ($trait:ident, $method:ident, $instruction:ident) => {
        impl $trait for Register {
            type Output = Self;

            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: an operand is the proof that the CPU has the features.
                Register(unsafe { $instruction(self.0, b.0) })
            }
        }
    };
}
operator!(Add, add, _mm256_add_epi64);
operator!(Sub, sub, _mm256_sub_epi64);
operator!(BitOr, bitor, _mm256_or_si256);
operator!(BitXor, bitxor, _mm256_xor_si256);

/// Defines an operator of an instruction and a number that is the same for all lanes.
macro_rules! operator_with_number {
    ($trait:ident, $method:ident, $instruction:ident, $number:ident) => {
        impl $trait<u64> for Register {
            type Output = Self;

            #[inline(always)]
            fn $method(self, number: u64) -> Self {
                // SAFETY: `self` is the proof that the CPU has the features.
                Register(unsafe { $instruction(self.0, $number(number as i64)) })
            }
        }
    };
}
operator_with_number!(BitAnd, bitand, _mm256_and_si256, _mm256_set1_epi64x);
operator_with_number!(Shl, shl, _mm256_sll_epi64, _mm_cvtsi64_si128);
operator_with_number!(Shr, shr, _mm256_srl_epi64, _mm_cvtsi64_si128);
