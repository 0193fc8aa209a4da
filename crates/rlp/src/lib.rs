//! Recursive Length Prefix, the encoding of every Ethereum object (Yellow Paper, appendix B).
//!
//! * [`Reader`] walks encoded bytes without copying them. It accepts the canonical form only, so
//!   that two different byte strings never decode to the same value, and it never recurses.
//! * [`Encode`] writes a value in two passes: the lengths first, then one buffer of exactly the
//!   right size.
//!
//! ```
//! use blockmill_rlp::{Encode, Reader, put_list_prefix, put_u64, u64_len};
//!
//! struct Point { x: u64, y: u64 }
//!
//! impl Encode for Point {
//!     fn payload_len(&self) -> usize { u64_len(self.x) + u64_len(self.y) }
//!     fn encode_payload(&self, out: &mut Vec<u8>) { put_u64(out, self.x); put_u64(out, self.y); }
//! }
//!
//! let bytes = Point { x: 1, y: 1024 }.to_rlp();
//! assert_eq!(bytes, [0xc4, 0x01, 0x82, 0x04, 0x00]);
//!
//! let mut list = Reader::new(&bytes).list()?;
//! assert_eq!((list.u64()?, list.u64()?), (1, 1024));
//! list.finish()?;
//! # Ok::<(), blockmill_rlp::Error>(())
//! ```

mod decode;
mod encode;
mod error;

pub use decode::{Item, Reader, validate};
pub use encode::{
    Encode, bytes_len, list_len, put_bytes, put_list_prefix, put_u64, put_uint, u64_len, uint_len,
};
pub use error::{Error, ErrorKind};
