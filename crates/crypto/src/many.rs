//! Keccak of many messages at once, one in each lane of the vector registers.
//!
//! A lane takes the next message as soon as its own ends, so messages of mixed lengths keep all
//! lanes busy until the batch runs out.

#[cfg(target_arch = "x86_64")]
use crate::arch::x86_64::{avx2::Avx2, avx512::Avx512};
use crate::keccak::{RATE_256, keccak256, keccak512};

/// A way to hash many messages at once. A value is the proof that the CPU can do it.
#[derive(Clone, Copy, Debug)]
pub struct ManyKeccak(Width);

#[derive(Clone, Copy, Debug)]
enum Width {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl ManyKeccak {
    /// The widest that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = Avx512::new() {
            return ManyKeccak(Width::Avx512(proof));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = Avx2::new() {
            return ManyKeccak(Width::Avx2(proof));
        }
        ManyKeccak(Width::Scalar)
    }

    /// One message after the other: the baseline for the others.
    #[must_use]
    pub fn scalar() -> Self {
        ManyKeccak(Width::Scalar)
    }

    /// All that this CPU has, the narrowest first.
    #[must_use]
    pub fn all_available() -> Vec<Self> {
        let mut all = vec![Self::scalar()];
        #[cfg(target_arch = "x86_64")]
        all.extend(Avx2::new().map(|proof| ManyKeccak(Width::Avx2(proof))));
        #[cfg(target_arch = "x86_64")]
        all.extend(Avx512::new().map(|proof| ManyKeccak(Width::Avx512(proof))));
        all
    }

    /// `scalar`, `avx2` or `avx512`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.0 {
            Width::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Width::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Width::Avx512(_) => "avx512",
        }
    }

    /// How many messages go through one permutation: 1, 4 or 8.
    #[must_use]
    pub fn lanes(&self) -> usize {
        match self.0 {
            Width::Scalar => 1,
            #[cfg(target_arch = "x86_64")]
            Width::Avx2(_) => 4,
            #[cfg(target_arch = "x86_64")]
            Width::Avx512(_) => 8,
        }
    }

    /// Writes the Keccak-256 of message `i` to `out[i]`.
    ///
    /// # Panics
    /// When `out` has not as many places as there are messages.
    pub fn keccak256(&self, messages: &[&[u8]], out: &mut [[u8; 32]]) {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        self.hash_each(|i| messages[i], out);
    }

    /// Writes to `out[i]` the Keccak-256 of `bytes[ends[i - 1]..ends[i]]`, where message 0 begins
    /// at 0: messages that lie back to back in one buffer.
    ///
    /// # Panics
    /// When `out` has not as many places as there are ends, when the ends do not ascend, or when
    /// one lies outside `bytes`.
    pub fn keccak256_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
        assert_eq!(ends.len(), out.len(), "one place for each digest");
        let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] as usize };
        self.hash_each(|i| &bytes[start(i)..ends[i] as usize], out);
    }

    fn hash_each<'a>(&self, message: impl Fn(usize) -> &'a [u8], out: &mut [[u8; 32]]) {
        match self.0 {
            // one message would leave all lanes but one idle
            _ if out.len() == 1 => out[0] = keccak256(message(0)),
            Width::Scalar => {
                out.iter_mut().enumerate().for_each(|(i, digest)| *digest = keccak256(message(i)));
            }
            #[cfg(target_arch = "x86_64")]
            Width::Avx2(wide) => hash_in_lanes(wide, message, out),
            #[cfg(target_arch = "x86_64")]
            Width::Avx512(wide) => hash_in_lanes(wide, message, out),
        }
    }

    /// Replaces each block of 64 bytes by its Keccak-512.
    pub fn keccak512_64(&self, blocks: &mut [[u8; 64]]) {
        match self.0 {
            Width::Scalar => blocks.iter_mut().for_each(|block| *block = keccak512(block)),
            #[cfg(target_arch = "x86_64")]
            Width::Avx2(wide) => keccak512_in_lanes(wide, blocks),
            #[cfg(target_arch = "x86_64")]
            Width::Avx512(wide) => keccak512_in_lanes(wide, blocks),
        }
    }
}

/// The states of `N` lanes, word by word: `[w][lane]`.
#[repr(align(64))]
pub(crate) struct States<const N: usize>(pub(crate) [[u64; N]; 25]);

/// A permutation of `N` states at once.
pub(crate) trait Wide<const N: usize>: Copy {
    /// Absorbs one Keccak-256 block in each lane and permutes. A block of less than 136 bytes is
    /// the last of its message and is padded. Lanes whose bit in `fresh` is set start from zero.
    fn absorb(self, states: &mut States<N>, blocks: &[&[u8]; N], fresh: u8);

    /// Replaces each block by its Keccak-512.
    fn keccak512_64(self, blocks: &mut [[u8; 64]; N]);
}

fn hash_in_lanes<'a, W: Wide<N>, const N: usize>(
    wide: W,
    message: impl Fn(usize) -> &'a [u8],
    out: &mut [[u8; 32]],
) {
    let mut states = States([[0; N]; 25]);
    // what is left of each lane's message, and its place in `out` (none: the lane is idle)
    let mut rest: [&[u8]; N] = [&[]; N];
    let mut place = [None; N];
    let mut waiting = 0..out.len();
    for lane in 0..N {
        place[lane] = waiting.next();
        rest[lane] = place[lane].map_or(&[], &message);
    }
    let mut fresh = u8::MAX;
    while place.iter().any(Option::is_some) {
        let blocks = rest.map(|rest| &rest[..rest.len().min(RATE_256)]);
        wide.absorb(&mut states, &blocks, fresh);
        fresh = 0;
        for lane in 0..N {
            if let Some(left) = rest[lane].get(RATE_256..) {
                rest[lane] = left;
                continue;
            }
            if let Some(done) = place[lane] {
                for (bytes, words) in out[done].as_chunks_mut::<8>().0.iter_mut().zip(&states.0) {
                    *bytes = words[lane].to_le_bytes();
                }
                fresh |= 1 << lane;
                place[lane] = waiting.next();
                rest[lane] = place[lane].map_or(&[], &message);
            }
        }
    }
}

fn keccak512_in_lanes<W: Wide<N>, const N: usize>(wide: W, blocks: &mut [[u8; 64]]) {
    let (full, rest) = blocks.as_chunks_mut::<N>();
    full.iter_mut().for_each(|blocks| wide.keccak512_64(blocks));
    if let [block] = rest {
        *block = keccak512(block);
    } else if !rest.is_empty() {
        let mut padded = [[0; 64]; N];
        padded[..rest.len()].copy_from_slice(rest);
        wide.keccak512_64(&mut padded);
        rest.copy_from_slice(&padded[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeatable bytes (xorshift64*).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
        }

        fn bytes(&mut self, length: usize) -> Vec<u8> {
            (0..length).map(|_| (self.next() >> 56) as u8).collect()
        }
    }

    #[test]
    fn every_width_hashes_every_length_like_the_scalar_code() {
        let bytes = Random(1).bytes(2000);
        // all residues of the block length, then some of each longer count of blocks
        let lengths = (0..=410).chain((411..=2000).step_by(17)).chain([2000]);
        let messages: Vec<&[u8]> = lengths.map(|length| &bytes[2000 - length..]).collect();
        let expected: Vec<_> = messages.iter().map(|message| keccak256(message)).collect();
        for many in ManyKeccak::all_available() {
            let mut out = vec![[0; 32]; messages.len()];
            many.keccak256(&messages, &mut out);
            assert_eq!(out, expected, "{}", many.name());
        }
    }

    #[test]
    fn every_width_hashes_random_batches_like_the_scalar_code() {
        let mut random = Random(2);
        for count in (0..20).chain([31, 40, 57]) {
            let lengths: Vec<_> = (0..count).map(|_| (random.next() % 700) as usize).collect();
            let bytes = random.bytes(lengths.iter().sum());
            let mut ends = vec![];
            let mut messages = vec![];
            for length in lengths {
                let start = ends.last().map_or(0, |end: &u32| *end as usize);
                ends.push((start + length) as u32);
                messages.push(&bytes[start..start + length]);
            }
            let expected: Vec<_> = messages.iter().map(|message| keccak256(message)).collect();
            for many in ManyKeccak::all_available() {
                let mut out = vec![[0; 32]; count];
                many.keccak256(&messages, &mut out);
                assert_eq!(out, expected, "{} messages, {}", count, many.name());
                out.fill([0; 32]);
                many.keccak256_column(&bytes, &ends, &mut out);
                assert_eq!(out, expected, "{} messages in a column, {}", count, many.name());
            }
        }
    }

    #[test]
    fn every_width_gives_the_same_keccak512_of_64_bytes() {
        let mut random = Random(3);
        for count in 0..20 {
            let blocks: Vec<[u8; 64]> =
                (0..count).map(|_| random.bytes(64).try_into().unwrap()).collect();
            let expected: Vec<_> = blocks.iter().map(|block| keccak512(block)).collect();
            for many in ManyKeccak::all_available() {
                let mut out = blocks.clone();
                many.keccak512_64(&mut out);
                assert_eq!(out, expected, "{} blocks, {}", count, many.name());
            }
        }
    }
}
