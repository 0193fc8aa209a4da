//! Vectors of sixteen numbers of 64 bits, and the integers in radix 2^52 that are made of them.
//!
//! Two registers go side by side: while one waits for its results, the other works. All functions
//! are inlined into their callers, which enable the CPU's features; so all sums and products of a
//! formula stay in registers as far as those reach.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi64_mask,
    _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_mask_mov_epi64,
    _mm512_or_si512, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_sllv_epi64, _mm512_srav_epi64,
    _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_test_epi64_mask,
    _mm512_xor_si512,
};
use core::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

/// How many numbers a limb holds.
pub(super) const LANES: usize = 16;

/// The low 52 bits.
pub(super) const LOW: u64 = (1 << 52) - 1;

/// A bit for each lane.
pub(super) type Mask = u16;

cpufeatures::new!(cpu, "avx512f", "avx512bw", "avx512ifma");

/// Proof that the CPU has AVX-512F, AVX-512BW and AVX-512IFMA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes(());

impl Lanes {
    /// The proof, or `None` on a CPU without the features.
    pub(super) fn new() -> Option<Self> {
        cpu::get().then_some(Lanes(()))
    }

    /// The same number in every lane.
    #[inline(always)]
    pub(super) fn splat(self, number: u64) -> Limb {
        // SAFETY: `self` is the proof that the CPU has the features.
        Limb(unsafe { [_mm512_set1_epi64(number as i64); 2] })
    }

    /// The limbs of the same number in every lane.
    #[inline(always)]
    pub(super) fn splat_all<const K: usize>(self, limbs: [u64; K]) -> [Limb; K] {
        let mut all = [self.splat(0); K];
        for (limb, number) in all.iter_mut().zip(limbs) {
            *limb = self.splat(number);
        }
        all
    }

    /// A number for each lane.
    #[inline(always)]
    pub(super) fn limb(self, numbers: &[u64; LANES]) -> Limb {
        let (halves, _) = numbers.as_chunks();
        Limb([self.register(&halves[0]), self.register(&halves[1])])
    }

    /// A register of eight numbers.
    #[inline(always)]
    pub(super) fn register(self, numbers: &[u64; 8]) -> __m512i {
        // SAFETY: `self` is the proof that the CPU has the features; the load reads `numbers`.
        unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
    }

    /// The numbers of a register.
    #[inline(always)]
    pub(super) fn numbers(self, register: __m512i) -> [u64; 8] {
        let mut numbers = [0; 8];
        // SAFETY: `self` is the proof that the CPU has the features; the store writes `numbers`.
        unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), register) };
        numbers
    }

    /// The limb of two registers.
    #[inline(always)]
    pub(super) fn of_registers(self, registers: [__m512i; 2]) -> Limb {
        Limb(registers)
    }

    /// The limbs of integers below 2^256, which are given for each lane in big-endian bytes.
    #[inline(always)]
    pub(super) fn load<'a>(self, number: impl Fn(usize) -> &'a [u8; 32]) -> [Limb; 5] {
        let mut rows = [[0; LANES]; 4];
        for lane in 0..LANES {
            let (words, _) = number(lane).as_chunks::<8>();
            for (row, word) in rows.iter_mut().zip(words.iter().rev()) {
                row[lane] = u64::from_be_bytes(*word);
            }
        }
        let [w0, w1, w2, w3] = &rows;
        split([self.limb(w0), self.limb(w1), self.limb(w2), self.limb(w3)])
    }
}

/// A number in each lane: 64 bits, of which an integer in radix 2^52 uses the low 52, but for sums
/// that are not carried yet. A value is the proof that the CPU has the features of [`Lanes`].
#[derive(Clone, Copy)]
pub(super) struct Limb([__m512i; 2]);

/// Applies an instruction to both registers.
macro_rules! both {
    (|$($register:ident = $limb:ident),*| $instruction:expr) => {{
        // SAFETY: an operand is the proof that the CPU has the features.
        Limb(unsafe { [
            { $(let $register = $limb.0[0];)* $instruction },
            { $(let $register = $limb.0[1];)* $instruction },
        ] })
    }};
}

impl Limb {
    /// The same number in every lane.
    #[inline(always)]
    pub(super) fn same(self, number: u64) -> Self {
        Lanes(()).splat(number)
    }

    /// `self` plus the low 52 bits of the product of the low 52 bits of both factors.
    #[inline(always)]
    pub(super) fn plus_low(self, a: Self, b: Self) -> Self {
        both!(|sum = self, a = a, b = b| _mm512_madd52lo_epu64(sum, a, b))
    }

    /// `self` plus the high 52 bits of the product of the low 52 bits of both factors.
    #[inline(always)]
    pub(super) fn plus_high(self, a: Self, b: Self) -> Self {
        both!(|sum = self, a = a, b = b| _mm512_madd52hi_epu64(sum, a, b))
    }

    /// `self / 2^bits`, rounded down, of signed numbers.
    #[inline(always)]
    pub(super) fn signed_shift(self, bits: u64) -> Self {
        both!(|a = self| _mm512_srav_epi64(a, _mm512_set1_epi64(bits as i64)))
    }

    /// `other` in the lanes whose bit is set, `self` in the rest.
    #[inline(always)]
    pub(super) fn replaced(self, mask: Mask, other: Self) -> Self {
        let [low, high] = mask.to_le_bytes();
        // SAFETY: `self` is the proof that the CPU has the features.
        Limb(unsafe {
            [
                _mm512_mask_mov_epi64(self.0[0], low, other.0[0]),
                _mm512_mask_mov_epi64(self.0[1], high, other.0[1]),
            ]
        })
    }

    /// `self` in the lanes whose bit is set, 0 in the rest.
    #[inline(always)]
    pub(super) fn only(self, mask: Mask) -> Self {
        self.same(0).replaced(mask, self)
    }

    /// The lanes that have one of these bits.
    #[inline(always)]
    pub(super) fn has(self, bits: u64) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        let [low, high] = unsafe {
            let bits = _mm512_set1_epi64(bits as i64);
            [_mm512_test_epi64_mask(self.0[0], bits), _mm512_test_epi64_mask(self.0[1], bits)]
        };
        Mask::from_le_bytes([low, high])
    }

    /// The lanes that hold 0.
    #[inline(always)]
    pub(super) fn is_zero(self) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        let [low, high] = unsafe {
            let zero = _mm512_setzero_si512();
            [_mm512_cmpeq_epi64_mask(self.0[0], zero), _mm512_cmpeq_epi64_mask(self.0[1], zero)]
        };
        Mask::from_le_bytes([low, high])
    }

    /// The lanes that hold a negative number.
    #[inline(always)]
    pub(super) fn is_negative(self) -> Mask {
        // SAFETY: `self` is the proof that the CPU has the features.
        let [low, high] = unsafe {
            let zero = _mm512_setzero_si512();
            [_mm512_cmplt_epi64_mask(self.0[0], zero), _mm512_cmplt_epi64_mask(self.0[1], zero)]
        };
        Mask::from_le_bytes([low, high])
    }

    /// The number of each lane.
    #[inline(always)]
    pub(super) fn numbers(self) -> [u64; LANES] {
        let mut numbers = [0; LANES];
        let (halves, _) = numbers.as_chunks_mut();
        for (half, register) in halves.iter_mut().zip(self.0) {
            *half = Lanes(()).numbers(register);
        }
        numbers
    }

    /// The two registers.
    #[inline(always)]
    pub(super) fn registers(self) -> [__m512i; 2] {
        self.0
    }
}

/// Makes an operator of an instruction.
macro_rules! operator {
    ($trait:ident, $method:ident, $instruction:ident) => {
        impl $trait for Limb {
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

/// Makes an operator of an instruction and a number that is the same for all lanes.
macro_rules! operator_with_number {
    ($trait:ident, $method:ident, $instruction:ident) => {
        impl $trait<u64> for Limb {
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

/// The limbs of an integer below 2^256, which is given in words of 64 bits, the lowest first.
pub(super) const fn limbs(words: [u64; 4]) -> [u64; 5] {
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
pub(super) fn split([w0, w1, w2, w3]: [Limb; 4]) -> [Limb; 5] {
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
pub(super) fn join([l0, l1, l2, l3, l4]: [Limb; 5]) -> [Limb; 4] {
    [l0 | l1 << 52, l1 >> 12 | l2 << 40, l2 >> 24 | l3 << 28, l3 >> 36 | l4 << 16]
}

/// Integers below 2^256 in big-endian bytes, of carried limbs.
#[inline(always)]
pub(super) fn store(limbs: [Limb; 5]) -> [[u8; 32]; LANES] {
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

/// Takes what each limb but the last holds above 52 bits to the next.
#[inline(always)]
pub(super) fn carry<const K: usize>(mut l: [Limb; K]) -> [Limb; K] {
    for k in 1..K {
        l[k] = l[k] + (l[k - 1] >> 52);
        l[k - 1] = l[k - 1] & LOW;
    }
    l
}

/// Carries signed limbs; the last keeps the sign.
#[inline(always)]
pub(super) fn signed_carry<const K: usize>(mut l: [Limb; K]) -> [Limb; K] {
    for k in 1..K {
        l[k] = l[k] + l[k - 1].signed_shift(52);
        l[k - 1] = l[k - 1] & LOW;
    }
    l
}

/// The product of two integers with carried limbs: ten sums of weight `2^(52 * i)`, not carried.
#[inline(always)]
pub(super) fn product(a: [Limb; 5], b: [Limb; 5]) -> [Limb; 10] {
    add_product([a[0].same(0); 10], a, b)
}

/// The same, added to other sums. Each grows by at most nine parts below 2^52.
///
/// The low and the high parts are summed up apart, so that fewer wait for each other.
#[inline(always)]
pub(super) fn add_product(mut low: [Limb; 10], a: [Limb; 5], b: [Limb; 5]) -> [Limb; 10] {
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

/// The square of an integer with carried limbs: ten sums of weight `2^(52 * i)`, not carried.
#[inline(always)]
pub(super) fn square(a: [Limb; 5]) -> [Limb; 10] {
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

/// The lanes that hold 0.
#[inline(always)]
pub(super) fn is_zero(l: [Limb; 5]) -> Mask {
    (l[0] | l[1] | l[2] | l[3] | l[4]).is_zero()
}

/// `number - less` of carried limbs and the lanes where that is negative.
#[inline(always)]
pub(super) fn difference(number: [Limb; 5], less: [u64; 5]) -> ([Limb; 5], Mask) {
    let mut out = number;
    for (limb, less) in out.iter_mut().zip(less) {
        *limb = *limb - limb.same(less);
    }
    let out = signed_carry(out);
    (out, out[4].is_negative())
}

/// The lanes that hold a number below `bound`; all limbs are carried.
#[inline(always)]
pub(super) fn is_below(number: [Limb; 5], bound: [u64; 5]) -> Mask {
    difference(number, bound).1
}
