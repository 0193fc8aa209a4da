//! One state in 25 vector registers (AVX-512VL).
//!
//! Only the low half of each register is used. It still beats the integer code (284 ns against
//! 366 ns a permutation on Cascade Lake): xor of three values and chi are one instruction each, and
//! all lanes fit the 32 registers, where 16 integer registers spill.

use core::arch::x86_64::{
    __m128i, _mm_loadl_epi64, _mm_rol_epi64, _mm_set1_epi64x, _mm_setzero_si128, _mm_storel_epi64,
    _mm_ternarylogic_epi64, _mm_xor_si128,
};

use crate::arch::Absorb;
use crate::arch::permutation::permute;

cpufeatures::new!(cpu, "avx512f", "avx512vl");

/// Proof that the CPU has AVX-512F and AVX-512VL.
#[derive(Clone, Copy)]
pub(crate) struct Single(());

impl Single {
    /// The proof, or `None` on a CPU without the features.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(Single(()))
    }
}

impl Absorb for Single {
    #[inline]
    fn absorb<'a, const RATE: usize>(
        self,
        state: &mut [u64; 25],
        blocks: impl Iterator<Item = &'a [u8; RATE]>,
    ) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb(state, blocks) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
    // 0x96 is the truth table of a ^ b ^ c
    _mm_ternarylogic_epi64::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn rotate<const N: i32>(a: __m128i) -> __m128i {
    _mm_rol_epi64::<N>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn chi(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
    // 0xd2 is the truth table of a ^ (!b & c)
    _mm_ternarylogic_epi64::<0xd2>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn xor_constant(a: __m128i, constant: u64) -> __m128i {
    _mm_xor_si128(a, _mm_set1_epi64x(constant as i64))
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn theta(c: [__m128i; 5]) -> impl Fn(usize, __m128i) -> __m128i {
    let [c0, c1, c2, c3, c4] = c;
    let r = [rotate::<1>(c0), rotate::<1>(c1), rotate::<1>(c2), rotate::<1>(c3), rotate::<1>(c4)];
    move |x, lane| xor3(lane, c[(x + 4) % 5], r[(x + 1) % 5])
}

/// The lanes stay in their registers from block to block.
#[target_feature(enable = "avx512f,avx512vl")]
fn absorb<'a, const RATE: usize>(
    state: &mut [u64; 25],
    blocks: impl Iterator<Item = &'a [u8; RATE]>,
) {
    let mut lanes = [_mm_setzero_si128(); 25];
    for (lane, word) in lanes.iter_mut().zip(state.iter()) {
        // SAFETY: the load reads the eight bytes of `word`.
        *lane = unsafe { _mm_loadl_epi64((&raw const *word).cast()) };
    }
    for block in blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            // SAFETY: the load reads the eight bytes of a word of the block.
            *lane = _mm_xor_si128(*lane, unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) });
        }
        permute!(lanes);
    }
    for (word, lane) in state.iter_mut().zip(lanes) {
        // SAFETY: the store writes the eight bytes of `word`.
        unsafe { _mm_storel_epi64((&raw mut *word).cast(), lane) };
    }
}
