//! Vector code for x86-64. A value of a type below is the proof that the CPU has the features.
#![allow(unsafe_code)]

mod fma;
pub(crate) mod fma_lanes;
pub(crate) mod ifma;

use crate::lanes::Lanes;

/// Signatures in limbs of AVX2 and FMA.
pub(crate) type FmaSignatures = Lanes<fma_lanes::Registers>;

/// Signatures in limbs of AVX-512 IFMA.
pub(crate) type IfmaSignatures = Lanes<ifma::Registers>;
