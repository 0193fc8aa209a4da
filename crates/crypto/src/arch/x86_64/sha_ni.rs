//! SHA-256 with the CPU's own instructions (SHA-NI), for one state or several.
//!
//! An instruction does two rounds and the next two wait about 4 cycles for it, while one of another
//! state could begin after 2. So two independent states side by side take hardly longer than one.

use core::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi32, _mm_loadu_si128, _mm_set_epi8,
    _mm_set_epi32, _mm_setzero_si128, _mm_sha256msg1_epu32, _mm_sha256msg2_epu32,
    _mm_sha256rnds2_epu32, _mm_shuffle_epi8, _mm_shuffle_epi32,
};

use crate::arch::sha256::{Compress, END_AFTER_32, ROUND_CONSTANTS, SCHEDULE_AFTER_64, States};

cpufeatures::new!(has_sha, "sha", "sse2", "ssse3", "sse4.1");

/// Proof that the CPU has SHA-NI, SSSE3 and SSE4.1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaNi(());

impl ShaNi {
    /// The proof, or `None` on a CPU without the features.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        has_sha::get().then_some(ShaNi(()))
    }
}

impl<const N: usize> Compress<N> for ShaNi {
    #[inline]
    fn compress(self, states: &mut States<N>, blocks: [&[[u8; 64]]; N]) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { compress(states, blocks) }
    }

    #[inline]
    fn end_after_64(self, states: &mut States<N>) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { end_after_64(states) }
    }

    #[inline]
    fn hash_digests(self, states: &mut States<N>) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { hash_digests(states) }
    }
}

/// One state as the instructions take it, highest word first: A B E F and C D G H.
type State = [__m128i; 2];

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn four(words: [u32; 4]) -> __m128i {
    let [w0, w1, w2, w3] = words.map(|word| word as i32);
    _mm_set_epi32(w3, w2, w1, w0)
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn load<const N: usize>(states: &States<N>) -> [State; N] {
    let mut loaded = [[_mm_setzero_si128(); 2]; N];
    for (lane, state) in loaded.iter_mut().enumerate() {
        let [a, b, c, d, e, f, g, h] = states.lane(lane);
        *state = [four([f, e, b, a]), four([h, g, d, c])];
    }
    loaded
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn store<const N: usize>(states: &mut States<N>, from: [State; N]) {
    for (lane, [abef, cdgh]) in from.into_iter().enumerate() {
        let words = [
            _mm_extract_epi32::<3>(abef),
            _mm_extract_epi32::<2>(abef),
            _mm_extract_epi32::<3>(cdgh),
            _mm_extract_epi32::<2>(cdgh),
            _mm_extract_epi32::<1>(abef),
            _mm_extract_epi32::<0>(abef),
            _mm_extract_epi32::<1>(cdgh),
            _mm_extract_epi32::<0>(cdgh),
        ];
        for (row, word) in states.0.iter_mut().zip(words) {
            row[lane] = word as u32;
        }
    }
}

/// Rounds `4 * i` to `4 * i + 3` of a row of 16 scheduled words.
#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn four_rounds([abef, cdgh]: State, scheduled: __m128i) -> State {
    // two rounds turn C D G H into the new A B E F, and A B E F becomes the new C D G H
    let half = _mm_sha256rnds2_epu32(cdgh, abef, scheduled);
    [_mm_sha256rnds2_epu32(abef, half, _mm_shuffle_epi32::<0x0e>(scheduled)), half]
}

/// Four schedule words from the 16 before them.
#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn schedule(w0: __m128i, w1: __m128i, w2: __m128i, w3: __m128i) -> __m128i {
    let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
    _mm_sha256msg2_epu32(sum, w3)
}

/// Words `4 * i` to `4 * i + 3` of a row of constants.
#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn constants(row: &[u32; 16], i: usize) -> __m128i {
    four(row.as_chunks::<4>().0[i])
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn add<const N: usize>(mut states: [State; N], others: [State; N]) -> [State; N] {
    for (state, other) in states.iter_mut().zip(others) {
        *state = [_mm_add_epi32(state[0], other[0]), _mm_add_epi32(state[1], other[1])];
    }
    states
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn rounds<const N: usize>(states: [State; N], mut w: [[__m128i; 4]; N]) -> [State; N] {
    let [first, rest @ ..] = &ROUND_CONSTANTS;
    let mut s = states;
    for i in 0..4 {
        for (state, w) in s.iter_mut().zip(&w) {
            *state = four_rounds(*state, _mm_add_epi32(w[i], constants(first, i)));
        }
    }
    for row in rest {
        for i in 0..4 {
            for (state, w) in s.iter_mut().zip(&mut w) {
                w[i] = schedule(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
                *state = four_rounds(*state, _mm_add_epi32(w[i], constants(row, i)));
            }
        }
    }
    add(states, s)
}

#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn compress<const N: usize>(states: &mut States<N>, blocks: [&[[u8; 64]]; N]) {
    let big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    let mut s = load(states);
    for i in 0..blocks[0].len() {
        let mut words = [[_mm_setzero_si128(); 4]; N];
        for (words, blocks) in words.iter_mut().zip(blocks) {
            for (words, bytes) in words.iter_mut().zip(blocks[i].as_chunks::<16>().0) {
                // SAFETY: the load reads 16 bytes of the block.
                let loaded = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
                *words = _mm_shuffle_epi8(loaded, big_endian);
            }
        }
        s = rounds(s, words);
    }
    store(states, s);
}

#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn end_after_64<const N: usize>(states: &mut States<N>) {
    let before = load(states);
    let mut s = before;
    for row in &SCHEDULE_AFTER_64 {
        for i in 0..4 {
            for state in &mut s {
                *state = four_rounds(*state, constants(row, i));
            }
        }
    }
    store(states, add(before, s));
}

#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn hash_digests<const N: usize>(states: &mut States<N>) {
    let [e0, e1, e2, e3, e4, e5, e6, e7] = END_AFTER_32;
    let mut words = [[_mm_setzero_si128(); 4]; N];
    for (lane, words) in words.iter_mut().enumerate() {
        let [a, b, c, d, e, f, g, h] = states.lane(lane);
        *words = [
            four([a, b, c, d]),
            four([e, f, g, h]),
            four([e0, e1, e2, e3]),
            four([e4, e5, e6, e7]),
        ];
    }
    let s = rounds(load(&States::new()), words);
    store(states, s);
}
