//! secp256k1 signatures in the lanes of vectors, by the multiply-add of 52 bits (AVX-512 IFMA).
//!
//! A lane decides its signature unless something rare happens to it: a number out of range, a key
//! off the curve, a sum whose terms have equal x coordinates. Then libsecp256k1 decides. No
//! operation mixes lanes, and the inversions of a whole batch have their zeros replaced by ones.

#[cfg(test)]
mod big;
mod digits;
mod ecdsa;
mod field;
mod generator;
mod group;
mod inverses;
mod keys;
mod limb;
mod multiply;
mod recover;
mod scalar;
mod schnorr;

use core::array;

use super::avx512::Avx512;
use crate::signatures::{EcdsaCheck, Recovery, SchnorrCheck};
use generator::Generator;
use limb::{LANES, Mask};

/// Vectors of a batch, which shares an inversion. The memory for a batch is on the stack.
const VECTORS: usize = 16;
/// Signatures of a batch.
const BATCH: usize = LANES * VECTORS;

/// Proof that the CPU has the features, and the multiples of the generator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ifma {
    generator: &'static Generator,
    hash: Avx512,
}

impl Ifma {
    /// The proof, or `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        Some(Ifma { generator: Generator::shared()?, hash: Avx512::new()? })
    }

    /// Writes to `valid[i]` whether check `i` holds.
    pub(crate) fn ecdsa(self, checks: &[EcdsaCheck], valid: &mut [bool]) {
        for (checks, valid) in checks.chunks(BATCH).zip(valid.chunks_mut(BATCH)) {
            // SAFETY: `self` is the proof that the CPU has the features.
            unsafe { ecdsa::verify(self.generator, checks, valid) }
        }
    }

    /// Writes to `valid[i]` whether check `i` holds.
    pub(crate) fn schnorr(self, checks: &[SchnorrCheck], valid: &mut [bool]) {
        for (checks, valid) in checks.chunks(BATCH).zip(valid.chunks_mut(BATCH)) {
            // SAFETY: `self` is the proof that the CPU has the features.
            unsafe { schnorr::verify(self.generator, self.hash, checks, valid) }
        }
    }

    /// Writes to `keys[i]` the key of signature `i`.
    pub(crate) fn recover(self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) {
        for (signatures, keys) in signatures.chunks(BATCH).zip(keys.chunks_mut(BATCH)) {
            // SAFETY: `self` is the proof that the CPU has the features.
            unsafe { recover::recover(self.generator, signatures, keys) }
        }
    }
}

/// The items of a vector's lanes; lanes without one repeat the last.
fn lane_items<T>(items: &[T], vector: usize) -> [&T; LANES] {
    array::from_fn(|lane| &items[(LANES * vector + lane).min(items.len() - 1)])
}

/// Whether lane `i`, counted over all vectors, has its bit set.
fn is_set(masks: &[Mask], i: usize) -> bool {
    masks[i / LANES] >> (i % LANES) & 1 == 1
}
