//! Eight SHA-256 states at once (AVX2): register `w` holds word `w` of all eight.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_load_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_epi8,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_sll_epi32,
    _mm256_srli_epi32, _mm256_store_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::avx2::Avx2;
use crate::arch::sha256::{Compress, END_AFTER_32, SCHEDULE_AFTER_64, States, rounds};

impl Compress<8> for Avx2 {
    #[inline]
    fn compress(self, states: &mut States<8>, blocks: [&[[u8; 64]]; 8]) {
        // SAFETY: `self` is the proof that the CPU has AVX2.
        unsafe { compress(states, blocks) }
    }

    #[inline]
    fn end_after_64(self, states: &mut States<8>) {
        // SAFETY: `self` is the proof that the CPU has AVX2.
        unsafe { end_after_64(states) }
    }

    #[inline]
    fn hash_digests(self, states: &mut States<8>) {
        // SAFETY: `self` is the proof that the CPU has AVX2.
        unsafe { hash_digests(states) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi32(a, b)
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

/// Rotation to the right. There is no such instruction before AVX-512; `32 - N` has to be a
/// constant too, which a `const` parameter cannot express, so the left shift takes it as a count.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const N: i32>(a: __m256i) -> __m256i {
    let left = _mm_cvtsi32_si128(32 - N);
    _mm256_or_si256(_mm256_srli_epi32::<N>(a), _mm256_sll_epi32(a, left))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shift<const N: i32>(a: __m256i) -> __m256i {
    _mm256_srli_epi32::<N>(a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn choose(e: __m256i, f: __m256i, g: __m256i) -> __m256i {
    xor(g, _mm256_and_si256(e, xor(f, g)))
}

/// `b ^ c` is the `a ^ b` of the round before, which the compiler sees.
#[inline]
#[target_feature(enable = "avx2")]
fn majority(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(b, _mm256_and_si256(xor(a, b), xor(b, c)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(a: u32) -> __m256i {
    _mm256_set1_epi32(a as i32)
}

rounds!(
    #[inline]
    #[target_feature(enable = "avx2")]
    __m256i
);

/// Turns eight rows of eight words into eight columns: word `i` of row `j` becomes word `j` of
/// row `i`.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(r: [__m256i; 8]) -> [__m256i; 8] {
    let [a0, a1, a2, a3] = columns(r[0], r[1], r[2], r[3]);
    let [b0, b1, b2, b3] = columns(r[4], r[5], r[6], r[7]);
    [
        _mm256_permute2x128_si256::<0x20>(a0, b0),
        _mm256_permute2x128_si256::<0x20>(a1, b1),
        _mm256_permute2x128_si256::<0x20>(a2, b2),
        _mm256_permute2x128_si256::<0x20>(a3, b3),
        _mm256_permute2x128_si256::<0x31>(a0, b0),
        _mm256_permute2x128_si256::<0x31>(a1, b1),
        _mm256_permute2x128_si256::<0x31>(a2, b2),
        _mm256_permute2x128_si256::<0x31>(a3, b3),
    ]
}

/// In each half of 128 bits, turns four rows of four words into columns.
#[inline]
#[target_feature(enable = "avx2")]
fn columns(r0: __m256i, r1: __m256i, r2: __m256i, r3: __m256i) -> [__m256i; 4] {
    let (low01, low23) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpacklo_epi32(r2, r3));
    let (high01, high23) = (_mm256_unpackhi_epi32(r0, r1), _mm256_unpackhi_epi32(r2, r3));
    [
        _mm256_unpacklo_epi64(low01, low23),
        _mm256_unpackhi_epi64(low01, low23),
        _mm256_unpacklo_epi64(high01, high23),
        _mm256_unpackhi_epi64(high01, high23),
    ]
}

/// The eight words of half `half` of block `i` of each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn load_words(blocks: &[&[[u8; 64]]; 8], i: usize, half: usize) -> [__m256i; 8] {
    let big_endian = _mm256_set_epi8(
        12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3, //
        12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3,
    );
    let mut rows = [_mm256_setzero_si256(); 8];
    for (row, blocks) in rows.iter_mut().zip(blocks) {
        let bytes: &[u8; 32] = &blocks[i].as_chunks().0[half];
        // SAFETY: the load reads 32 bytes of the block.
        let loaded = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        *row = _mm256_shuffle_epi8(loaded, big_endian);
    }
    transpose(rows)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(states: &States<8>) -> [__m256i; 8] {
    let mut loaded = [_mm256_setzero_si256(); 8];
    for (state, words) in loaded.iter_mut().zip(&states.0) {
        // SAFETY: `words` are 32 bytes, aligned to 32 because States is and its rows are 32 long.
        *state = unsafe { _mm256_load_si256(words.as_ptr().cast()) };
    }
    loaded
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(states: &mut States<8>, from: [__m256i; 8]) {
    for (words, state) in states.0.iter_mut().zip(from) {
        // SAFETY: `words` are 32 bytes, aligned to 32 because States is and its rows are 32 long.
        unsafe { _mm256_store_si256(words.as_mut_ptr().cast(), state) };
    }
}

#[target_feature(enable = "avx2")]
fn compress(states: &mut States<8>, blocks: [&[[u8; 64]]; 8]) {
    let mut state = load(states);
    for i in 0..blocks[0].len() {
        let mut words = [_mm256_setzero_si256(); 16];
        words[..8].copy_from_slice(&load_words(&blocks, i, 0));
        words[8..].copy_from_slice(&load_words(&blocks, i, 1));
        state = rounds(state, words);
    }
    store(states, state);
}

#[target_feature(enable = "avx2")]
fn end_after_64(states: &mut States<8>) {
    let state = load(states);
    store(states, rounds_scheduled(state, &SCHEDULE_AFTER_64));
}

#[target_feature(enable = "avx2")]
fn hash_digests(states: &mut States<8>) {
    let mut words = [_mm256_setzero_si256(); 16];
    let (digest, end) = words.split_at_mut(8);
    digest.copy_from_slice(&load(states));
    end.iter_mut().zip(END_AFTER_32).for_each(|(word, constant)| *word = splat(constant));
    let state = load(&States::new());
    store(states, rounds(state, words));
}
