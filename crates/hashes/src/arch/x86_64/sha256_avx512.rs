//! Sixteen SHA-256 states at once (AVX-512): register `w` holds word `w` of all sixteen.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_load_si512, _mm512_loadu_si512, _mm512_ror_epi32,
    _mm512_set1_epi32, _mm512_set4_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_shuffle_i32x4, _mm512_srli_epi32, _mm512_store_si512, _mm512_ternarylogic_epi32,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::avx512::Avx512;
use crate::arch::sha256::{Compress, END_AFTER_32, SCHEDULE_AFTER_64, States, rounds};

impl Compress<16> for Avx512 {
    #[inline]
    fn compress(self, states: &mut States<16>, blocks: [&[[u8; 64]]; 16]) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { compress(states, blocks) }
    }

    #[inline]
    fn end_after_64(self, states: &mut States<16>) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { end_after_64(states) }
    }

    #[inline]
    fn hash_digests(self, states: &mut States<16>) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { hash_digests(states) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // 0x96 is the truth table of a ^ b ^ c
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn rotate<const N: i32>(a: __m512i) -> __m512i {
    _mm512_ror_epi32::<N>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn shift<const N: u32>(a: __m512i) -> __m512i {
    _mm512_srli_epi32::<N>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn choose(e: __m512i, f: __m512i, g: __m512i) -> __m512i {
    // 0xca is the truth table of (e & f) ^ (!e & g)
    _mm512_ternarylogic_epi32::<0xca>(e, f, g)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn majority(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // 0xe8 is the truth table of (a & b) | (a & c) | (b & c)
    _mm512_ternarylogic_epi32::<0xe8>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn splat(a: u32) -> __m512i {
    _mm512_set1_epi32(a as i32)
}

rounds!(
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    __m512i
);

/// Turns sixteen rows of sixteen words into sixteen columns: word `i` of row `j` becomes word `j`
/// of row `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn transpose(r: [__m512i; 16]) -> [__m512i; 16] {
    let [a0, a1, a2, a3] = columns(r[0], r[1], r[2], r[3]);
    let [b0, b1, b2, b3] = columns(r[4], r[5], r[6], r[7]);
    let [c0, c1, c2, c3] = columns(r[8], r[9], r[10], r[11]);
    let [d0, d1, d2, d3] = columns(r[12], r[13], r[14], r[15]);
    let [w0, w4, w8, w12] = quarters(a0, b0, c0, d0);
    let [w1, w5, w9, w13] = quarters(a1, b1, c1, d1);
    let [w2, w6, w10, w14] = quarters(a2, b2, c2, d2);
    let [w3, w7, w11, w15] = quarters(a3, b3, c3, d3);
    [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
}

/// In each quarter of 128 bits, turns four rows of four words into columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn columns(r0: __m512i, r1: __m512i, r2: __m512i, r3: __m512i) -> [__m512i; 4] {
    let (low01, low23) = (_mm512_unpacklo_epi32(r0, r1), _mm512_unpacklo_epi32(r2, r3));
    let (high01, high23) = (_mm512_unpackhi_epi32(r0, r1), _mm512_unpackhi_epi32(r2, r3));
    [
        _mm512_unpacklo_epi64(low01, low23),
        _mm512_unpackhi_epi64(low01, low23),
        _mm512_unpacklo_epi64(high01, high23),
        _mm512_unpackhi_epi64(high01, high23),
    ]
}

/// Quarter `i` of each of four registers, for each `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn quarters(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    // 0x88 takes the quarters 0 and 2 of both operands, 0xdd the quarters 1 and 3
    let (even0, even1) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
    let (odd0, odd1) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
    [
        _mm512_shuffle_i32x4::<0x88>(even0, even1),
        _mm512_shuffle_i32x4::<0x88>(odd0, odd1),
        _mm512_shuffle_i32x4::<0xdd>(even0, even1),
        _mm512_shuffle_i32x4::<0xdd>(odd0, odd1),
    ]
}

/// The sixteen words of block `i` of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_words(blocks: &[&[[u8; 64]]; 16], i: usize) -> [__m512i; 16] {
    let big_endian = _mm512_set4_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
    let mut rows = [_mm512_setzero_si512(); 16];
    for (row, blocks) in rows.iter_mut().zip(blocks) {
        // SAFETY: the load reads the 64 bytes of one block.
        let loaded = unsafe { _mm512_loadu_si512(blocks[i].as_ptr().cast()) };
        *row = _mm512_shuffle_epi8(loaded, big_endian);
    }
    transpose(rows)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(states: &States<16>) -> [__m512i; 8] {
    let mut loaded = [_mm512_setzero_si512(); 8];
    for (state, words) in loaded.iter_mut().zip(&states.0) {
        // SAFETY: `words` are 64 bytes, aligned to 64 because States is and its rows are 64 long.
        *state = unsafe { _mm512_load_si512(words.as_ptr().cast()) };
    }
    loaded
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store(states: &mut States<16>, from: [__m512i; 8]) {
    for (words, state) in states.0.iter_mut().zip(from) {
        // SAFETY: `words` are 64 bytes, aligned to 64 because States is and its rows are 64 long.
        unsafe { _mm512_store_si512(words.as_mut_ptr().cast(), state) };
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn compress(states: &mut States<16>, blocks: [&[[u8; 64]]; 16]) {
    let mut state = load(states);
    for i in 0..blocks[0].len() {
        state = rounds(state, load_words(&blocks, i));
    }
    store(states, state);
}

#[target_feature(enable = "avx512f,avx512bw")]
fn end_after_64(states: &mut States<16>) {
    let state = load(states);
    store(states, rounds_scheduled(state, &SCHEDULE_AFTER_64));
}

#[target_feature(enable = "avx512f,avx512bw")]
fn hash_digests(states: &mut States<16>) {
    let mut words = [_mm512_setzero_si512(); 16];
    let (digest, end) = words.split_at_mut(8);
    digest.copy_from_slice(&load(states));
    end.iter_mut().zip(END_AFTER_32).for_each(|(word, constant)| *word = splat(constant));
    let state = load(&States::new());
    store(states, rounds(state, words));
}
