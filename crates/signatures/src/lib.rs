//! Verifies signatures of secp256k1 and P-256: one at a time, or a batch in the lanes of vector
//! registers. Only for public data: nothing signs, and nothing is constant in time.
//!
//! - [`is_public_key`] and [`uncompress_public_key`] check points of secp256k1.
//! - `verify_p256` and `is_p256_key` verify on P-256, one at a time.
//! - [`recover`] finds the key that signed a message.
//! - [`Signatures`] verifies many signatures of secp256k1 and P-256 at once, and recovers many
//!   keys. It selects the widest vectors of the CPU; every width gives the verdicts of the
//!   libraries.
//!
//! Only the tables of points use heap memory. P-256 and its `KeyTables` need the feature `std`.

#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "std"), no_std)]
// the lane code waits for vector widths of other CPUs
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod arch;
mod batch;
mod lanes;
mod option;
#[cfg(feature = "std")]
mod p256;
mod point;
mod recover;

#[cfg(feature = "std")]
pub use batch::KeyTables;
pub use batch::{EcdsaCheck, Key, Recovery, SchnorrCheck, Signatures, TweakCheck, Width};
#[cfg(feature = "std")]
pub use p256::{is_p256_key, verify_p256};
pub use point::{is_public_key, uncompress_public_key};
pub use recover::{RecoverError, recover};
