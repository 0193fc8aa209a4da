//! Signatures in the lanes of vectors, where the architecture has what that takes.

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::{Absent as Avx2, Absent as Ifma};
#[cfg(target_arch = "x86_64")]
pub(crate) use present::{Avx2, Ifma};

#[cfg(target_arch = "x86_64")]
mod present {
    use crate::arch::x86_64::{avx2, avx512, fma_lanes, ifma};
    use crate::lanes::Lanes;
    #[cfg(feature = "std")]
    use crate::signatures::KeyTables;
    use crate::signatures::{EcdsaCheck, Recovery, SchnorrCheck, TweakCheck};

    /// Makes a type of limbs and of a way to hash as many messages.
    macro_rules! variant {
        ($(#[$doc:meta])* $name:ident, $limbs:ty, $hash:ty) => {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name {
                lanes: Lanes<$limbs>,
                hash: $hash,
            }

            impl $name {
                /// `None` on a CPU without the features.
                pub(crate) fn new() -> Option<Self> {
                    Some($name { lanes: Lanes::new()?, hash: <$hash>::new()? })
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
        };
    }
    variant!(
        /// Limbs of AVX2 and FMA, and SHA-256 of AVX2.
        Avx2,
        fma_lanes::Registers,
        avx2::Avx2
    );
    variant!(
        /// Limbs of AVX-512 IFMA, and SHA-256 of AVX-512.
        Ifma,
        ifma::Registers,
        avx512::Avx512
    );
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
