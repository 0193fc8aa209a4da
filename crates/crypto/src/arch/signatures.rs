//! Signatures in the lanes of vectors, where the platform has what that takes.

use crate::arch::sha256::Compress;
use crate::lanes::Lanes;
use crate::lanes::limb::{LANES, Limb};
#[cfg(feature = "std")]
use crate::signatures::KeyTables;
use crate::signatures::{EcdsaCheck, Recovery, SchnorrCheck, TweakCheck};

/// A way to answer many signatures at once. A value is the proof that the CPU can do it. Each
/// method writes the answers and returns how many of them the library had to give.
pub(crate) trait InLanes: Copy {
    /// See [`Lanes::ecdsa`].
    fn ecdsa(self, checks: &[EcdsaCheck], valid: &mut [bool]) -> usize;

    /// See [`Lanes::p256`].
    #[cfg(feature = "std")]
    fn p256(self, checks: &[EcdsaCheck], tables: &KeyTables, valid: &mut [bool]) -> usize;

    /// See [`Lanes::schnorr`].
    fn schnorr(self, checks: &[SchnorrCheck], valid: &mut [bool]) -> usize;

    /// See [`Lanes::tweaks`].
    fn tweaks(self, checks: &[TweakCheck], valid: &mut [bool]) -> usize;

    /// See [`Lanes::recover`].
    fn recover(self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) -> usize;
}

/// Limbs of a CPU's vectors, and its way to hash as many messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors<L: Limb, H> {
    lanes: Lanes<L>,
    hash: H,
}

impl<L: Limb, H: Compress<LANES>> Vectors<L, H> {
    /// `None` on a CPU without the features.
    pub(crate) fn with(hash: Option<H>) -> Option<Self> {
        Some(Vectors { lanes: Lanes::new()?, hash: hash? })
    }
}

impl<L: Limb, H: Compress<LANES>> InLanes for Vectors<L, H> {
    fn ecdsa(self, checks: &[EcdsaCheck], valid: &mut [bool]) -> usize {
        self.lanes.ecdsa(checks, valid)
    }

    #[cfg(feature = "std")]
    fn p256(self, checks: &[EcdsaCheck], tables: &KeyTables, valid: &mut [bool]) -> usize {
        self.lanes.p256(checks, tables, valid)
    }

    fn schnorr(self, checks: &[SchnorrCheck], valid: &mut [bool]) -> usize {
        self.lanes.schnorr(self.hash, checks, valid)
    }

    fn tweaks(self, checks: &[TweakCheck], valid: &mut [bool]) -> usize {
        self.lanes.tweaks(checks, valid)
    }

    fn recover(self, signatures: &[Recovery], keys: &mut [Option<[u8; 64]>]) -> usize {
        self.lanes.recover(signatures, keys)
    }
}
