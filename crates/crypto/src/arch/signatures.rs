//! Signatures in the lanes of vectors, where the architecture has what that takes.

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::Absent as Ifma;

#[cfg(target_arch = "x86_64")]
pub(crate) use super::x86_64::ifma::Ifma;

/// Stands for the vectors that no CPU of this architecture has.
#[cfg(not(target_arch = "x86_64"))]
mod absent {
    use crate::signatures::{EcdsaCheck, Recovery, SchnorrCheck};

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Absent {}

    impl Absent {
        pub(crate) fn new() -> Option<Self> {
            None
        }

        pub(crate) fn ecdsa(self, _: &[EcdsaCheck], _: &mut [bool]) {
            match self {}
        }

        pub(crate) fn schnorr(self, _: &[SchnorrCheck], _: &mut [bool]) {
            match self {}
        }

        pub(crate) fn recover(self, _: &[Recovery], _: &mut [Option<[u8; 64]>]) {
            match self {}
        }
    }
}
