//! Signatures in the lanes of vectors, where the architecture has what that takes.

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::Absent as Ifma;
#[cfg(target_arch = "x86_64")]
pub(crate) use present::Ifma;

#[cfg(target_arch = "x86_64")]
mod present {
    use crate::arch::x86_64::avx512::Avx512;
    use crate::arch::x86_64::ifma::Registers;
    use crate::lanes::Lanes;
    #[cfg(feature = "std")]
    use crate::signatures::KeyTables;
    use crate::signatures::{EcdsaCheck, Recovery, SchnorrCheck, TweakCheck};

    /// Limbs of AVX-512 IFMA, and SHA-256 of AVX-512.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Ifma {
        lanes: Lanes<Registers>,
        hash: Avx512,
    }

    impl Ifma {
        /// `None` on a CPU without the features.
        pub(crate) fn new() -> Option<Self> {
            Some(Ifma { lanes: Lanes::new()?, hash: Avx512::new()? })
        }

        pub(crate) fn ecdsa(self, checks: &[EcdsaCheck], valid: &mut [bool]) -> usize {
            self.lanes.ecdsa(checks, valid)
        }

        #[cfg(feature = "std")]
        pub(crate) fn p256(
            self,
            checks: &[EcdsaCheck],
            tables: &KeyTables,
            valid: &mut [bool],
        ) -> usize {
            self.lanes.p256(checks, tables, valid)
        }

        pub(crate) fn schnorr(self, checks: &[SchnorrCheck], valid: &mut [bool]) -> usize {
            self.lanes.schnorr(self.hash, checks, valid)
        }

        pub(crate) fn tweaks(self, checks: &[TweakCheck], valid: &mut [bool]) -> usize {
            self.lanes.tweaks(checks, valid)
        }

        pub(crate) fn recover(
            self,
            signatures: &[Recovery],
            keys: &mut [Option<[u8; 64]>],
        ) -> usize {
            self.lanes.recover(signatures, keys)
        }
    }
}

/// Stands for the vectors that no CPU of this architecture has.
#[cfg(not(target_arch = "x86_64"))]
mod absent {
    #[cfg(feature = "std")]
    use crate::signatures::KeyTables;
    use crate::signatures::{EcdsaCheck, Recovery, SchnorrCheck, TweakCheck};

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Absent {}

    impl Absent {
        pub(crate) fn new() -> Option<Self> {
            None
        }

        pub(crate) fn ecdsa(self, _: &[EcdsaCheck], _: &mut [bool]) -> usize {
            match self {}
        }

        #[cfg(feature = "std")]
        pub(crate) fn p256(self, _: &[EcdsaCheck], _: &KeyTables, _: &mut [bool]) -> usize {
            match self {}
        }

        pub(crate) fn schnorr(self, _: &[SchnorrCheck], _: &mut [bool]) -> usize {
            match self {}
        }

        pub(crate) fn tweaks(self, _: &[TweakCheck], _: &mut [bool]) -> usize {
            match self {}
        }

        pub(crate) fn tweaks(self, _: &[TweakCheck], _: &mut [bool]) -> usize {
            match self {}
        }

        pub(crate) fn recover(self, _: &[Recovery], _: &mut [Option<[u8; 64]>]) -> usize {
            match self {}
        }
    }
}
