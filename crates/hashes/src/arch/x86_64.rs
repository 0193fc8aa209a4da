//! Vector code for x86-64. A value of a type below is the proof that the CPU has the features.
#![allow(unsafe_code)]

pub(crate) mod avx2;
pub mod avx512;
pub(crate) mod avx512vl;
pub(crate) mod bmi;
mod sha256_avx2;
mod sha256_avx512;
pub(crate) mod sha_ni;
pub(crate) mod single;
