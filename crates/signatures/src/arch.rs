//! Signatures in the registers of each kind of CPU.
//!
//! An algorithm is written once, over a trait. The files of a platform define a register type and
//! its operations. On other platforms each of these types is `Absent`, so that callers name all of
//! them everywhere.

#[cfg(not(target_arch = "x86_64"))]
mod absent;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use absent::{Absent as FmaSignatures, Absent as IfmaSignatures};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{FmaSignatures, IfmaSignatures};

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use x86_64::{fma_lanes, ifma};
