//! Eight states at once (AVX-512): register `w` holds word `w` of all eight.

use std::arch::x86_64::{
    __m512i, _mm512_load_si512, _mm512_loadu_si512, _mm512_mask_mov_epi8, _mm512_mask_xor_epi64,
    _mm512_maskz_loadu_epi8, _mm512_maskz_mov_epi64, _mm512_rol_epi64, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_i64x2, _mm512_store_si512,
    _mm512_storeu_si512, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
    _mm512_xor_si512,
};

use crate::arch::permutation;
use crate::keccak::{PADDING_AFTER_64, RATE_256};
use crate::many::{States, Wide};

/// Proof that the CPU has AVX-512F and AVX-512BW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof, or `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"))
            .then_some(Avx512(()))
    }
}

impl Wide<8> for Avx512 {
    #[inline]
    fn absorb(self, states: &mut States<8>, blocks: &[&[u8]; 8], fresh: u8) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb(states, blocks, fresh) }
    }

    #[inline]
    fn keccak512_64(self, blocks: &mut [[u8; 64]; 8]) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { keccak512_64(blocks) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // 0x96 is the truth table of a ^ b ^ c
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn rotate<const N: i32>(a: __m512i) -> __m512i {
    _mm512_rol_epi64::<N>(a)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn chi(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // 0xd2 is the truth table of a ^ (!b & c)
    _mm512_ternarylogic_epi64::<0xd2>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn splat(a: u64) -> __m512i {
    _mm512_set1_epi64(a as i64)
}

permutation!(
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    rounds,
    __m512i
);

/// Turns eight rows of eight words into eight columns: word `i` of row `j` becomes word `j` of
/// row `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn transpose(r: [__m512i; 8]) -> [__m512i; 8] {
    // pairs of rows, the even words of each
    let [c0, c2, c4, c6] = columns(
        _mm512_unpacklo_epi64(r[0], r[1]),
        _mm512_unpacklo_epi64(r[2], r[3]),
        _mm512_unpacklo_epi64(r[4], r[5]),
        _mm512_unpacklo_epi64(r[6], r[7]),
    );
    // and the odd words
    let [c1, c3, c5, c7] = columns(
        _mm512_unpackhi_epi64(r[0], r[1]),
        _mm512_unpackhi_epi64(r[2], r[3]),
        _mm512_unpackhi_epi64(r[4], r[5]),
        _mm512_unpackhi_epi64(r[6], r[7]),
    );
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// Block `i` (two words) of each of four pairs, for each `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn columns(p0: __m512i, p1: __m512i, p2: __m512i, p3: __m512i) -> [__m512i; 4] {
    // 0x88 takes the blocks 0 and 2 of both operands, 0xdd the blocks 1 and 3
    let (even0, even1) =
        (_mm512_shuffle_i64x2::<0x88>(p0, p1), _mm512_shuffle_i64x2::<0x88>(p2, p3));
    let (odd0, odd1) = (_mm512_shuffle_i64x2::<0xdd>(p0, p1), _mm512_shuffle_i64x2::<0xdd>(p2, p3));
    [
        _mm512_shuffle_i64x2::<0x88>(even0, even1),
        _mm512_shuffle_i64x2::<0x88>(odd0, odd1),
        _mm512_shuffle_i64x2::<0xdd>(even0, even1),
        _mm512_shuffle_i64x2::<0xdd>(odd0, odd1),
    ]
}

/// The 64 bytes of `block` from `offset`. Past the end of the block: the padding byte 0x01, zeros.
///
/// Without a branch, because the ends of messages are hard to predict.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_padded(block: &[u8], offset: usize) -> __m512i {
    // one bit for the byte after the end, none if that byte lies outside these 64
    let end = 1u64.checked_shl(block.len().wrapping_sub(offset) as u32).unwrap_or(0);
    let present = if block.len() < offset { 0 } else { end.wrapping_sub(1) };
    let from = block[offset.min(block.len())..].as_ptr();
    // SAFETY: the mask selects only bytes that follow `from` in the block; others are not touched.
    let bytes = unsafe { _mm512_maskz_loadu_epi8(present, from.cast()) };
    _mm512_mask_mov_epi8(bytes, end, _mm512_set1_epi8(1))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_rows(blocks: &[&[u8]; 8], offset: usize) -> [__m512i; 8] {
    let mut rows = [_mm512_setzero_si512(); 8];
    for (row, block) in rows.iter_mut().zip(blocks) {
        *row = load_padded(block, offset);
    }
    rows
}

#[target_feature(enable = "avx512f,avx512bw")]
fn absorb(states: &mut States<8>, blocks: &[&[u8]; 8], fresh: u8) {
    let keep = !fresh;
    let mut lanes = [_mm512_setzero_si512(); 25];
    for (lane, words) in lanes.iter_mut().zip(&states.0) {
        // SAFETY: `words` are 64 bytes, aligned to 64 because States is and its rows are 64 long.
        let old = unsafe { _mm512_load_si512(words.as_ptr().cast()) };
        *lane = _mm512_maskz_mov_epi64(keep, old);
    }
    for part in 0..2 {
        let words = transpose(load_rows(blocks, part * 64));
        for (lane, word) in lanes[part * 8..part * 8 + 8].iter_mut().zip(words) {
            *lane = xor(*lane, word);
        }
    }
    // word 16, which carries the end of the padding when the block is the last of its message
    let [word, ..] = transpose(load_rows(blocks, 128));
    let mut last = 0;
    for (i, block) in blocks.iter().enumerate() {
        last |= u8::from(block.len() < RATE_256) << i;
    }
    lanes[16] = xor(lanes[16], word);
    lanes[16] = _mm512_mask_xor_epi64(lanes[16], last, lanes[16], splat(0x80 << 56));
    for (words, lane) in states.0.iter_mut().zip(rounds(lanes)) {
        // SAFETY: `words` are 64 bytes, aligned to 64 because States is and its rows are 64 long.
        unsafe { _mm512_store_si512(words.as_mut_ptr().cast(), lane) };
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn keccak512_64(blocks: &mut [[u8; 64]; 8]) {
    let mut rows = [_mm512_setzero_si512(); 8];
    for (row, block) in rows.iter_mut().zip(blocks.iter()) {
        // SAFETY: the load reads the 64 bytes of one block.
        *row = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    }
    let mut lanes = [_mm512_setzero_si512(); 25];
    lanes[..8].copy_from_slice(&transpose(rows));
    lanes[8] = splat(PADDING_AFTER_64);
    let [w0, w1, w2, w3, w4, w5, w6, w7, ..] = rounds(lanes);
    for (block, row) in blocks.iter_mut().zip(transpose([w0, w1, w2, w3, w4, w5, w6, w7])) {
        // SAFETY: the store writes the 64 bytes of one block.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), row) };
    }
}
