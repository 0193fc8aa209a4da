//! The values of a dump: hexadecimal digits with `0x` or without, decimal numbers.

use crate::{Hash, U256};

/// The digits after `0x`, if that is there.
fn digits(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"0x").unwrap_or(text)
}

/// Decodes pairs of hexadecimal digits to the beginning of `out`. Returns the number of bytes;
/// `None` for other text, or if it is too long.
pub(super) fn bytes_into(text: &[u8], out: &mut [u8]) -> Option<usize> {
    let digits = digits(text);
    let bytes = out.get_mut(..digits.len() / 2)?;
    const_hex::decode_to_slice(digits, bytes).ok()?;
    Some(bytes.len())
}

/// Decodes exactly `N` bytes.
pub(super) fn array<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    (bytes_into(text, &mut out)? == N).then_some(out)
}

/// Decodes a word, which may lack zeros at its beginning.
pub(super) fn word(text: &[u8]) -> Option<Hash> {
    let mut out = [0; 32];
    let count = bytes_into(text, &mut out)?;
    out.rotate_right(32 - count);
    Some(out)
}

/// Decodes bytes of any length.
pub(super) fn bytes(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; digits(text).len() / 2];
    bytes_into(text, &mut out)?;
    Some(out)
}

/// Parses a number: decimal, or hexadecimal with `0x`.
pub(super) fn number(text: &[u8]) -> Option<U256> {
    let (digits, radix) = match text.strip_prefix(b"0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.is_empty())?;
    U256::from_str_radix(digits, radix).ok()
}
