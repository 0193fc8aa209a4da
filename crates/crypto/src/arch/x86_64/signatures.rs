//! The vectors that signatures are verified in.

use super::{avx2::Avx2, avx512::Avx512, fma_lanes, ifma};
use crate::arch::signatures::Vectors;

/// Limbs of AVX2 and FMA, and SHA-256 of AVX2.
pub(crate) type FmaSignatures = Vectors<fma_lanes::Registers, Avx2>;

impl FmaSignatures {
    /// `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        Self::with(Avx2::new())
    }
}

/// Limbs of AVX-512 IFMA, and SHA-256 of AVX-512.
pub(crate) type IfmaSignatures = Vectors<ifma::Registers, Avx512>;

impl IfmaSignatures {
    /// `None` on a CPU without the features.
    pub(crate) fn new() -> Option<Self> {
        Self::with(Avx512::new())
    }
}
