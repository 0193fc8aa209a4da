//! Objects of state and receipts: random ones, and real ones of the fixtures.

mod nodes;
mod random;
mod real_nodes;
mod receipts;
mod records;

use blockmill_rlp::{Decode, Encode, Encoder, Error, ErrorKind};

/// The encoding of `value`, the same by every writer.
fn encoding(value: &impl Encode) -> Vec<u8> {
    let bytes = value.encode();
    assert_eq!(value.encoded_len(), bytes.len());
    assert_eq!(value.encode_in_one_pass(), bytes);
    assert_eq!(value.hash(), blockmill_hashes::keccak256(&bytes));
    let mut encoder = Encoder::default();
    assert_eq!(encoder.encode(value), bytes);
    assert_eq!(encoder.hash(value), blockmill_hashes::keccak256(&bytes));
    bytes
}

/// Bytes that end too early or too late are not an encoding.
fn ends_exactly<'a, T: Decode<'a>>(bytes: &'a [u8], longer: &'a mut Vec<u8>) {
    for len in 0..bytes.len() {
        assert!(T::decode(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
    }
    longer.clear();
    longer.extend_from_slice(bytes);
    longer.push(0x80);
    let expected = Error { offset: bytes.len(), kind: ErrorKind::TrailingBytes { count: 1 } };
    assert_eq!(T::decode(longer).err(), Some(expected));
}

/// The offset at which decoding fails, and the reason.
fn error<'a, T: Decode<'a>>(bytes: &'a [u8]) -> (usize, ErrorKind) {
    let error = T::decode(bytes).err().expect("an error");
    (error.offset, error.kind)
}
