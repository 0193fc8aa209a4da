//! Four states at once (AVX2): register `w` holds word `w` of all four.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_load_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_set_epi64x, _mm256_set1_epi64x, _mm256_setr_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_slli_epi64, _mm256_srl_epi64, _mm256_srli_epi64,
    _mm256_store_si256, _mm256_storeu_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};

use crate::arch::permutation::permute;
use crate::keccak::{PADDING_AFTER_64, RATE_256, last_word, pad};
use crate::many::{States, Wide};

cpufeatures::new!(cpu, "avx2");

/// Proof that the CPU has AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, or `None` on a CPU without AVX2.
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(Avx2(()))
    }
}

impl Wide<4> for Avx2 {
    #[inline]
    fn absorb(self, states: &mut States<4>, fresh: u8, rest: &[&[u8]; 4], whole: usize) {
        // SAFETY: `self` is the proof that the CPU has AVX2.
        unsafe { absorb(states, fresh, rest, whole) }
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

/// Rotation to the left. There is no such instruction before AVX-512; whole bytes are moved by one
/// shuffle. `64 - N` has to be a constant too, which a `const` parameter cannot express, so the
/// right shift takes it as a count.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const N: i32>(a: __m256i) -> __m256i {
    const UP: [i64; 2] = [0x0605_0403_0201_0007, 0x0e0d_0c0b_0a09_080f];
    const DOWN: [i64; 2] = [0x0007_0605_0403_0201, 0x080f_0e0d_0c0b_0a09];
    let bytes =
        |[low, high]: [i64; 2]| _mm256_shuffle_epi8(a, _mm256_setr_epi64x(low, high, low, high));
    match N {
        // an addition can go to a port that shifts cannot
        1 => xor(_mm256_add_epi64(a, a), _mm256_srli_epi64::<63>(a)),
        8 => bytes(UP),
        56 => bytes(DOWN),
        _ => {
            let right = _mm_cvtsi32_si128(64 - N);
            _mm256_or_si256(_mm256_slli_epi64::<N>(a), _mm256_srl_epi64(a, right))
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(a, _mm256_andnot_si256(b, c))
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor_constant(a: __m256i, constant: u64) -> __m256i {
    xor(a, _mm256_set1_epi64x(constant as i64))
}

#[inline]
#[target_feature(enable = "avx2")]
fn theta([c0, c1, c2, c3, c4]: [__m256i; 5]) -> impl Fn(usize, __m256i) -> __m256i {
    let d = [
        xor(c4, rotate::<1>(c1)),
        xor(c0, rotate::<1>(c2)),
        xor(c1, rotate::<1>(c3)),
        xor(c2, rotate::<1>(c4)),
        xor(c3, rotate::<1>(c0)),
    ];
    move |x, lane| xor(lane, d[x])
}

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

/// The words of `blocks` in the 32 bytes from `32 * part`, as four columns.
#[inline]
#[target_feature(enable = "avx2")]
fn load_columns<const LENGTH: usize>(blocks: &[&[u8; LENGTH]; 4], part: usize) -> [__m256i; 4] {
    let mut rows = [_mm256_setzero_si256(); 4];
    for (row, block) in rows.iter_mut().zip(blocks) {
        let bytes = &block.as_chunks::<32>().0[part];
        // SAFETY: the load reads these 32 bytes.
        *row = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    }
    transpose(rows)
}

/// The states as 25 registers. Lanes with a set bit in `fresh` are zero.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(states: &States<4>, fresh: u8) -> [__m256i; 25] {
    let mut keep = [0; 4];
    for (lane, keep) in keep.iter_mut().enumerate() {
        *keep = i64::from(fresh >> lane & 1) - 1;
    }
    let keep = _mm256_set_epi64x(keep[3], keep[2], keep[1], keep[0]);
    let mut lanes = [_mm256_setzero_si256(); 25];
    for (lane, words) in lanes.iter_mut().zip(&states.words) {
        // SAFETY: `words` are 32 bytes, aligned to 32 because States is and its rows are 32 long.
        *lane = _mm256_and_si256(keep, unsafe { _mm256_load_si256(words.as_ptr().cast()) });
    }
    lanes
}

/// Keeps the 25 registers and the digests in `states`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(lanes: [__m256i; 25], states: &mut States<4>) {
    for (words, lane) in states.words.iter_mut().zip(lanes) {
        // SAFETY: `words` are 32 bytes, aligned to 32 because States is and its rows are 32 long.
        unsafe { _mm256_store_si256(words.as_mut_ptr().cast(), lane) };
    }
    let [w0, w1, w2, w3, ..] = lanes;
    for (digest, row) in states.digests.iter_mut().zip(transpose([w0, w1, w2, w3])) {
        // SAFETY: the store writes the 32 bytes of `digest`.
        unsafe { _mm256_storeu_si256(digest.as_mut_ptr().cast(), row) };
    }
}

/// Adds the words of the blocks to the first 17 registers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_blocks(lanes: &mut [__m256i; 25], blocks: &[&[u8; RATE_256]; 4]) {
    for part in 0..4 {
        for (lane, word) in lanes[part * 4..].iter_mut().zip(load_columns(blocks, part)) {
            *lane = xor(*lane, word);
        }
    }
    let mut words = [0; 4];
    for (word, block) in words.iter_mut().zip(blocks) {
        *word = last_word(*block).cast_signed();
    }
    let [w0, w1, w2, w3] = words;
    lanes[16] = xor(lanes[16], _mm256_set_epi64x(w3, w2, w1, w0));
}

#[target_feature(enable = "avx2")]
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

#[target_feature(enable = "avx2")]
fn keccak512_64(blocks: &mut [[u8; 64]; 4]) {
    let mut lanes = [_mm256_setzero_si256(); 25];
    lanes[..4].copy_from_slice(&load_columns(&blocks.each_ref(), 0));
    lanes[4..8].copy_from_slice(&load_columns(&blocks.each_ref(), 1));
    lanes[8] = _mm256_set1_epi64x(PADDING_AFTER_64 as i64);
    permute!(lanes);
    let [w0, w1, w2, w3, w4, w5, w6, w7, ..] = lanes;
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
