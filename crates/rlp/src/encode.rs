//! Writing: the lengths first, then one buffer of exactly the right size.

/// A value that is written as one RLP list, lengths first.
pub trait Encode {
    /// Bytes of the list's payload.
    fn payload_len(&self) -> usize;

    /// Appends the list's items, exactly [`Encode::payload_len`] bytes.
    fn encode_payload(&self, out: &mut Vec<u8>);

    /// Bytes of prefix and payload.
    fn encoded_len(&self) -> usize {
        list_len(self.payload_len())
    }

    /// Appends prefix and payload.
    fn encode(&self, out: &mut Vec<u8>) {
        let payload = self.payload_len();
        out.reserve(list_len(payload));
        put_list_prefix(out, payload);
        self.encode_payload(out);
    }

    /// Prefix and payload in a buffer of their own.
    fn to_rlp(&self) -> Vec<u8> {
        let mut out = vec![];
        self.encode(&mut out);
        out
    }
}

/// Bytes that the length of a long item takes, most significant first and without zeros.
fn digits(len: usize) -> usize {
    8 - (len as u64).leading_zeros() as usize / 8
}

/// Bytes of a list with a payload of `payload` bytes.
#[inline]
pub fn list_len(payload: usize) -> usize {
    if payload <= 55 { 1 + payload } else { 1 + digits(payload) + payload }
}

/// Bytes of an encoded byte string.
#[inline]
pub fn bytes_len(bytes: &[u8]) -> usize {
    match bytes {
        [single] if *single < 0x80 => 1,
        _ => list_len(bytes.len()),
    }
}

/// Bytes of an encoded integer.
#[inline]
pub fn u64_len(value: u64) -> usize {
    if value < 0x80 { 1 } else { 1 + 8 - value.leading_zeros() as usize / 8 }
}

/// Bytes of an encoded big-endian integer, leading zeros of `value` not counted.
#[inline]
pub fn uint_len(value: &[u8]) -> usize {
    bytes_len(trim(value))
}

fn trim(value: &[u8]) -> &[u8] {
    let zeros = value.iter().take_while(|b| **b == 0).count();
    &value[zeros..]
}

fn put_prefix(out: &mut Vec<u8>, base: u8, len: usize) {
    if len <= 55 {
        out.push(base + len as u8);
    } else {
        let size = digits(len);
        out.push(base + 55 + size as u8);
        out.extend_from_slice(&(len as u64).to_be_bytes()[8 - size..]);
    }
}

/// Appends the prefix of a list with a payload of `payload` bytes.
#[inline]
pub fn put_list_prefix(out: &mut Vec<u8>, payload: usize) {
    put_prefix(out, 0xc0, payload);
}

/// Appends a byte string.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    if !matches!(bytes, [single] if *single < 0x80) {
        put_prefix(out, 0x80, bytes.len());
    }
    out.extend_from_slice(bytes);
}

/// Appends an integer in its shortest form.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    put_uint(out, &value.to_be_bytes());
}

/// Appends a big-endian integer in its shortest form.
#[inline]
pub fn put_uint(out: &mut Vec<u8>, value: &[u8]) {
    put_bytes(out, trim(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn lengths_foretell_what_is_written() {
        for len in [0, 1, 2, 54, 55, 56, 57, 255, 256, 257, 65_535, 65_536] {
            for fill in [0, 0x7f, 0x80, 0xff] {
                let bytes = vec![fill; len];
                let mut out = vec![];
                put_bytes(&mut out, &bytes);
                assert_eq!(out.len(), bytes_len(&bytes));
                assert_eq!(Reader::new(&out).bytes(), Ok(&bytes[..]));
            }
        }
    }

    #[test]
    fn integers_round_trip_in_their_shortest_form() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = vec![];
                put_u64(&mut out, value);
                assert_eq!(out.len(), u64_len(value));
                assert_eq!(out.len(), uint_len(&value.to_be_bytes()));
                assert_eq!(Reader::new(&out).u64(), Ok(value));
            }
        }
    }
}
