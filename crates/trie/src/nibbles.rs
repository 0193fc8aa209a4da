//! Keys as rows of half-bytes.

/// The longest key of an Ethereum trie, in bytes.
pub const MAX_KEY: usize = 32;

/// The half-byte at position `at` of `key`; even positions are the high halves.
#[inline]
pub fn nibble(key: &[u8], at: usize) -> u8 {
    let byte = key[at / 2];
    if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 }
}

/// Number of nibbles in the common prefix of `a` and `b`.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let equal = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    match (a.get(equal), b.get(equal)) {
        (Some(x), Some(y)) if x >> 4 == y >> 4 => 2 * equal + 1,
        _ => 2 * equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefix_counts_half_bytes() {
        assert_eq!(common_prefix(&[0x12, 0x34], &[0x12, 0x35]), 3);
        assert_eq!(common_prefix(&[0x12, 0x34], &[0x12, 0x44]), 2);
        assert_eq!(common_prefix(&[0x12], &[0x12, 0x44]), 2);
        assert_eq!(common_prefix(&[0x12], &[]), 0);
    }
}
