//! The SHA-256 compression function on 32-bit integers, for every CPU.

use super::sha256::{Compress, END_AFTER_32, SCHEDULE_AFTER_64, States, rounds};

#[inline(always)]
fn add(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[inline(always)]
fn xor3(a: u32, b: u32, c: u32) -> u32 {
    a ^ b ^ c
}

#[inline(always)]
fn rotate<const N: u32>(a: u32) -> u32 {
    a.rotate_right(N)
}

#[inline(always)]
fn shift<const N: u32>(a: u32) -> u32 {
    a >> N
}

#[inline(always)]
fn choose(e: u32, f: u32, g: u32) -> u32 {
    g ^ (e & (f ^ g))
}

/// `b ^ c` is the `a ^ b` of the round before, which the compiler sees.
#[inline(always)]
fn majority(a: u32, b: u32, c: u32) -> u32 {
    b ^ ((a ^ b) & (b ^ c))
}

#[inline(always)]
fn splat(a: u32) -> u32 {
    a
}

rounds!(
    #[inline(always)]
    u32
);

/// One state in integer registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

impl Compress<1> for Scalar {
    fn compress(self, states: &mut States<1>, [blocks]: [&[[u8; 64]]; 1]) {
        let mut state = states.0.map(|[word]| word);
        for block in blocks {
            let mut words = [0; 16];
            for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
                *word = u32::from_be_bytes(*bytes);
            }
            state = rounds(state, words);
        }
        states.0 = state.map(|word| [word]);
    }

    fn end_after_64(self, states: &mut States<1>) {
        let state = states.0.map(|[word]| word);
        states.0 = rounds_scheduled(state, &SCHEDULE_AFTER_64).map(|word| [word]);
    }

    fn hash_digests(self, states: &mut States<1>) {
        let mut words = [0; 16];
        let (digest, end) = words.split_at_mut(8);
        digest.copy_from_slice(states.0.as_flattened());
        end.copy_from_slice(&END_AFTER_32);
        let state = States::<1>::new().0.map(|[word]| word);
        states.0 = rounds(state, words).map(|word| [word]);
    }
}
