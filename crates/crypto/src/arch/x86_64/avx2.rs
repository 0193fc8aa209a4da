//! Four states at once (AVX2): register `w` holds word `w` of all four.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_and_si256, _mm256_andnot_si256, _mm256_load_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_epi64x,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srl_epi64,
    _mm256_store_si256, _mm256_storeu_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};

use crate::arch::permutation;
use crate::keccak::{PADDING_AFTER_64, RATE_256, last_word};
use crate::many::{States, Wide};

/// Proof that the CPU has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, or `None` on a CPU without AVX2.
    pub(crate) fn new() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

impl Wide<4> for Avx2 {
    #[inline]
    fn absorb(self, states: &mut States<4>, blocks: &[&[u8]; 4], fresh: u8) {
        // SAFETY: `self` is the proof that the CPU has AVX2.
        unsafe { absorb(states, blocks, fresh) }
    }

    #[inline]
    fn keccak512_64(self, blocks: &mut [[u8; 64]; 4]) {
        // SAFETY: `self` is the proof that the CPU has AVX2.
        unsafe { keccak512_64(blocks) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(a, xor(b, c))
}

/// Rotation to the left. There is no such instruction before AVX-512; `64 - N` has to be a constant
/// too, which a `const` parameter cannot express, so the right shift takes it as a count.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const N: i32>(a: __m256i) -> __m256i {
    let right = _mm_cvtsi32_si128(64 - N);
    _mm256_or_si256(_mm256_slli_epi64::<N>(a), _mm256_srl_epi64(a, right))
}

#[inline]
#[target_feature(enable = "avx2")]
fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(a, _mm256_andnot_si256(b, c))
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(a: u64) -> __m256i {
    _mm256_set1_epi64x(a as i64)
}

permutation!(
    #[inline]
    #[target_feature(enable = "avx2")]
    rounds,
    __m256i
);

/// Turns four rows of four words into four columns.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(r: [__m256i; 4]) -> [__m256i; 4] {
    let (even0, odd0) = (_mm256_unpacklo_epi64(r[0], r[1]), _mm256_unpackhi_epi64(r[0], r[1]));
    let (even1, odd1) = (_mm256_unpacklo_epi64(r[2], r[3]), _mm256_unpackhi_epi64(r[2], r[3]));
    [
        _mm256_permute2x128_si256::<0x20>(even0, even1),
        _mm256_permute2x128_si256::<0x20>(odd0, odd1),
        _mm256_permute2x128_si256::<0x31>(even0, even1),
        _mm256_permute2x128_si256::<0x31>(odd0, odd1),
    ]
}

/// The words of four times 32 bytes, as four columns.
#[inline]
#[target_feature(enable = "avx2")]
fn load_columns(rows: [&[u8; 32]; 4]) -> [__m256i; 4] {
    // SAFETY: each load reads the 32 bytes of one row.
    transpose(rows.map(|row| unsafe { _mm256_loadu_si256(row.as_ptr().cast()) }))
}

#[target_feature(enable = "avx2")]
fn absorb(states: &mut States<4>, blocks: &[&[u8]; 4], fresh: u8) {
    let keep = [0, 1, 2, 3].map(|lane| if fresh >> lane & 1 == 1 { 0 } else { -1 });
    let keep = _mm256_set_epi64x(keep[3], keep[2], keep[1], keep[0]);
    let mut lanes = [_mm256_setzero_si256(); 25];
    for (lane, words) in lanes.iter_mut().zip(&states.0) {
        // SAFETY: `words` are 32 bytes, aligned to 32 because States is and its rows are 32 long.
        let old = unsafe { _mm256_load_si256(words.as_ptr().cast()) };
        *lane = _mm256_and_si256(old, keep);
    }
    let mut padded = [[0; 128]; 4];
    for (copy, block) in padded.iter_mut().zip(blocks) {
        let length = block.len().min(128);
        copy[..length].copy_from_slice(&block[..length]);
        if let Some(end) = copy.get_mut(block.len()) {
            *end = 1;
        }
    }
    let chunks = padded.each_ref().map(|copy| copy.as_chunks::<32>().0);
    for part in 0..4 {
        let words = load_columns(chunks.map(|rows| &rows[part]));
        for (lane, word) in lanes[part * 4..part * 4 + 4].iter_mut().zip(words) {
            *lane = xor(*lane, word);
        }
    }
    let [w0, w1, w2, w3] = blocks.map(|block| last_word(block) as i64);
    lanes[RATE_256 / 8 - 1] = xor(lanes[RATE_256 / 8 - 1], _mm256_set_epi64x(w3, w2, w1, w0));
    for (words, lane) in states.0.iter_mut().zip(rounds(lanes)) {
        // SAFETY: `words` are 32 bytes, aligned to 32 because States is and its rows are 32 long.
        unsafe { _mm256_store_si256(words.as_mut_ptr().cast(), lane) };
    }
}

#[target_feature(enable = "avx2")]
fn keccak512_64(blocks: &mut [[u8; 64]; 4]) {
    let chunks = blocks.each_ref().map(|block| block.as_chunks::<32>().0);
    let mut lanes = [_mm256_setzero_si256(); 25];
    lanes[..4].copy_from_slice(&load_columns(chunks.map(|rows| &rows[0])));
    lanes[4..8].copy_from_slice(&load_columns(chunks.map(|rows| &rows[1])));
    lanes[8] = splat(PADDING_AFTER_64);
    let [w0, w1, w2, w3, w4, w5, w6, w7, ..] = rounds(lanes);
    let low = transpose([w0, w1, w2, w3]);
    let high = transpose([w4, w5, w6, w7]);
    for (block, (low, high)) in blocks.iter_mut().zip(low.into_iter().zip(high)) {
        let [first, second] = block.as_chunks_mut::<32>().0 else { unreachable!() };
        // SAFETY: each store writes 32 bytes of the block.
        unsafe {
            _mm256_storeu_si256(first.as_mut_ptr().cast(), low);
            _mm256_storeu_si256(second.as_mut_ptr().cast(), high);
        }
    }
}
