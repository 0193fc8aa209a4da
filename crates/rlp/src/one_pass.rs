//! The one-pass writer: a growing buffer, in which the items of a list are moved when the length of
//! its prefix is known.
//!
//! Most libraries work like this. It is the baseline of the two-pass writer, whose output must be
//! the same. It needs a value only once, so it can also build RLP by hand:
//!
//! ```
//! use blockmill_rlp::{OnePass, Write};
//!
//! let mut out = OnePass::default();
//! out.list(|out| {
//!     out.u64(1024);
//!     out.bytes(b"dog");
//! });
//! assert_eq!(out.into_bytes(), [0xc7, 0x82, 0x04, 0x00, 0x83, b'd', b'o', b'g']);
//! ```

use crate::Write;
use crate::prefix::{LIST, SHORT, STRING, digits};
use alloc::vec::Vec;
use ruint::aliases::U256;

/// Writes in one pass into a buffer of its own.
///
/// ```
/// use blockmill_rlp::{Encode, OnePass};
///
/// let mut out = OnePass::default();
/// [1u64, 2].write(&mut out);
/// assert_eq!(out.into_bytes(), [1u64, 2].encode());
/// ```
#[derive(Clone, Debug, Default)]
pub struct OnePass {
    out: Vec<u8>,
}

impl OnePass {
    /// Returns the encoding.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Puts the prefix before everything from `start` on.
    fn close(&mut self, base: u8, start: usize) {
        let payload = self.out.len() - start;
        let mut prefix = [0; 9];
        let len = if payload <= SHORT {
            prefix[0] = base + payload as u8;
            1
        } else {
            let count = digits(payload as u64);
            prefix[0] = base + (SHORT + count) as u8;
            prefix[1..].copy_from_slice(&((payload as u64) << (64 - 8 * count)).to_be_bytes());
            1 + count
        };
        self.out.extend_from_slice(&prefix[..len]);
        self.out.copy_within(start..start + payload, start + len);
        self.out[start..start + len].copy_from_slice(&prefix[..len]);
    }
}

impl Write for OnePass {
    fn raw(&mut self, encoded: &[u8]) {
        self.out.extend_from_slice(encoded);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let start = self.out.len();
        self.out.extend_from_slice(bytes);
        if !matches!(bytes, [single] if *single < STRING) {
            self.close(STRING, start);
        }
    }

    fn fixed<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.bytes(bytes);
    }

    fn u64(&mut self, number: u64) {
        let zeros = number.leading_zeros() as usize / 8;
        self.bytes(&number.to_be_bytes()[zeros..]);
    }

    fn u256(&mut self, number: &U256) {
        self.bytes(&number.to_be_bytes::<32>()[32 - number.byte_len()..]);
    }

    fn list(&mut self, items: impl Fn(&mut Self)) {
        let start = self.out.len();
        items(self);
        self.close(LIST, start);
    }

    fn list_of(&mut self, _: usize, items: impl Fn(&mut Self)) {
        self.list(items);
    }

    fn envelope(&mut self, kind: u8, content: impl Fn(&mut Self)) {
        let start = self.out.len();
        self.out.push(kind);
        content(self);
        if self.out.len() > start + 1 || kind >= STRING {
            self.close(STRING, start);
        }
    }
}
