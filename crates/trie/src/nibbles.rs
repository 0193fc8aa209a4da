//! Keys as rows of half-bytes, and the hex-prefix form of their pieces (Yellow Paper, appendix C).

use std::ops::Range;

/// The longest key of an Ethereum trie, in bytes. Every path then has a one-byte RLP prefix.
pub const MAX_KEY: usize = 32;

/// The half-byte at position `at` of `key`; even positions are the high halves.
#[inline]
pub fn nibble(key: &[u8], at: usize) -> u8 {
    let byte = key[at / 2];
    if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 }
}

/// How many half-bytes `a` and `b` share from the start.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let equal = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    match (a.get(equal), b.get(equal)) {
        (Some(x), Some(y)) if x >> 4 == y >> 4 => 2 * equal + 1,
        _ => 2 * equal,
    }
}

/// Bytes that [`put_path`] appends for a path of `nibbles` half-bytes.
#[inline]
pub fn path_len(nibbles: usize) -> usize {
    // the first byte is a flag below 0x40, so alone it is its own RLP encoding
    match 1 + nibbles / 2 {
        1 => 1,
        len => 1 + len,
    }
}

/// Appends the half-bytes `path` of `key` in hex-prefix form as an RLP byte string. `leaf` marks a
/// path that ends at a value.
pub fn put_path(out: &mut Vec<u8>, key: &[u8], path: Range<usize>, leaf: bool) {
    let odd = path.len() % 2;
    let len = 1 + path.len() / 2;
    if len > 1 {
        debug_assert!(len <= 1 + MAX_KEY);
        out.push(0x80 + len as u8);
    }
    let flag = if leaf { 0x20 } else { 0 };
    out.push(if odd == 1 { flag | 0x10 | nibble(key, path.start) } else { flag });
    let pairs = (path.start + odd..path.end).step_by(2);
    out.extend(pairs.map(|at| nibble(key, at) << 4 | nibble(key, at + 1)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(key: &[u8], path: Range<usize>, leaf: bool) -> Vec<u8> {
        let mut out = vec![];
        put_path(&mut out, key, path.clone(), leaf);
        assert_eq!(out.len(), path_len(path.len()));
        out
    }

    #[test]
    fn hex_prefix_marks_leaves_and_odd_lengths() {
        let key = [0x12, 0x34, 0x56];
        assert_eq!(path(&key, 0..0, false), [0x00]);
        assert_eq!(path(&key, 6..6, true), [0x20]);
        assert_eq!(path(&key, 1..2, false), [0x12]);
        assert_eq!(path(&key, 5..6, true), [0x36]);
        assert_eq!(path(&key, 0..6, true), [0x84, 0x20, 0x12, 0x34, 0x56]);
        assert_eq!(path(&key, 1..6, true), [0x83, 0x32, 0x34, 0x56]);
        assert_eq!(path(&key, 1..5, false), [0x83, 0x00, 0x23, 0x45]);
    }

    #[test]
    fn common_prefix_counts_half_bytes() {
        assert_eq!(common_prefix(&[0x12, 0x34], &[0x12, 0x35]), 3);
        assert_eq!(common_prefix(&[0x12, 0x34], &[0x12, 0x44]), 2);
        assert_eq!(common_prefix(&[0x12], &[0x12, 0x44]), 2);
        assert_eq!(common_prefix(&[0x12], &[]), 0);
    }
}
