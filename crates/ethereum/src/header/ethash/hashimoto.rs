//! The check of many seals at once.
//!
//! One seal reads 64 pages of the dataset one after the other, but seals do not depend on each
//! other. So up to [`TOGETHER`] of them advance page by page in lockstep; their items are hashed in
//! vector lanes and mixed together (see `blockmill_hashes::EthashMix`).

use blockmill_hashes::{EthashMix, FNV_PRIME, ManyKeccak, keccak512};
use blockmill_verdict::Hex;
use ruint::aliases::U256;

use super::Cache;
use super::epoch::epoch_of;

/// Pages of the dataset that a seal reads (`ACCESSES` of the specification).
const ACCESSES: u32 = 64;
/// Seals that advance together. Two items each: enough to hide the latency of the memory, and all
/// of their state fits the first-level data cache.
const TOGETHER: usize = 32;

/// What a header claims about its proof of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// Keccak-256 of the header without mix hash and nonce.
    pub seal_hash: [u8; 32],
    /// The nonce, read as a big-endian number from the header.
    pub nonce: u64,
    /// The mix hash of the header.
    pub mix_hash: [u8; 32],
    /// The difficulty of the header.
    pub difficulty: U256,
    /// The number of the block.
    pub number: u64,
}

/// Why a seal is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The difficulty is zero, so there is no boundary.
    #[error("difficulty: expected above zero, found 0")]
    ZeroDifficulty,
    /// The block is of another epoch than the cache.
    #[error("epoch of the seal: expected {expected}, found {found}")]
    Epoch {
        /// Epoch of the cache.
        expected: u64,
        /// Epoch of the block.
        found: u64,
    },
    /// The mix hash of the header is not the computed one.
    #[error("mix hash: expected {}, found {}", Hex(expected), Hex(found))]
    MixHash {
        /// The computed mix hash.
        expected: [u8; 32],
        /// The mix hash of the header.
        found: [u8; 32],
    },
    /// The result is above 2^256 / difficulty: too little work.
    #[error("proof of work: expected at most {limit:#066x}, found {found:#066x}")]
    Boundary {
        /// The largest result allowed.
        limit: U256,
        /// The computed result.
        found: U256,
    },
}

/// Checks `seals`, all of the epoch of `cache`. `out` is cleared and gets one verdict for each
/// seal, in order. Many seals in one call are much faster than many calls; 32 or more use all there
/// is.
pub fn check_seals(cache: &Cache, seals: &[Seal], out: &mut Vec<Result<(), SealError>>) {
    out.clear();
    out.reserve(seals.len());
    let kernels = Kernels { keccak: ManyKeccak::detect(), mix: EthashMix::detect() };
    // groups of nearly one size: a small last one would wait for the memory
    let groups = seals.len().div_ceil(TOGETHER).max(1);
    for group in seals.chunks(seals.len().div_ceil(groups).max(1)) {
        check_group(cache, kernels, group, out);
    }
}

#[derive(Clone, Copy)]
struct Kernels {
    keccak: ManyKeccak,
    mix: EthashMix,
}

/// A seal on its way through the pages.
#[derive(Clone, Copy)]
struct Walk {
    /// Keccak-512 of seal hash and nonce.
    seed: [u8; 64],
    seed_head: u32,
    mix: [u32; 32],
}

impl Walk {
    fn new(seal: &Seal) -> Self {
        let mut start = [0; 40];
        start[..32].copy_from_slice(&seal.seal_hash);
        start[32..].copy_from_slice(&seal.nonce.to_le_bytes());
        let seed = keccak512(&start);
        let words = words(&seed);
        Walk { seed, seed_head: words[0], mix: std::array::from_fn(|i| words[i % 16]) }
    }

    /// The page that access `i` reads.
    fn page(&self, i: u32, pages: u32) -> u32 {
        fnv(i ^ self.seed_head, self.mix[i as usize % 32]) % pages
    }

    fn mix_hash(&self) -> [u8; 32] {
        let mut out = [0; 32];
        for (out, m) in out.as_chunks_mut().0.iter_mut().zip(self.mix.as_chunks::<4>().0) {
            *out = fnv(fnv(fnv(m[0], m[1]), m[2]), m[3]).to_le_bytes();
        }
        out
    }
}

fn fnv(a: u32, b: u32) -> u32 {
    a.wrapping_mul(FNV_PRIME) ^ b
}

fn words(bytes: &[u8; 64]) -> [u32; 16] {
    std::array::from_fn(|i| u32::from_le_bytes(bytes.as_chunks::<4>().0[i]))
}

fn check_group(
    cache: &Cache,
    kernels: Kernels,
    seals: &[Seal],
    out: &mut Vec<Result<(), SealError>>,
) {
    let mut walks = [const { Walk { seed: [0; 64], seed_head: 0, mix: [0; 32] } }; TOGETHER];
    let walks = &mut walks[..seals.len()];
    for (walk, seal) in walks.iter_mut().zip(seals) {
        *walk = Walk::new(seal);
    }
    let mut numbers = [0; 2 * TOGETHER];
    let mut items = [[0; 64]; 2 * TOGETHER];
    let (numbers, items) = (&mut numbers[..2 * seals.len()], &mut items[..2 * seals.len()]);
    for access in 0..ACCESSES {
        for (walk, pair) in walks.iter().zip(numbers.as_chunks_mut().0) {
            let page = walk.page(access, cache.dataset_pages);
            *pair = [page * 2, page * 2 + 1];
        }
        dataset_items(cache, kernels, numbers, items);
        for (walk, pair) in walks.iter_mut().zip(items.as_chunks::<2>().0) {
            for (word, new) in walk.mix.iter_mut().zip(pair.as_flattened().as_chunks::<4>().0) {
                *word = fnv(*word, u32::from_le_bytes(*new));
            }
        }
    }
    judge(cache, kernels, walks, seals, out);
}

/// Computes the dataset items of the given numbers.
fn dataset_items(cache: &Cache, kernels: Kernels, numbers: &[u32], items: &mut [[u8; 64]]) {
    for (item, number) in items.iter_mut().zip(numbers) {
        *item = cache.rows[*number as usize % cache.rows.len()];
        for (byte, other) in item.iter_mut().zip(number.to_le_bytes()) {
            *byte ^= other;
        }
    }
    kernels.keccak.keccak512_64(items);
    kernels.mix.mix_parents(&cache.rows, numbers, items);
    kernels.keccak.keccak512_64(items);
}

/// Compares the ends of the walks with what the headers claim.
fn judge(
    cache: &Cache,
    kernels: Kernels,
    walks: &[Walk],
    seals: &[Seal],
    out: &mut Vec<Result<(), SealError>>,
) {
    let mut messages = [[0; 96]; TOGETHER];
    let mut results = [[0; 32]; TOGETHER];
    for (message, walk) in messages.iter_mut().zip(walks) {
        message[..64].copy_from_slice(&walk.seed);
        message[64..].copy_from_slice(&walk.mix_hash());
    }
    let parts = messages.each_ref().map(|message| &message[..]);
    kernels.keccak.keccak256(&parts[..seals.len()], &mut results[..seals.len()]);
    for ((seal, walk), result) in seals.iter().zip(walks).zip(&results) {
        out.push(verdict(cache, seal, walk.mix_hash(), U256::from_be_bytes(*result)));
    }
}

fn verdict(cache: &Cache, seal: &Seal, mix_hash: [u8; 32], found: U256) -> Result<(), SealError> {
    if epoch_of(seal.number) != cache.epoch {
        return Err(SealError::Epoch { expected: cache.epoch, found: epoch_of(seal.number) });
    }
    let Some(limit) = boundary(seal.difficulty) else { return Err(SealError::ZeroDifficulty) };
    if mix_hash != seal.mix_hash {
        return Err(SealError::MixHash { expected: mix_hash, found: seal.mix_hash });
    }
    if found > limit {
        return Err(SealError::Boundary { limit, found });
    }
    Ok(())
}

/// The largest result allowed: 2^256 / difficulty, of difficulty 1 the largest number there is.
fn boundary(difficulty: U256) -> Option<U256> {
    // 2^256 - difficulty is one multiple less and fits 256 bits
    let quotient = difficulty.wrapping_neg().checked_div(difficulty)?;
    Some(quotient.saturating_add(U256::ONE))
}

#[cfg(test)]
mod tests {
    use super::super::naive::{self, Hashimoto};
    use super::*;

    fn hashimoto(cache: &Cache, seal_hash: &[u8; 32], nonce: u64) -> Hashimoto {
        naive::hashimoto_light(&cache.rows, cache.dataset_pages, seal_hash, nonce)
    }

    fn seal(cache: &Cache, i: u64) -> Seal {
        let seal_hash = blockmill_hashes::keccak256(&i.to_le_bytes());
        let nonce = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mix_hash = hashimoto(cache, &seal_hash, nonce).mix_hash;
        Seal { seal_hash, nonce, mix_hash, difficulty: U256::ONE, number: 60_000 + i }
    }

    fn verdicts(cache: &Cache, seals: &[Seal]) -> Vec<Result<(), SealError>> {
        let mut out = vec![];
        check_seals(cache, seals, &mut out);
        out
    }

    #[test]
    fn batches_of_every_size_agree_with_the_plain_form() {
        let cache = Cache::small(2, 1021, 8191);
        // the plain form is slow, so a few seals take turns at all indexes
        let few: [Seal; 3] = std::array::from_fn(|i| seal(&cache, i as u64));
        let seals: Vec<Seal> = few.into_iter().cycle().take(65).collect();
        for count in [0, 1, 2, 3, 33, 65] {
            assert_eq!(verdicts(&cache, &seals[..count]), vec![Ok(()); count], "{count} seals");
        }
    }

    #[test]
    fn rejects_a_wrong_claim_and_names_it() {
        let cache = Cache::small(2, 1021, 8191);
        let good = seal(&cache, 1);
        let real = hashimoto(&cache, &good.seal_hash, good.nonce);
        let result = U256::from_be_bytes(real.result);
        // the largest difficulty that the result is enough for, and the next
        let enough = boundary(result).unwrap();
        let too_high = enough + U256::ONE;
        let mut other_mix = good;
        other_mix.mix_hash[31] ^= 1;
        let seals = [
            Seal { difficulty: U256::ZERO, ..good },
            Seal { number: 90_000, ..good },
            other_mix,
            Seal { difficulty: enough, ..good },
            Seal { difficulty: too_high, ..good },
        ];
        let expected = [
            Err(SealError::ZeroDifficulty),
            Err(SealError::Epoch { expected: 2, found: 3 }),
            Err(SealError::MixHash { expected: real.mix_hash, found: other_mix.mix_hash }),
            Ok(()),
            Err(SealError::Boundary { limit: boundary(too_high).unwrap(), found: result }),
        ];
        assert_eq!(verdicts(&cache, &seals), expected);
    }

    #[test]
    fn a_changed_nonce_or_header_changes_the_mix() {
        let cache = Cache::small(2, 1021, 8191);
        let good = seal(&cache, 1);
        let mut other_header = good;
        other_header.seal_hash[0] ^= 1;
        for bad in [Seal { nonce: good.nonce ^ 1, ..good }, other_header] {
            assert!(matches!(verdicts(&cache, &[bad])[..], [Err(SealError::MixHash { .. })]));
        }
    }

    #[test]
    fn the_boundary_is_two_to_the_256_by_the_difficulty() {
        let half = U256::ONE << 255;
        assert_eq!(boundary(U256::ZERO), None);
        assert_eq!(boundary(U256::ONE), Some(U256::MAX));
        assert_eq!(boundary(U256::from(2)), Some(half));
        assert_eq!(boundary(U256::from(3)), Some(U256::MAX / U256::from(3)));
        assert_eq!(boundary(half), Some(U256::from(2)));
        assert_eq!(boundary(U256::MAX), Some(U256::ONE));
    }
}
