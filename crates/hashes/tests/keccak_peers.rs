//! Every width against the crate `sha3`, which shares no code with this one.

use blockmill_hashes::{Keccak256, ManyKeccak, keccak256, keccak512};
use sha3::Digest;

/// Bytes without a period that a block could hide.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 131 + i / 251) as u8).collect()
}

#[test]
fn one_message_of_every_length() {
    let bytes = bytes(600);
    for length in 0..=bytes.len() {
        let message = &bytes[..length];
        let expected: [u8; 32] = sha3::Keccak256::digest(message).into();
        assert_eq!(keccak256(message), expected, "{length} bytes");
        let expected: [u8; 64] = sha3::Keccak512::digest(message).into();
        assert_eq!(keccak512(message), expected, "{length} bytes, Keccak-512");
    }
}

#[test]
fn many_messages_of_every_length() {
    let bytes = bytes(600);
    let messages: Vec<&[u8]> = (0..=600).map(|length| &bytes[600 - length..]).collect();
    let expected: Vec<[u8; 32]> =
        messages.iter().map(|message| sha3::Keccak256::digest(message).into()).collect();
    for many in ManyKeccak::all_available() {
        let mut out = vec![[0; 32]; messages.len()];
        many.keccak256(&messages, &mut out);
        assert_eq!(out, expected, "{}", many.name());
    }
}

#[test]
fn parts_of_every_length_around_a_block() {
    let bytes = bytes(600);
    let expected: [u8; 32] = sha3::Keccak256::digest(&bytes).into();
    for first in 0..=300 {
        for second in [0, 1, 135, 136, 137, 272] {
            let mut hash = Keccak256::new();
            hash.update(&bytes[..first]);
            hash.update(&bytes[first..first + second]);
            hash.update(&bytes[first + second..]);
            assert_eq!(hash.finalize(), expected, "{first} bytes, then {second}");
        }
    }
}
