//! The arithmetic of prefixes: how long they are and which bytes they have.

/// Longest payload with a length that is part of the prefix byte itself.
pub(crate) const SHORT: usize = 55;
/// Prefix byte of the empty byte string.
pub(crate) const STRING: u8 = 0x80;
/// Prefix byte of the empty list.
pub(crate) const LIST: u8 = 0xc0;

/// Bytes that a number takes without leading zeros; one for 0.
#[inline(always)]
pub(crate) const fn digits(number: u64) -> usize {
    // without the lowest bit, which changes nothing, 0 would be a case of its own
    8 - (number | 1).leading_zeros() as usize / 8
}

/// Bytes of the prefix of a list, or of a byte string of more than one byte, with this payload.
#[inline(always)]
pub(crate) const fn prefix_len(payload: usize) -> usize {
    if payload <= SHORT { 1 } else { 1 + digits(payload as u64) }
}

/// Length of a list with a payload of `payload` bytes, prefix included.
///
/// ```
/// assert_eq!(blockmill_rlp::list_len(55), 1 + 55);
/// assert_eq!(blockmill_rlp::list_len(56), 2 + 56);
/// ```
#[must_use]
#[inline(always)]
pub const fn list_len(payload: usize) -> usize {
    prefix_len(payload) + payload
}

/// Bytes of an encoded byte string.
///
/// ```
/// // a byte below 128 is its own encoding
/// assert_eq!([&[5][..], &[200], b"dog"].map(blockmill_rlp::bytes_len), [1, 2, 4]);
/// ```
#[must_use]
#[inline(always)]
pub const fn bytes_len(bytes: &[u8]) -> usize {
    if bytes.len() == 1 && bytes[0] < STRING { 1 } else { list_len(bytes.len()) }
}

/// Bytes of an encoded number with its highest bit at each place. A number below 0x80 has no
/// prefix; 0 is encoded as 0x80, one byte too.
const U64_LEN: [u8; 64] = {
    let mut lengths = [0; 64];
    let mut bit = 0;
    while bit < 64 {
        lengths[bit] = if bit < 7 { 1 } else { 2 + bit as u8 / 8 };
        bit += 1;
    }
    lengths
};

/// Length of an encoded number. A look-up table: arithmetic takes three times as many instructions,
/// and this is done twice for each number.
///
/// ```
/// assert_eq!([0, 127, 128, 1024].map(blockmill_rlp::u64_len), [1, 1, 2, 3]);
/// ```
#[must_use]
#[inline(always)]
pub const fn u64_len(number: u64) -> usize {
    U64_LEN[(number | 1).ilog2() as usize] as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_at_the_limits_of_each_form() {
        let numbers = [(0, 1), (1, 1), (0x7f, 1), (0x80, 2), (0xff, 2), (0x100, 3), (u64::MAX, 9)];
        for (number, length) in numbers {
            assert_eq!(u64_len(number), length, "{number}");
        }
        let lists = [(0, 1), (55, 56), (56, 58), (255, 257), (256, 259), (65_536, 65_540)];
        for (payload, length) in lists {
            assert_eq!(list_len(payload), length, "{payload}");
        }
        assert_eq!((bytes_len(&[]), bytes_len(&[0x7f]), bytes_len(&[0x80])), (1, 1, 2));
    }
}
