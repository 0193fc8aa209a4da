//! Recursive Length Prefix, the encoding of every Ethereum object (Yellow Paper, appendix B).
//!
//! A struct that is a list of fields needs one line:
//!
//! ```
//! use blockmill_rlp::{Decode, Encode};
//!
//! #[derive(Debug, PartialEq)]
//! struct Point { x: u64, y: u64 }
//! blockmill_rlp::list!(Point { x: u64, y: u64 });
//!
//! let point = Point { x: 1, y: 1024 };
//! assert_eq!(point.encode(), [0xc4, 0x01, 0x82, 0x04, 0x00]);
//! assert_eq!(point.encoded_len(), 5);
//! assert_eq!(point.hash(), blockmill_hashes::keccak256(&point.encode()));
//! assert_eq!(Point::decode(&point.encode()), Ok(point));
//! ```
//!
//! With the feature `derive`, `#[derive(Encode, Decode)]` does the same for structs with generic
//! parameters and for tuple structs; `#[rlp(transparent)]` encodes a struct of one field as that
//! field. An `Option` is a trailing field that may be absent, in both.
//!
//! * [`Encode`] writes in two passes: the first computes the length of every list, the second
//!   writes into one buffer of exactly the right size, and never moves a byte. Its
//!   [`hash`](Encode::hash) does the second pass straight into Keccak-256 and uses no heap memory.
//! * [`Decode`] and [`Reader`] read encoded bytes without copying them. They accept the canonical
//!   form only, so that two different byte strings never decode to the same value. Errors have the
//!   offset of the wrong byte. Decoding does not recurse on the input.
//! * [`Encoder`] reuses its memory from value to value.
//! * [`OnePass`] is the usual way to write RLP, as the baseline.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![no_std]

extern crate alloc;
// the derive macros name the crate, in its own tests as well
#[cfg(test)]
extern crate self as blockmill_rlp;
#[cfg(test)]
extern crate std;

mod decode;
mod encode;
mod encoder;
mod error;
pub mod ethereum;
mod flat;
mod hash_each;
mod list;
mod measure;
mod one_pass;
mod prefix;
mod raw_list;
mod std_types;
mod two_pass;
mod typed;
mod window;
mod write;

pub use blockmill_hashes::ManyKeccak;
#[cfg(feature = "derive")]
pub use blockmill_rlp_derive::{Decode, Encode};
pub use decode::{Item, Reader, validate};
pub use encode::Encode;
pub use encoder::Encoder;
pub use error::{Error, ErrorKind};
pub use hash_each::hash_each;
pub use list::{Encoded, List, Values};
pub use measure::u256_len;
pub use one_pass::OnePass;
pub use prefix::{bytes_len, list_len, u64_len};
pub use raw_list::RawList;
pub use ruint::aliases::U256;
pub use typed::Decode;
pub use write::Write;
