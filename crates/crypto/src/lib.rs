//! Hashes and signatures: Keccak and SHA-256 of one message or of many at once, the signer of a
//! message, signatures by the hundred, and the inner loop of ethash. No secrets pass here: nothing
//! signs, and nothing takes the same time for all numbers.
//!
//! * [`keccak256`], [`keccak512`] and [`Keccak256`] hash one message with the padding of 2011
//!   (0x01), as Ethereum does; [`sha256`], [`sha256d`] and [`Sha256`] likewise (FIPS 180-4).
//! * [`ManyKeccak`] and [`ManySha256`] hash a batch in the lanes of vector registers. They choose
//!   the widest that the CPU has; every width gives the same digests as the scalar code.
//! * [`is_public_key`] and [`uncompress_public_key`] know the curve's points.
//! * [`recover`] finds the key that signed a message; [`Signatures`] verifies many signatures of
//!   secp256k1 and P-256 at once, and finds the keys of many.
//! * `EthashMix` mixes cache `Rows` into dataset items; they need the feature `std`.
//!
//! Nothing here uses heap memory, but for the tables of ethash and of points. P-256 and its
//! `KeyTables` need the feature `std`.

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
mod lanes;
mod many;
mod many_sha256;
mod point;
mod recover;
#[cfg(feature = "std")]
mod rows;
#[cfg(feature = "std")]
mod secret;
mod sha256;
mod signatures;

#[cfg(feature = "std")]
pub use ethash_mix::{EthashMix, FNV_PRIME, PARENTS};
pub use keccak::{Keccak256, keccak256, keccak512};
pub use many::ManyKeccak;
pub use many_sha256::ManySha256;
pub use point::{is_public_key, uncompress_public_key};
pub use recover::{RecoverError, recover};
#[cfg(feature = "std")]
pub use rows::Rows;
#[cfg(feature = "std")]
pub use secret::secret;
pub use sha256::{Sha256, sha256, sha256d};
#[cfg(feature = "std")]
pub use signatures::KeyTables;
#[cfg(feature = "std")]
pub use signatures::library_p256::is_p256_key;
pub use signatures::{EcdsaCheck, Key, Recovery, SchnorrCheck, Signatures, TweakCheck, Variant};
