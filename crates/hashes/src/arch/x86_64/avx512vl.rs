//! Four states at once (AVX-512VL): AVX2 with rotations, functions of three values and twice the
//! registers.
//!
//! Takes little longer than one state (284 ns a permutation on Cascade Lake) and two thirds of the
//! time of eight, so batches and remainders of two to four messages go this way.

use core::arch::x86_64::{
    __m256i, _mm256_rol_epi64, _mm256_set1_epi64x, _mm256_ternarylogic_epi64, _mm256_xor_si256,
};

use super::avx2::{Avx2, add_blocks, load, store};
use crate::arch::permutation::permute;
use crate::keccak::{RATE_256, pad};
use crate::many::{States, Wide};

cpufeatures::new!(cpu, "avx2", "avx512f", "avx512vl");

/// Proof that the CPU has AVX2, AVX-512F and AVX-512VL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512Vl(Avx2);

impl Avx512Vl {
    /// The proof, or `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        Avx2::new().filter(|_| cpu::get()).map(Avx512Vl)
    }
}

impl Wide<4> for Avx512Vl {
    #[inline]
    fn absorb(self, states: &mut States<4>, fresh: u8, rest: &[&[u8]; 4], whole: usize) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb(states, fresh, rest, whole) }
    }

    fn keccak512_64(self, blocks: &mut [[u8; 64]; 4]) {
        self.0.keccak512_64(blocks);
    }
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    // 0x96 is the truth table of a ^ b ^ c
    _mm256_ternarylogic_epi64::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn rotate<const N: i32>(a: __m256i) -> __m256i {
    _mm256_rol_epi64::<N>(a)
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    // 0xd2 is the truth table of a ^ (!b & c)
    _mm256_ternarylogic_epi64::<0xd2>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn xor_constant(a: __m256i, constant: u64) -> __m256i {
    _mm256_xor_si256(a, _mm256_set1_epi64x(constant as i64))
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn theta(c: [__m256i; 5]) -> impl Fn(usize, __m256i) -> __m256i {
    let [c0, c1, c2, c3, c4] = c;
    let r = [rotate::<1>(c0), rotate::<1>(c1), rotate::<1>(c2), rotate::<1>(c3), rotate::<1>(c4)];
    move |x, lane| xor3(lane, c[(x + 4) % 5], r[(x + 1) % 5])
}

#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn absorb(states: &mut States<4>, fresh: u8, rest: &[&[u8]; 4], whole: usize) {
    let mut lanes = load(states, fresh);
    for i in 0..whole {
        let mut blocks = [&[0; RATE_256]; 4];
        for (block, rest) in blocks.iter_mut().zip(rest) {
            *block = &rest.as_chunks().0[i];
        }
        add_blocks(&mut lanes, &blocks);
        permute!(lanes);
    }
    let mut last = [[0; RATE_256]; 4];
    for (block, rest) in last.iter_mut().zip(rest) {
        pad(&rest[whole * RATE_256..], block);
    }
    add_blocks(&mut lanes, &last.each_ref());
    permute!(lanes);
    store(lanes, states);
}
