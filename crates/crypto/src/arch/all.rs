//! The permutation on 64-bit integers, for every CPU.

use super::permutation;

#[inline(always)]
fn xor(a: u64, b: u64) -> u64 {
    a ^ b
}

#[inline(always)]
fn xor3(a: u64, b: u64, c: u64) -> u64 {
    a ^ b ^ c
}

#[inline(always)]
fn rotate<const N: u32>(a: u64) -> u64 {
    a.rotate_left(N)
}

#[inline(always)]
fn chi(a: u64, b: u64, c: u64) -> u64 {
    a ^ (!b & c)
}

#[inline(always)]
fn splat(a: u64) -> u64 {
    a
}

permutation!(
    #[inline(always)]
    rounds,
    u64
);

/// Applies the 24 rounds to `state`.
pub(crate) fn permute(state: &mut [u64; 25]) {
    *state = rounds(*state);
}
