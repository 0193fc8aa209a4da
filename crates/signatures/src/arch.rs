//! What each kind of CPU can do: signatures in its registers.
//!
//! An algorithm is written once, over a trait; the files of a platform give it a type of registers
//! and the operations that it needs. Elsewhere each of those types is `Absent`: callers name all of
//! them on every platform.

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
