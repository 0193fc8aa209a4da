//! A type without values, in place of vectors that this platform does not have.

use core::convert::Infallible;

#[cfg(feature = "std")]
use crate::batch::KeyTables;
use crate::batch::{EcdsaCheck, Recovery, SchnorrCheck, TweakCheck};
use crate::lanes::InLanes;

/// Vectors that this platform does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Absent(Infallible);

impl Absent {
    /// Returns `None`.
    pub(crate) fn new() -> Option<Self> {
        None
    }
}

impl InLanes for Absent {
    fn ecdsa(self, _: &[EcdsaCheck], _: &mut [bool]) -> usize {
        match self.0 {}
    }

    #[cfg(feature = "std")]
    fn p256(self, _: &[EcdsaCheck], _: &KeyTables, _: &mut [bool]) -> usize {
        match self.0 {}
    }

    fn schnorr(self, _: &[SchnorrCheck], _: &mut [bool]) -> usize {
        match self.0 {}
    }

    fn tweaks(self, _: &[TweakCheck], _: &mut [bool]) -> usize {
        match self.0 {}
    }

    fn recover(self, _: &[Recovery], _: &mut [Option<[u8; 64]>]) -> usize {
        match self.0 {}
    }
}
