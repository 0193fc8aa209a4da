//! Vector code for aarch64. A value of a type below is the proof that the CPU has the features.
#![allow(unsafe_code)]

pub(crate) mod sha2;
pub(crate) mod sha3;
