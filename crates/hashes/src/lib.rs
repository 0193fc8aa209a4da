//! Keccak and SHA-256 of one message or of many at once, and the inner loop of ethash. Not designed
//! for secret data.
//!
//! - [`keccak256`], [`keccak512`] and [`Keccak256`] hash one message with the padding of 2011
//!   (0x01), as in Ethereum; [`sha256`], [`sha256d`] and [`Sha256`] follow FIPS 180-4.
//! - [`ManyKeccak`] and [`ManySha256`] hash a batch in the lanes of vector registers. They select
//!   the fastest width of the CPU; every width gives the same digests as the scalar code.
//! - `EthashMix` mixes cache `Rows` into dataset items; both need the feature `std`.
//!
//! Only the tables of ethash use heap memory.

#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "std"), no_std)]
// the lane code waits for vector widths of other CPUs
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arch;
#[cfg(feature = "std")]
mod ethash_mix;
mod keccak;
mod many;
mod many_sha256;
#[cfg(feature = "std")]
mod rows;
mod sha256;

#[cfg(target_arch = "x86_64")]
pub use arch::avx512;
#[cfg(feature = "std")]
pub use ethash_mix::{EthashMix, FNV_PRIME, PARENTS};
pub use keccak::{Keccak256, keccak256, keccak512};
pub use many::ManyKeccak;
pub use many_sha256::ManySha256;
#[cfg(feature = "std")]
pub use rows::Rows;
pub use sha256::{Sha256, sha256, sha256d};
