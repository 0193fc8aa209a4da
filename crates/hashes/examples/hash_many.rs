//! Hashes many messages at once, and compares the time with hashing one after the other.

use blockmill_hashes::{ManyKeccak, keccak256};
use std::time::Instant;

fn main() {
    let messages: Vec<Vec<u8>> = (0..100_000u32).map(|i| i.to_le_bytes().repeat(135)).collect();
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let mut digests = vec![[0; 32]; messages.len()];

    let start = Instant::now();
    ManyKeccak::detect().keccak256(&messages, &mut digests);
    let at_once = start.elapsed();

    let start = Instant::now();
    let same = messages.iter().zip(&digests).all(|(message, digest)| keccak256(message) == *digest);
    let one_by_one = start.elapsed();

    assert!(same);
    println!(
        "{} messages of 540 bytes: {at_once:?} at once, {one_by_one:?} one by one",
        messages.len()
    );
}
