//! Ethash as the specification writes it: one seal, one word at a time.
//!
//! The oracle of the fast code, for its unit tests, the integration tests and the fuzz targets.

use blockmill_hashes::{FNV_PRIME, keccak256, keccak512};

/// The hash of a seal: the digest of the mix, which the header has to carry, and the result, which
/// has to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashimoto {
    /// Digest of the mix.
    pub mix_hash: [u8; 32],
    /// The number to compare with the boundary, big-endian.
    pub result: [u8; 32],
}

fn fnv(a: u32, b: u32) -> u32 {
    a.wrapping_mul(FNV_PRIME) ^ b
}

fn words<const N: usize>(bytes: &[u8; 64]) -> [u32; N] {
    std::array::from_fn(|i| u32::from_le_bytes(bytes.as_chunks::<4>().0[i % 16]))
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Item `number` of the dataset: `calc_dataset_item` of the specification.
fn dataset_item(rows: &[[u8; 64]], number: u32) -> [u32; 16] {
    let mut mix: [u32; 16] = words(&rows[number as usize % rows.len()]);
    mix[0] ^= number;
    mix = words(&keccak512(&bytes(&mix)));
    for j in 0..256 {
        let parent: [u32; 16] =
            words(&rows[fnv(number ^ j, mix[j as usize % 16]) as usize % rows.len()]);
        mix = std::array::from_fn(|i| fnv(mix[i], parent[i]));
    }
    words(&keccak512(&bytes(&mix)))
}

/// Hashes a seal with items generated from a cache: `hashimoto_light` of the specification. `rows`
/// are those of the cache, the dataset has `pages` of 128 bytes, and `seal_hash` is Keccak-256 of
/// the header without mix hash and nonce.
pub fn hashimoto_light(
    rows: &[[u8; 64]],
    pages: u32,
    seal_hash: &[u8; 32],
    nonce: u64,
) -> Hashimoto {
    let seed = keccak512(&[&seal_hash[..], &nonce.to_le_bytes()].concat());
    let seed_head = words::<16>(&seed)[0];
    let mut mix: [u32; 32] = words(&seed);
    for i in 0..64 {
        let page = fnv(i ^ seed_head, mix[i as usize % 32]) % pages;
        let items = [page * 2, page * 2 + 1].map(|number| dataset_item(rows, number));
        mix = std::array::from_fn(|w| fnv(mix[w], items[w / 16][w % 16]));
    }
    let digest: Vec<u32> = mix.chunks(4).map(|m| fnv(fnv(fnv(m[0], m[1]), m[2]), m[3])).collect();
    let mix_hash: [u8; 32] = std::array::from_fn(|i| bytes(&digest)[i]);
    Hashimoto { mix_hash, result: keccak256(&[&seed[..], &mix_hash].concat()) }
}
