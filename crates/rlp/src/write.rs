//! What a value can say about itself while it is written.

use ruint::aliases::U256;

/// A consumer of the parts of a value, in order, which computes a length, bytes or a hash.
///
/// A value is described once, in [`Encode::write`](crate::Encode::write); each implementation of
/// this trait is one use of the description.
///
/// ```
/// use blockmill_rlp::{Encode, OnePass, Write};
///
/// let mut out = OnePass::default();
/// out.list(|out| {
///     out.u64(1024);
///     out.bytes(b"dog");
///     out.raw(&[0xc0]);
/// });
/// assert_eq!(out.into_bytes(), [0xc8, 0x82, 4, 0, 0x83, b'd', b'o', b'g', 0xc0]);
/// ```
pub trait Write: Sized {
    /// Bytes that are RLP already, or that precede RLP, such as the type of a transaction.
    fn raw(&mut self, encoded: &[u8]);

    /// A byte string.
    fn bytes(&mut self, bytes: &[u8]);

    /// A byte string with a length that is known at compile time: hashes, addresses.
    fn fixed<const N: usize>(&mut self, bytes: &[u8; N]);

    /// A number, in its shortest form.
    fn u64(&mut self, number: u64);

    /// A number of up to 256 bits, in its shortest form.
    fn u256(&mut self, number: &U256);

    /// A list; `items` writes what is in it. It may be called several times and must write the
    /// same each time.
    fn list(&mut self, items: impl Fn(&mut Self));

    /// A list with a known payload of `payload` bytes, which need not be measured.
    fn list_of(&mut self, payload: usize, items: impl Fn(&mut Self));

    /// A byte string that begins with the byte `kind` and continues with the output of `content`: a
    /// typed transaction or receipt inside a list (EIP-2718). `content` is called several times, as
    /// in [`Write::list`].
    fn envelope(&mut self, kind: u8, content: impl Fn(&mut Self));
}
