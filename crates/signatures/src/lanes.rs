//! Signatures in the lanes of vectors, generic over the vectors and over the curve.
//!
//! A lane decides its signature unless something rare happens to it: a number out of range, a key
//! off the curve, a sum whose terms have equal x coordinates. Then a library decides. No
//! operation mixes lanes, and the inversions of a whole batch have their zeros replaced by ones.

#[cfg(test)]
mod big;
#[cfg(test)]
mod bounds;
mod curve;
mod digits;
mod ecdsa;
mod field;
mod generator;
mod glv;
mod group;
#[cfg(test)]
mod integers;
mod inverses;
#[cfg(feature = "std")]
pub(crate) mod key_table;
mod keys;
pub(crate) mod limb;
mod montgomery;
mod multiples;
#[cfg(feature = "std")]
mod p256;
#[cfg(feature = "std")]
mod p256_ecdsa;
#[cfg(feature = "std")]
mod p256_prime;
mod recover;
mod schnorr;
mod secp256k1;
mod secp256k1_prime;
mod tweaks;

use core::array;
use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "std")]
use crate::batch::KeyTables;
use crate::batch::{EcdsaCheck, Recovery, SchnorrCheck, TweakCheck, library};
use blockmill_hashes::ManySha256;
use curve::Curve;
use generator::Generator;
use group::{Affine, Jacobian};
use limb::{LANES, Limb, Mask};
use montgomery::Montgomery;
#[cfg(feature = "std")]
use p256::P256;
use secp256k1::Secp256k1;

/// Vectors of a batch, which shares an inversion. The memory for a batch is on the stack.
const VECTORS: usize = 16;
/// Signatures of a batch.
pub(crate) const BATCH: usize = LANES * VECTORS;

/// A verifier of many signatures at once. A value is the proof that the CPU has its features. Each
/// method writes the answers and returns how many of them the library had to give.
pub(crate) trait InLanes: Copy {
    /// Writes to `valid[i]` whether check `i` holds.
    fn ecdsa(self, checks: &[EcdsaCheck], valid: &mut [bool]) -> usize;

    /// Writes to `valid[i]` whether check `i` holds on P-256.
    #[cfg(feature = "std")]
    fn p256(self, checks: &[EcdsaCheck], tables: &KeyTables, valid: &mut [bool]) -> usize;

    /// Writes to `valid[i]` whether check `i` holds.
    fn schnorr(self, checks: &[SchnorrCheck], valid: &mut [bool]) -> usize;

    /// Writes to `valid[i]` whether check `i` holds.
    fn tweaks(self, checks: &[TweakCheck], valid: &mut [bool]) -> usize;

    /// Writes to `keys[i]` the key of signature `i`.
    fn recover(self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) -> usize;
}

/// Verification with limbs of one kind.
pub(crate) struct Lanes<L: Limb> {
    curve: Engine<L, Secp256k1>,
    #[cfg(feature = "std")]
    p256: Engine<L, P256>,
    /// Hashes the challenges of Schnorr signatures.
    hash: ManySha256,
}

impl<L: Limb> Clone for Lanes<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Limb> Copy for Lanes<L> {}

impl<L: Limb> fmt::Debug for Lanes<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("proof", &self.curve.proof).finish_non_exhaustive()
    }
}

impl<L: Limb> Lanes<L> {
    /// `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        Some(Lanes {
            curve: Engine::new()?,
            #[cfg(feature = "std")]
            p256: Engine::new()?,
            hash: ManySha256::detect(),
        })
    }
}

impl<L: Limb> InLanes for Lanes<L> {
    fn ecdsa(self, checks: &[EcdsaCheck], valid: &mut [bool]) -> usize {
        in_batches(checks, valid, |checks, valid| {
            ecdsa::verify(&self.curve, library::ecdsa, checks, valid)
        })
    }

    #[cfg(feature = "std")]
    fn p256(self, checks: &[EcdsaCheck], tables: &KeyTables, valid: &mut [bool]) -> usize {
        in_batches(checks, valid, |checks, valid| {
            let found = tables.find(checks);
            let undecided = p256_ecdsa::verify(&self.p256, &found, checks, valid);
            let proof = self.p256.proof;
            tables.learn(checks, &found, valid, |keys, made| {
                key_table::make::<L, P256>(proof, keys, made)
            });
            undecided
        })
    }

    fn schnorr(self, checks: &[SchnorrCheck], valid: &mut [bool]) -> usize {
        in_batches(checks, valid, |checks, valid| {
            schnorr::verify(&self.curve, self.hash, checks, valid)
        })
    }

    fn tweaks(self, checks: &[TweakCheck], valid: &mut [bool]) -> usize {
        in_batches(checks, valid, |checks, valid| tweaks::verify(&self.curve, checks, valid))
    }

    fn recover(self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) -> usize {
        in_batches(signatures, keys, |signatures, keys| {
            recover::recover(&self.curve, signatures, keys)
        })
    }
}

/// The sum of what `work` returns for each batch.
fn in_batches<T, U>(
    items: &[T],
    answers: &mut [U],
    work: impl Fn(&[T], &mut [U]) -> usize,
) -> usize {
    let batches = items.chunks(BATCH).zip(answers.chunks_mut(BATCH));
    batches.map(|(items, answers)| work(items, answers)).sum()
}

/// Writes the answers of the lanes, and of the library for those that no lane decided; returns the
/// number of the latter.
fn settle<T, U>(
    items: &[T],
    answers: &mut [U],
    doubtful: &[Mask],
    found: impl Fn(usize) -> U,
    library: impl Fn(&T) -> U,
) -> usize {
    let mut undecided = 0;
    for (i, (item, answer)) in items.iter().zip(answers).enumerate() {
        *answer = if is_set(doubtful, i) {
            undecided += 1;
            library(item)
        } else {
            found(i)
        };
    }
    undecided
}

/// The tables and the proof that the operations of a curve need.
#[derive(Clone, Copy)]
struct Engine<L: Limb, C: Curve> {
    proof: L::Proof,
    generator: &'static Generator,
    curve: PhantomData<C>,
}

impl<L: Limb, C: Curve> Engine<L, C> {
    fn new() -> Option<Self> {
        let proof = L::proof()?;
        let generator = Generator::shared::<L, C>(proof)?;
        Some(Engine { proof, generator, curve: PhantomData })
    }

    /// The sum `u1 * G + u2 * Q` for every lane's own numbers, both below the order, and point Q;
    /// Z is 0 in the lanes where it is not known.
    fn multiply(
        &self,
        u1: &Montgomery<L, C::Order>,
        u2: &Montgomery<L, C::Order>,
        q: &Affine<L, C>,
    ) -> Jacobian<L, C> {
        let mut sum = C::multiply(q, u2);
        self.generator.add_to(&mut sum, u1);
        sum
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
