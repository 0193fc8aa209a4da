//! Keccak-256 and Keccak-512 with the original padding (0x01), one message or many at once, and
//! the inner loop of ethash.
//!
//! [`keccak256`], [`keccak512`] and [`Keccak256`] hash one message. [`ManyKeccak`] hashes a batch
//! in the lanes of vector registers. Every width gives the same digests as the scalar code.
//! [`EthashMix`] mixes cache [`Rows`] into dataset items.

// the lane code waits for vector widths of other CPUs
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

mod arch;
mod ethash_mix;
mod keccak;
mod many;
mod rows;

pub use ethash_mix::{EthashMix, FNV_PRIME, PARENTS};
pub use keccak::{Keccak256, keccak256, keccak512};
pub use many::ManyKeccak;
pub use rows::Rows;
