//! Two states at once, with the CPU's instructions (FEAT_SHA3): register `w` has word `w` of both.
//!
//! Xor of three values, chi, theta's rotation and rho's rotation with the xor before it are one
//! instruction each: 66 a round for two states, 79 as compiled with moves between registers.
//! Integer code takes 150 a round for one.
//!
//! No machine with these instructions was available, so these are measurements of others for one
//! state. Apple's M1 is 36 % faster with them than with integers (OpenSSL, pull request 21398): a
//! pair should be hashed 2.7 times as fast. Neoverse V2, with one such unit, takes 573 ns where
//! good integer code takes 284 (keccak-asm, issue 15): a pair is no faster there.

use core::arch::aarch64::{
    uint64x2_t, vbcaxq_u64, vdupq_n_u64, veor3q_u64, veorq_u64, vgetq_lane_u64, vld1q_u8,
    vld1q_u64, vrax1q_u64, vreinterpretq_u8_u64, vreinterpretq_u64_u8, vst1q_u8, vst1q_u64,
    vtrn1q_u64, vtrn2q_u64, vxarq_u64,
};

use crate::arch::Absorb;
use crate::arch::permutation::permute;
use crate::keccak::{PADDING_AFTER_64, RATE_256, last_word, pad};
use crate::many::{States, Wide};

cpufeatures::new!(cpu, "sha3");

/// Proof that the CPU has the SHA3 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha3(());

impl Sha3 {
    /// The proof, or `None` on a CPU without them.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(Sha3(()))
    }

    /// Detects a CPU on which it is the fastest for a single state, although that leaves half of
    /// each register idle: only Apple's CPUs, see the numbers above.
    #[inline]
    pub(crate) fn for_one() -> Option<Self> {
        if cfg!(target_vendor = "apple") { Self::new() } else { None }
    }
}

impl Absorb for Sha3 {
    #[inline]
    fn absorb<'a, const RATE: usize>(
        self,
        state: &mut [u64; 25],
        blocks: impl Iterator<Item = &'a [u8; RATE]>,
    ) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb_one(state, blocks) }
    }
}

impl Wide<2> for Sha3 {
    #[inline]
    fn absorb(self, states: &mut States<2>, fresh: u8, rest: &[&[u8]; 2], whole: usize) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb(states, fresh, rest, whole) }
    }

    #[inline]
    fn keccak512_64(self, blocks: &mut [[u8; 64]; 2]) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { keccak512_64(blocks) }
    }
}

#[inline]
#[target_feature(enable = "neon,sha3")]
fn xor3(a: uint64x2_t, b: uint64x2_t, c: uint64x2_t) -> uint64x2_t {
    veor3q_u64(a, b, c)
}

#[inline]
#[target_feature(enable = "neon,sha3")]
fn chi(a: uint64x2_t, b: uint64x2_t, c: uint64x2_t) -> uint64x2_t {
    // a ^ (c & !b)
    vbcaxq_u64(a, c, b)
}

#[inline]
#[target_feature(enable = "neon,sha3")]
fn xor_constant(a: uint64x2_t, constant: u64) -> uint64x2_t {
    veorq_u64(a, vdupq_n_u64(constant))
}

/// The values that theta adds to the lanes of each column.
#[inline]
#[target_feature(enable = "neon,sha3")]
fn theta([c0, c1, c2, c3, c4]: [uint64x2_t; 5]) -> impl Fn(usize) -> uint64x2_t {
    let d = [
        vrax1q_u64(c4, c1),
        vrax1q_u64(c0, c2),
        vrax1q_u64(c1, c3),
        vrax1q_u64(c2, c4),
        vrax1q_u64(c3, c0),
    ];
    move |x| d[x]
}

/// The xor of theta and the rotation of rho are one instruction, which rotates to the right.
macro_rules! xor_rotate {
    (0, $theta:ident, $x:literal, $lane:expr) => {
        veorq_u64($lane, $theta($x))
    };
    ($left:literal, $theta:ident, $x:literal, $lane:expr) => {
        vxarq_u64::<{ 64 - $left }>($lane, $theta($x))
    };
}

/// Words `2 * part` and `2 * part + 1` of two blocks: a register for each word.
#[inline]
#[target_feature(enable = "neon,sha3")]
fn load_columns<const LENGTH: usize>(blocks: &[&[u8; LENGTH]; 2], part: usize) -> [uint64x2_t; 2] {
    let mut rows = [vdupq_n_u64(0); 2];
    for (row, block) in rows.iter_mut().zip(blocks) {
        let bytes = &block.as_chunks::<16>().0[part];
        // SAFETY: the load reads these 16 bytes.
        *row = vreinterpretq_u64_u8(unsafe { vld1q_u8(bytes.as_ptr()) });
    }
    transpose(rows)
}

/// Turns two rows of two words into two columns.
#[inline]
#[target_feature(enable = "neon,sha3")]
fn transpose([a, b]: [uint64x2_t; 2]) -> [uint64x2_t; 2] {
    [vtrn1q_u64(a, b), vtrn2q_u64(a, b)]
}

/// Writes the words of both columns to 16 bytes of each state's output.
#[inline]
#[target_feature(enable = "neon,sha3")]
fn store_columns(columns: [uint64x2_t; 2], out: [&mut [u8; 16]; 2]) {
    for (row, out) in transpose(columns).into_iter().zip(out) {
        // SAFETY: the store writes the 16 bytes of `out`.
        unsafe { vst1q_u8(out.as_mut_ptr(), vreinterpretq_u8_u64(row)) };
    }
}

/// Adds the words of the blocks to the first 17 registers.
#[inline]
#[target_feature(enable = "neon,sha3")]
fn add_blocks(lanes: &mut [uint64x2_t; 25], blocks: &[&[u8; RATE_256]; 2]) {
    for part in 0..8 {
        for (lane, word) in lanes[part * 2..].iter_mut().zip(load_columns(blocks, part)) {
            *lane = veorq_u64(*lane, word);
        }
    }
    let words = [last_word(blocks[0]), last_word(blocks[1])];
    // SAFETY: the load reads `words`.
    lanes[16] = veorq_u64(lanes[16], unsafe { vld1q_u64(words.as_ptr()) });
}

#[target_feature(enable = "neon,sha3")]
fn absorb(states: &mut States<2>, fresh: u8, rest: &[&[u8]; 2], whole: usize) {
    let mut lanes = [vdupq_n_u64(0); 25];
    for (lane, words) in lanes.iter_mut().zip(&states.words) {
        let kept = [0, 1].map(|i| if fresh >> i & 1 == 1 { 0 } else { words[i] });
        // SAFETY: the load reads `kept`.
        *lane = unsafe { vld1q_u64(kept.as_ptr()) };
    }
    for i in 0..whole {
        let mut blocks = [&[0; RATE_256]; 2];
        for (block, rest) in blocks.iter_mut().zip(rest) {
            *block = &rest.as_chunks().0[i];
        }
        add_blocks(&mut lanes, &blocks);
        permute!(lanes, xor_rotate);
    }
    let mut last = [[0; RATE_256]; 2];
    for (block, rest) in last.iter_mut().zip(rest) {
        pad(&rest[whole * RATE_256..], block);
    }
    add_blocks(&mut lanes, &last.each_ref());
    permute!(lanes, xor_rotate);
    for (words, lane) in states.words.iter_mut().zip(lanes) {
        // SAFETY: the store writes the two words.
        unsafe { vst1q_u64(words.as_mut_ptr(), lane) };
    }
    let [first, second] = &mut states.digests;
    let halves = first.as_chunks_mut::<16>().0.iter_mut().zip(second.as_chunks_mut::<16>().0);
    for ((first, second), columns) in halves.zip(lanes.as_chunks::<2>().0) {
        store_columns(*columns, [first, second]);
    }
}

#[target_feature(enable = "neon,sha3")]
fn keccak512_64(blocks: &mut [[u8; 64]; 2]) {
    let mut lanes = [vdupq_n_u64(0); 25];
    for part in 0..4 {
        lanes[2 * part..2 * part + 2].copy_from_slice(&load_columns(&blocks.each_ref(), part));
    }
    lanes[8] = vdupq_n_u64(PADDING_AFTER_64);
    permute!(lanes, xor_rotate);
    let [first, second] = blocks;
    let parts = first.as_chunks_mut::<16>().0.iter_mut().zip(second.as_chunks_mut::<16>().0);
    for ((first, second), columns) in parts.zip(lanes.as_chunks::<2>().0) {
        store_columns(*columns, [first, second]);
    }
}

/// The lanes stay in their registers from block to block; both halves hold the same state.
#[target_feature(enable = "neon,sha3")]
fn absorb_one<'a, const RATE: usize>(
    state: &mut [u64; 25],
    blocks: impl Iterator<Item = &'a [u8; RATE]>,
) {
    let mut lanes = [vdupq_n_u64(0); 25];
    for (lane, word) in lanes.iter_mut().zip(state.iter()) {
        *lane = vdupq_n_u64(*word);
    }
    for block in blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = xor_constant(*lane, u64::from_le_bytes(*bytes));
        }
        permute!(lanes, xor_rotate);
    }
    for (word, lane) in state.iter_mut().zip(lanes) {
        *word = vgetq_lane_u64::<0>(lane);
    }
}
