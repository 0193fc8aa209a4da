//! Four SHA-256 states at once with the CPU's instructions (SHA-NI).
//!
//! Two parallel streams still wait for their own rounds; three or four do not, and then the number
//! of instructions counts. Twelve of 16 registers are used, two for each state and one for the
//! newest words of each block; older words are in memory. A compiler would keep other values in
//! registers and states in memory, where the next round waits for them, so that four streams take
//! longer than two. So the inner step is written in instructions, in their AVX form if available,
//! because that needs no copies.

use core::arch::asm;
use core::arch::x86_64::{
    __cpuid, __m128i, _mm_load_si128, _mm_setzero_si128, _mm_store_si128, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
};

use once_cell::race::OnceBool;

use super::{State, add, add_states, constants, four, four_rounds, rounds_after_64, words};
use crate::arch::sha256::{Compress, END_AFTER_32, ROUND_CONSTANTS, States};

cpufeatures::new!(cpu, "sha", "avx");

/// Proof that the CPU has SHA-NI and AVX.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaNiFour(());

impl ShaNiFour {
    /// The proof, or `None` on a CPU without the features.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(ShaNiFour(()))
    }

    /// Detects a CPU on which four streams are faster than sixteen lanes of AVX-512. These are not
    /// Intel's CPUs, which start an instruction for two rounds every 2 cycles instead of every
    /// cycle: see [`ManySha256::detect`](crate::ManySha256::detect) for numbers.
    pub(crate) fn before_avx512() -> Option<Self> {
        // the instruction takes long in a virtual machine
        static INTEL: OnceBool = OnceBool::new();
        let of_intel = || __cpuid(0).ebx.to_le_bytes() == *b"Genu";
        Self::new().filter(|_| !INTEL.get_or_init(of_intel))
    }
}

impl Compress<4> for ShaNiFour {
    #[inline]
    fn compress(self, states: &mut States<4>, blocks: [&[[u8; 64]]; 4]) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { compress(states, blocks) }
    }

    #[inline]
    fn end_after_64(self, states: &mut States<4>) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { end_after_64(states) }
    }

    #[inline]
    fn hash_digests(self, states: &mut States<4>) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { hash_digests(states) }
    }
}

/// Four words of each stream's block.
type Row = [__m128i; 4];

/// Transposes four registers with the same word of four streams into four words of each stream, or
/// back.
#[inline]
#[target_feature(enable = "sha,avx")]
fn transpose([a, b, c, d]: Row) -> Row {
    let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
    [
        _mm_unpacklo_epi64(ab, cd),
        _mm_unpackhi_epi64(ab, cd),
        _mm_unpacklo_epi64(ab_high, cd_high),
        _mm_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Register `w` holds word `w` of all four states.
#[inline]
#[target_feature(enable = "sha,avx")]
fn by_words(states: &States<4>) -> [__m128i; 8] {
    let mut rows = [_mm_setzero_si128(); 8];
    for (row, words) in rows.iter_mut().zip(&states.0) {
        // SAFETY: the load reads the four words, which `States` aligns.
        *row = unsafe { _mm_load_si128(words.as_ptr().cast()) };
    }
    rows
}

#[inline]
#[target_feature(enable = "sha,avx")]
fn load(states: &States<4>) -> [State; 4] {
    let [a, b, c, d, e, f, g, h] = by_words(states);
    let [abef0, abef1, abef2, abef3] = transpose([f, e, b, a]);
    let [cdgh0, cdgh1, cdgh2, cdgh3] = transpose([h, g, d, c]);
    [[abef0, cdgh0], [abef1, cdgh1], [abef2, cdgh2], [abef3, cdgh3]]
}

#[inline]
#[target_feature(enable = "sha,avx")]
fn store(states: &mut States<4>, [s0, s1, s2, s3]: [State; 4]) {
    let [f, e, b, a] = transpose([s0[0], s1[0], s2[0], s3[0]]);
    let [h, g, d, c] = transpose([s0[1], s1[1], s2[1], s3[1]]);
    for (words, row) in states.0.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        // SAFETY: the store writes the four words, which `States` aligns.
        unsafe { _mm_store_si128(words.as_mut_ptr().cast(), row) };
    }
}

/// Four rounds of stream `N` with its newest words, then the next four words, which replace the
/// oldest. There are three rows of older words, the oldest first.
#[inline]
#[target_feature(enable = "sha,avx")]
fn step<const N: usize>(
    [abef, cdgh]: &mut State,
    newest: &mut __m128i,
    [first, second, third]: [*mut Row; 3],
    constants: &[u32; 4],
) {
    // SAFETY: the instructions read the four `constants` and four words of stream `N` in each of
    // the three rows, the first of which they write. They name all registers that they change.
    unsafe {
        asm!(
            "vpaddd xmm0, {newest}, [{constants}]",
            // two rounds turn C D G H into the new A B E F, and A B E F becomes the new C D G H
            "sha256rnds2 {cdgh}, {abef}, xmm0",
            "vpshufd xmm0, xmm0, 14",
            "sha256rnds2 {abef}, {cdgh}, xmm0",
            "vmovdqa {next}, [{first} + {stream}]",
            "sha256msg1 {next}, [{second} + {stream}]",
            "vpalignr {sum}, {newest}, [{third} + {stream}], 4",
            "vpaddd {next}, {next}, {sum}",
            "sha256msg2 {next}, {newest}",
            "vmovdqa {newest}, {next}",
            "vmovdqa [{first} + {stream}], {next}",
            abef = inout(xmm_reg) *abef,
            cdgh = inout(xmm_reg) *cdgh,
            newest = inout(xmm_reg) *newest,
            next = out(xmm_reg) _,
            sum = out(xmm_reg) _,
            out("xmm0") _,
            first = in(reg) first,
            second = in(reg) second,
            third = in(reg) third,
            constants = in(reg) constants,
            stream = const 16 * N,
            options(nostack, preserves_flags),
        );
    }
}

/// The 16 words of a block of each stream are in `w`, four in a row.
#[inline]
#[target_feature(enable = "sha,avx")]
fn rounds(states: [State; 4], w: &mut [Row; 4]) -> [State; 4] {
    let [first, .., last] = &ROUND_CONSTANTS;
    let mut s = states;
    for (i, row) in w[..3].iter().enumerate() {
        for (state, w) in s.iter_mut().zip(row) {
            *state = four_rounds(*state, add(*w, constants(first, i)));
        }
    }
    let mut newest = w[3];
    let [mut a, mut b, mut c, mut d] = w.each_mut().map(|row| &raw mut *row);
    for constants in &ROUND_CONSTANTS.as_flattened().as_chunks().0[3..15] {
        step::<0>(&mut s[0], &mut newest[0], [a, b, c], constants);
        step::<1>(&mut s[1], &mut newest[1], [a, b, c], constants);
        step::<2>(&mut s[2], &mut newest[2], [a, b, c], constants);
        step::<3>(&mut s[3], &mut newest[3], [a, b, c], constants);
        (a, b, c, d) = (b, c, d, a);
    }
    for (state, w) in s.iter_mut().zip(newest) {
        *state = four_rounds(*state, add(w, constants(last, 3)));
    }
    add_states(states, s)
}

#[target_feature(enable = "sha,avx")]
fn compress(states: &mut States<4>, blocks: [&[[u8; 64]]; 4]) {
    let mut s = load(states);
    for i in 0..blocks[0].len() {
        let mut w = [[_mm_setzero_si128(); 4]; 4];
        for (stream, blocks) in blocks.iter().enumerate() {
            for (row, bytes) in w.iter_mut().zip(blocks[i].as_chunks::<16>().0) {
                row[stream] = words(bytes);
            }
        }
        s = rounds(s, &mut w);
    }
    store(states, s);
}

#[target_feature(enable = "sha,avx")]
fn end_after_64(states: &mut States<4>) {
    let after = rounds_after_64(load(states));
    store(states, after);
}

#[target_feature(enable = "sha,avx")]
fn hash_digests(states: &mut States<4>) {
    let [e0, e1, e2, e3, e4, e5, e6, e7] = END_AFTER_32;
    let [a, b, c, d, e, f, g, h] = by_words(states);
    let mut w = [
        transpose([a, b, c, d]),
        transpose([e, f, g, h]),
        [four([e0, e1, e2, e3]); 4],
        [four([e4, e5, e6, e7]); 4],
    ];
    let s = rounds(load(&States::new()), &mut w);
    store(states, s);
}
