//! The permutation on 64-bit integers, for every CPU.

use super::permutation::permute;

#[inline(always)]
pub(super) fn xor3(a: u64, b: u64, c: u64) -> u64 {
    a ^ b ^ c
}

#[inline(always)]
pub(super) fn rotate<const N: u32>(a: u64) -> u64 {
    a.rotate_left(N)
}

#[inline(always)]
pub(super) fn chi(a: u64, b: u64, c: u64) -> u64 {
    a ^ (!b & c)
}

#[inline(always)]
pub(super) fn xor_constant(a: u64, constant: u64) -> u64 {
    a ^ constant
}

#[inline(always)]
pub(super) fn theta([c0, c1, c2, c3, c4]: [u64; 5]) -> impl Fn(usize, u64) -> u64 {
    let d = [
        c4 ^ rotate::<1>(c1),
        c0 ^ rotate::<1>(c2),
        c1 ^ rotate::<1>(c3),
        c2 ^ rotate::<1>(c4),
        c3 ^ rotate::<1>(c0),
    ];
    move |x, lane| lane ^ d[x]
}

/// Adds each of `blocks` to the first words of `state` and permutes.
pub(crate) fn absorb<'a, const RATE: usize>(
    state: &mut [u64; 25],
    blocks: impl Iterator<Item = &'a [u8; RATE]>,
) {
    let mut lanes = *state;
    for block in blocks {
        add_block(&mut lanes, block);
        permute!(lanes);
    }
    *state = lanes;
}

/// Adds the words of `block` to the first ones of `state`.
#[inline(always)]
pub(super) fn add_block<const RATE: usize>(state: &mut [u64; 25], block: &[u8; RATE]) {
    for (word, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
        *word ^= u64::from_le_bytes(*bytes);
    }
}
