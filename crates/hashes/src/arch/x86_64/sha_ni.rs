//! SHA-256 with the CPU's own instructions (SHA-NI), for one state or several.
//!
//! An instruction does two rounds and the next two wait 4 cycles for it, while one of another state
//! could begin after 1 (AMD Zen 3) or 2. So two independent states side by side take hardly longer
//! than one. Written like this, more of them take longer: [`four`] says why, and does four.

mod four;

use core::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi32, _mm_loadu_si128, _mm_set_epi8,
    _mm_set_epi32, _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32,
    _mm_shuffle_epi8, _mm_shuffle_epi32,
};

use crate::arch::four_rounds::four_rounds_at_a_time;
use crate::arch::sha256::{Compress, END_AFTER_32, ROUND_CONSTANTS, SCHEDULE_AFTER_64, States};

pub(crate) use four::ShaNiFour;

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

four_rounds_at_a_time!(ShaNi, __m128i, "sha,sse2,ssse3,sse4.1");

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
fn add(a: __m128i, b: __m128i) -> __m128i {
    _mm_add_epi32(a, b)
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn words(bytes: &[u8; 16]) -> __m128i {
    let big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    // SAFETY: the load reads the 16 bytes.
    let loaded = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm_shuffle_epi8(loaded, big_endian)
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn state([a, b, c, d, e, f, g, h]: [u32; 8]) -> State {
    [four([f, e, b, a]), four([h, g, d, c])]
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn state_words([abef, cdgh]: State) -> [u32; 8] {
    [
        _mm_extract_epi32::<3>(abef) as u32,
        _mm_extract_epi32::<2>(abef) as u32,
        _mm_extract_epi32::<3>(cdgh) as u32,
        _mm_extract_epi32::<2>(cdgh) as u32,
        _mm_extract_epi32::<1>(abef) as u32,
        _mm_extract_epi32::<0>(abef) as u32,
        _mm_extract_epi32::<1>(cdgh) as u32,
        _mm_extract_epi32::<0>(cdgh) as u32,
    ]
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn four_rounds([abef, cdgh]: State, scheduled: __m128i) -> State {
    // two rounds turn C D G H into the new A B E F, and A B E F becomes the new C D G H
    let half = _mm_sha256rnds2_epu32(cdgh, abef, scheduled);
    [_mm_sha256rnds2_epu32(abef, half, _mm_shuffle_epi32::<0x0e>(scheduled)), half]
}

#[inline]
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
fn schedule(w0: __m128i, w1: __m128i, w2: __m128i, w3: __m128i) -> __m128i {
    let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
    _mm_sha256msg2_epu32(sum, w3)
}
