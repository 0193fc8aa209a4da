//! The keys and values of the workload. They follow from numbers, so that no list of them has to be
//! kept.
//!
//! Keys have 32 bytes: 8 that a hundred neighbours share, as the slots of a contract do, and 24 of
//! their own. Values have 32 to 99 bytes, and follow from the round that wrote them last, too.
//!
//! The program of the peers includes this file, so it needs only the standard library.

/// A key.
pub type Key = [u8; 32];

/// Bytes at the start of a key that its group shares.
pub const PREFIX_BYTES: usize = 8;
/// Keys in a group.
const GROUP: u64 = 100;
/// Numbers from here on are of keys that no store has.
pub const ABSENT: u64 = 1 << 40;

/// How the keys that are read and changed are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// Each as likely as any other.
    #[default]
    Uniform,
    /// Four of five from the first fifth of all numbers, and so again within it (Gray et al.,
    /// "Quickly generating billion-record synthetic databases", 1994: self-similar).
    Skewed,
}

/// log(0.2) / log(0.8).
const SKEW: f64 = 7.212_6;

impl Draw {
    /// The draw of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        [("uniform", Self::Uniform), ("skewed", Self::Skewed)]
            .into_iter()
            .find_map(|(own, draw)| (own == name).then_some(draw))
    }

    /// A number below `keys` that follows from `random`.
    pub fn number(self, random: u64, keys: u64) -> u64 {
        match self {
            Self::Uniform => random % keys,
            Self::Skewed => {
                let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
                (share.powf(SKEW) * keys as f64) as u64
            }
        }
    }
}

/// The finaliser of SplitMix64.
fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// The `at`-th random number of `seed`.
pub fn random(seed: u64, at: u64) -> u64 {
    mix(seed
        .wrapping_mul(0xd134_2543_de82_ef95)
        .wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// The key with this number.
pub fn key(n: u64) -> Key {
    let mut key = [0; 32];
    let group = (n % ABSENT) / GROUP;
    for (word, bytes) in (0..).zip(key.chunks_exact_mut(8)) {
        let word = if word == 0 { random(1, group) } else { random(2 + word, n) };
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    key
}

/// The value that `seed` sets under key `n`.
pub fn value(n: u64, seed: u64) -> Vec<u8> {
    let first = random(seed ^ 0x5eed, n);
    let length = 32 + (first % 68) as usize;
    let mut value = Vec::with_capacity(length + 8);
    for at in 0.. {
        if value.len() >= length {
            break;
        }
        value.extend(random(first, at).to_le_bytes());
    }
    value.truncate(length);
    value
}
