//! A hash of keys that nobody outside can foresee.
//!
//! Ids can be ground until many fall into one bucket, if the function is known. This one is
//! wyhash's folded product over the key's words, each mixed with a secret word before: about three
//! nanoseconds, and without the secret nothing can be aimed at.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The secret words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Salt(pub [u64; 3]);

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt")
    }
}

/// Both halves of the product, folded.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Salt {
    /// Words that the system's randomness chose.
    pub fn random() -> Salt {
        Salt([0; 3].map(|_: u64| RandomState::new().build_hasher().finish()))
    }

    /// The hash of a key: 32 bytes at a time in two chains, then the rest, then the length.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        let [a, b, c] = self.0;
        let (mut first, mut second) = (a, b);
        let (chunks, rest) = key.as_chunks::<32>();
        for chunk in chunks {
            let (words, _) = chunk.as_chunks::<8>();
            let word = |i: usize| u64::from_le_bytes(words[i]);
            first = fold(word(0) ^ first, word(1) ^ b);
            second = fold(word(2) ^ second, word(3) ^ c);
        }
        let (words, rest) = rest.as_chunks::<8>();
        for word in words {
            first = fold(u64::from_le_bytes(*word) ^ first, a ^ c);
        }
        if !rest.is_empty() {
            // a word like the others: in the last product alone it would leave bits of the hash
            // uneven for one salt in thirty
            first = fold(end(rest) ^ first, a ^ c);
        }
        let len = key.len() as u64;
        fold(first ^ c, second ^ a ^ len << 32)
    }
}

/// Fewer than eight bytes as a number. Unique together with the total length.
#[inline(always)]
fn end(rest: &[u8]) -> u64 {
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => rest.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_keys_and_other_salts_give_hashes_that_look_unrelated() {
        let salt = Salt::random();
        let mut seen = std::collections::HashSet::new();
        let mut ones = [0u32; 64];
        for n in 0..20_000u32 {
            let mut key = [7; 36];
            key[32..].copy_from_slice(&n.to_le_bytes());
            let hash = salt.hash(&key);
            assert!(seen.insert(hash));
            ones.iter_mut().enumerate().for_each(|(bit, count)| *count += (hash >> bit & 1) as u32);
        }
        assert!(ones.iter().all(|count| (9_000..11_000).contains(count)), "{ones:?}");
        assert_ne!(salt.hash(&[1; 36]), Salt::random().hash(&[1; 36]));
        // every length, and every place of a byte
        let mut hashes = std::collections::HashSet::new();
        for len in 1..=255 {
            assert!(hashes.insert(salt.hash(&vec![0; len])));
            for at in 0..len {
                let mut key = vec![0; len];
                key[at] = 1;
                assert!(hashes.insert(salt.hash(&key)));
            }
        }
    }
}
