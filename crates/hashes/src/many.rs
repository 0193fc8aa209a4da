//! Keccak of many messages at once, one in each lane of the vector registers.
//!
//! A lane takes the next message as soon as its own ends, so messages of mixed lengths keep all
//! lanes busy until the batch runs out.

use alloc::vec;
use alloc::vec::Vec;

use crate::arch::{Avx2, Avx512, Avx512Vl, Sha3};
use crate::keccak::{RATE_256, keccak256, keccak512};

/// A hasher of many messages at once. A value is the proof that the CPU has the features of its
/// width.
///
/// ```
/// use blockmill_hashes::{ManyKeccak, keccak256};
///
/// let messages: [&[u8]; 3] = [b"one", b"two", b"three"];
/// for hasher in ManyKeccak::all_available() {
///     let mut digests = [[0; 32]; 3];
///     hasher.keccak256(&messages, &mut digests);
///     assert_eq!(digests, messages.map(keccak256), "{}", hasher.name());
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ManyKeccak(Width);

#[derive(Clone, Copy, Debug)]
enum Width {
    Scalar,
    Sha3(Sha3),
    Avx2(Avx2),
    Avx512(Avx512, Avx512Vl),
}

impl ManyKeccak {
    /// Returns the widest hasher of this CPU.
    #[must_use]
    pub fn detect() -> Self {
        if let (Some(eight), Some(four)) = (Avx512::new(), Avx512Vl::new()) {
            return ManyKeccak(Width::Avx512(eight, four));
        }
        if let Some(proof) = Avx2::new() {
            return ManyKeccak(Width::Avx2(proof));
        }
        if let Some(proof) = Sha3::new() {
            return ManyKeccak(Width::Sha3(proof));
        }
        ManyKeccak(Width::Scalar)
    }

    /// Returns the hasher that hashes one message after the other: the baseline.
    #[must_use]
    pub fn scalar() -> Self {
        ManyKeccak(Width::Scalar)
    }

    /// Returns the hashers of all widths of this CPU, the narrowest first.
    #[must_use]
    pub fn all_available() -> Vec<Self> {
        let mut all = vec![Self::scalar()];
        all.extend(Sha3::new().map(|proof| ManyKeccak(Width::Sha3(proof))));
        all.extend(Avx2::new().map(|proof| ManyKeccak(Width::Avx2(proof))));
        if let (Some(eight), Some(four)) = (Avx512::new(), Avx512Vl::new()) {
            all.push(ManyKeccak(Width::Avx512(eight, four)));
        }
        all
    }

    /// Name of the width: `scalar`, `avx2`, `avx512` or, on aarch64, `sha3`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.0 {
            Width::Scalar => "scalar",
            Width::Sha3(_) => "sha3",
            Width::Avx2(_) => "avx2",
            Width::Avx512(..) => "avx512",
        }
    }

    /// Number of messages in one permutation: 1, 2, 4 or 8.
    #[must_use]
    pub fn lanes(&self) -> usize {
        match self.0 {
            Width::Scalar => 1,
            Width::Sha3(_) => 2,
            Width::Avx2(_) => 4,
            Width::Avx512(..) => 8,
        }
    }

    /// Writes the Keccak-256 of message `i` to `out[i]`.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `messages` differ in length.
    pub fn keccak256(&self, messages: &[&[u8]], out: &mut [[u8; 32]]) {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        self.hash_each(|i| messages[i], out);
    }

    /// Writes to `out[i]` the Keccak-256 of `bytes[ends[i - 1]..ends[i]]`, where message 0 begins
    /// at 0: messages that are back to back in one buffer.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `ends` differ in length, if the ends do not ascend, or if one is outside
    /// `bytes`.
    ///
    /// ```
    /// use blockmill_hashes::{ManyKeccak, keccak256};
    ///
    /// let mut digests = [[0; 32]; 2];
    /// ManyKeccak::detect().keccak256_column(b"onethree", &[3, 8], &mut digests);
    /// assert_eq!(digests, [keccak256(b"one"), keccak256(b"three")]);
    /// ```
    pub fn keccak256_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
        assert_eq!(ends.len(), out.len(), "one place for each digest");
        let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] as usize };
        self.hash_each(|i| &bytes[start(i)..ends[i] as usize], out);
    }

    fn hash_each<'a>(&self, message: impl Fn(usize) -> &'a [u8], out: &mut [[u8; 32]]) {
        let one = |i: usize, digest: &mut [u8; 32]| *digest = keccak256(message(i));
        match self.0 {
            Width::Scalar => out.iter_mut().enumerate().for_each(|(i, digest)| one(i, digest)),
            Width::Sha3(two) => {
                let (batch, rest) = out.split_at_mut(out.len() - out.len() % 2);
                hash_in_lanes::<_, 2>(two, &message, batch);
                rest.iter_mut().for_each(|digest| one(batch.len(), digest));
            }
            Width::Avx2(four) => {
                // one message alone leaves all lanes but one idle
                let (batch, rest) = out.split_at_mut(out.len() - usize::from(out.len() % 4 == 1));
                hash_in_lanes::<_, 4>(four, &message, batch);
                rest.iter_mut().for_each(|digest| one(batch.len(), digest));
            }
            Width::Avx512(eight, four) => {
                // a permutation of four takes two thirds of the time of eight, and the time of one
                let left = Some(out.len() % 8).filter(|left| *left <= 4).unwrap_or(0);
                let (batch, rest) = out.split_at_mut(out.len() - left);
                hash_in_lanes::<_, 8>(eight, &message, batch);
                match rest {
                    [digest] => one(batch.len(), digest),
                    _ => hash_in_lanes::<_, 4>(four, |i| message(batch.len() + i), rest),
                }
            }
        }
    }

    /// Replaces each block of 64 bytes by its Keccak-512.
    ///
    /// ```
    /// use blockmill_hashes::{ManyKeccak, keccak512};
    ///
    /// let mut blocks = [[1; 64], [2; 64]];
    /// ManyKeccak::detect().keccak512_64(&mut blocks);
    /// assert_eq!(blocks, [keccak512(&[1; 64]), keccak512(&[2; 64])]);
    /// ```
    pub fn keccak512_64(&self, blocks: &mut [[u8; 64]]) {
        match self.0 {
            Width::Scalar => blocks.iter_mut().for_each(|block| *block = keccak512(block)),
            Width::Sha3(wide) => keccak512_in_lanes::<_, 2>(wide, blocks),
            Width::Avx2(wide) => keccak512_in_lanes::<_, 4>(wide, blocks),
            Width::Avx512(wide, _) => keccak512_in_lanes::<_, 8>(wide, blocks),
        }
    }
}

/// The states of `N` lanes.
#[repr(align(64))]
pub(crate) struct States<const N: usize> {
    /// Word by word: `[w][lane]`.
    pub(crate) words: [[u64; N]; 25],
    /// The first 32 bytes of each state.
    pub(crate) digests: [[u8; 32]; N],
}

/// A permutation of `N` states at once.
pub(crate) trait Wide<const N: usize>: Copy {
    /// Absorbs `whole` blocks of 136 bytes in each lane, then one more block, or the padded end of
    /// a message that has less left. Lanes with a set bit in `fresh` start from zero.
    ///
    /// # Panics
    ///
    /// Panics if a lane has less than `whole` blocks left.
    fn absorb(self, states: &mut States<N>, fresh: u8, rest: &[&[u8]; N], whole: usize);

    /// Replaces each block by its Keccak-512.
    fn keccak512_64(self, blocks: &mut [[u8; 64]; N]);
}

fn hash_in_lanes<'a, W: Wide<N>, const N: usize>(
    wide: W,
    message: impl Fn(usize) -> &'a [u8],
    out: &mut [[u8; 32]],
) {
    let mut states = States { words: [[0; N]; 25], digests: [[0; 32]; N] };
    // the rest of each lane's message, and its index in `out` (past the end: the lane is idle)
    let mut rest: [&[u8]; N] = [&[]; N];
    let mut place = [usize::MAX; N];
    let mut next = out.len().min(N);
    for lane in 0..next {
        (rest[lane], place[lane]) = (message(lane), lane);
    }
    let mut fresh = u8::MAX;
    while next < out.len() || follow_busy(&mut rest, &place, next) {
        let shortest = rest.iter().map(|rest| rest.len()).min().unwrap_or(0);
        let whole = shortest / RATE_256;
        wide.absorb(&mut states, fresh, &rest, whole);
        fresh = 0;
        for lane in 0..N {
            if let Some(left) = rest[lane].get((whole + 1) * RATE_256..) {
                rest[lane] = left;
                continue;
            }
            if let Some(digest) = out.get_mut(place[lane]) {
                *digest = states.digests[lane];
            }
            fresh |= 1 << lane;
            place[lane] = next;
            if next < out.len() {
                rest[lane] = message(next);
                next += 1;
            }
        }
    }
}

/// Lets idle lanes repeat the message of a busy one, so that none of them ends earlier. False if
/// all are idle.
#[inline]
fn follow_busy<const N: usize>(rest: &mut [&[u8]; N], place: &[usize; N], end: usize) -> bool {
    let Some(busy) = place.iter().position(|place| *place < end) else { return false };
    for lane in 0..N {
        if place[lane] >= end {
            rest[lane] = rest[busy];
        }
    }
    true
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
        // all residues of the block length several times, then some lengths for each larger number
        // of blocks
        let lengths = (0..=600).chain((601..=2000).step_by(17)).chain([2000]);
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
    fn every_width_hashes_batches_of_one_length_like_the_scalar_code() {
        let bytes = Random(4).bytes(30 * 700);
        // around the ends of words, of vectors, of blocks and of several blocks
        for length in [0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 135, 136, 137, 271, 272, 540, 680] {
            let messages: Vec<&[u8]> = bytes.chunks(700).map(|chunk| &chunk[..length]).collect();
            let expected: Vec<_> = messages.iter().map(|message| keccak256(message)).collect();
            for many in ManyKeccak::all_available() {
                for count in 0..=messages.len() {
                    let mut out = vec![[0; 32]; count];
                    many.keccak256(&messages[..count], &mut out);
                    assert_eq!(out, expected[..count], "{count} of {length}, {}", many.name());
                }
            }
        }
    }

    #[test]
    fn a_lane_that_takes_its_next_message_leaves_the_others_alone() {
        let bytes = Random(5).bytes(2000);
        // one long message in each lane in turn, short ones of every count of blocks around it
        for (long, short) in (0..9).flat_map(|long| [0, 135, 136, 300].map(|short| (long, short))) {
            let length = |i: usize| if i == long { 2000 } else { short + i };
            let messages: Vec<&[u8]> = (0..21).map(|i| &bytes[..length(i)]).collect();
            let expected: Vec<_> = messages.iter().map(|message| keccak256(message)).collect();
            for many in ManyKeccak::all_available() {
                let mut out = vec![[0; 32]; messages.len()];
                many.keccak256(&messages, &mut out);
                assert_eq!(out, expected, "message {long} is long, {}", many.name());
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
