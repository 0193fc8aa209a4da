//! SHA-256 with the CPU's instructions (FEAT_SHA256), for one state or several.
//!
//! A block of one state is 142 instructions as compiled, where integer code takes 890. No such
//! machine was available for measurements; by published tables an instruction waits 4 cycles for
//! the previous one, and the next independent one can begin after 1, so two states are processed in
//! parallel.

use core::arch::aarch64::{
    uint32x4_t, vaddq_u32, vld1q_u8, vld1q_u32, vreinterpretq_u32_u8, vrev32q_u8, vsha256h2q_u32,
    vsha256hq_u32, vsha256su0q_u32, vsha256su1q_u32, vst1q_u32,
};

use crate::arch::four_rounds::four_rounds_at_a_time;
use crate::arch::sha256::{Compress, END_AFTER_32, ROUND_CONSTANTS, SCHEDULE_AFTER_64, States};

cpufeatures::new!(cpu, "sha2");

/// Proof that the CPU has the SHA-256 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha2(());

impl Sha2 {
    /// The proof, or `None` on a CPU without them.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(Sha2(()))
    }
}

four_rounds_at_a_time!(Sha2, uint32x4_t, "neon,sha2");

/// One state as the instructions take it, lowest word first: A B C D and E F G H.
type State = [uint32x4_t; 2];

#[inline]
#[target_feature(enable = "neon,sha2")]
fn four(words: [u32; 4]) -> uint32x4_t {
    // SAFETY: the load reads `words`.
    unsafe { vld1q_u32(words.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon,sha2")]
fn add(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vaddq_u32(a, b)
}

#[inline]
#[target_feature(enable = "neon,sha2")]
fn words(bytes: &[u8; 16]) -> uint32x4_t {
    // SAFETY: the load reads the 16 bytes.
    let loaded = unsafe { vld1q_u8(bytes.as_ptr()) };
    vreinterpretq_u32_u8(vrev32q_u8(loaded))
}

#[inline]
#[target_feature(enable = "neon,sha2")]
fn state([a, b, c, d, e, f, g, h]: [u32; 8]) -> State {
    [four([a, b, c, d]), four([e, f, g, h])]
}

#[inline]
#[target_feature(enable = "neon,sha2")]
fn state_words([abcd, efgh]: State) -> [u32; 8] {
    let mut words = [0; 8];
    let (low, high) = words.split_at_mut(4);
    // SAFETY: the store writes the four words of `low`.
    unsafe { vst1q_u32(low.as_mut_ptr(), abcd) };
    // SAFETY: the store writes the four words of `high`.
    unsafe { vst1q_u32(high.as_mut_ptr(), efgh) };
    words
}

#[inline]
#[target_feature(enable = "neon,sha2")]
fn four_rounds([abcd, efgh]: State, scheduled: uint32x4_t) -> State {
    [vsha256hq_u32(abcd, efgh, scheduled), vsha256h2q_u32(efgh, abcd, scheduled)]
}

#[inline]
#[target_feature(enable = "neon,sha2")]
fn schedule(w0: uint32x4_t, w1: uint32x4_t, w2: uint32x4_t, w3: uint32x4_t) -> uint32x4_t {
    vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3)
}
