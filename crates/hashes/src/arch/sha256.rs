//! The SHA-256 compression function for each kind of register (FIPS 180-4, section 6.2).
//!
//! The rounds are written once, as the macro [`rounds`]; `sha256_all` and the vector files give it
//! a lane type and its operations. CPUs with SHA-256 instructions need no such rounds.

use core::array;

/// The round constants, 16 in a row (section 4.2.2).
#[rustfmt::skip]
pub(crate) const ROUND_CONSTANTS: [[u32; 16]; 4] = [
    [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174,
    ],
    [
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc,
        0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967,
    ],
    [
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
        0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
        0xf40e3585, 0x106aa070,
    ],
    [
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb,
        0xbef9a3f7, 0xc67178f2,
    ],
];

/// The state before the first block (section 5.3.3).
const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Words 8 to 15 of the only block of a message of 32 bytes.
pub(crate) const END_AFTER_32: [u32; 8] = [0x80 << 24, 0, 0, 0, 0, 0, 0, 256];

/// The second block of a message of 64 bytes, which is the same for all messages: its 64 schedule
/// words, with the round constants added.
pub(crate) const SCHEDULE_AFTER_64: [[u32; 16]; 4] = {
    let mut words = [0; 64];
    words[0] = 0x80 << 24;
    words[15] = 512;
    let mut scheduled = [[0; 16]; 4];
    let mut i = 0;
    while i < 64 {
        if i >= 16 {
            let (near, far): (u32, u32) = (words[i - 2], words[i - 15]);
            let sigma0 = far.rotate_right(7) ^ far.rotate_right(18) ^ (far >> 3);
            let sigma1 = near.rotate_right(17) ^ near.rotate_right(19) ^ (near >> 10);
            words[i] =
                sigma1.wrapping_add(words[i - 7]).wrapping_add(sigma0).wrapping_add(words[i - 16]);
        }
        scheduled[i / 16][i % 16] = ROUND_CONSTANTS[i / 16][i % 16].wrapping_add(words[i]);
        i += 1;
    }
    scheduled
};

/// The states of `N` lanes, word by word: `[w][lane]`.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct States<const N: usize>(pub(crate) [[u32; N]; 8]);

impl<const N: usize> States<N> {
    /// The initial state of all lanes.
    #[inline]
    pub(crate) fn new() -> Self {
        States(INITIAL.map(|word| [word; N]))
    }

    /// Resets a lane to its initial state.
    #[inline]
    pub(crate) fn reset(&mut self, lane: usize) {
        for (row, word) in self.0.iter_mut().zip(INITIAL) {
            row[lane] = word;
        }
    }

    /// The eight words of a lane.
    #[inline]
    pub(crate) fn lane(&self, lane: usize) -> [u32; 8] {
        array::from_fn(|w| self.0[w][lane])
    }

    /// The digest that a lane holds after its last block.
    #[inline]
    pub(crate) fn digest(&self, lane: usize) -> [u8; 32] {
        let mut digest = [0; 32];
        for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(self.lane(lane)) {
            *bytes = word.to_be_bytes();
        }
        digest
    }
}

/// A way to advance `N` states at once. A value is the proof that the CPU can do it.
pub(crate) trait Compress<const N: usize>: Copy {
    /// Absorbs the blocks of each lane, as many as the first lane has.
    ///
    /// # Panics
    ///
    /// Panics if a lane has fewer blocks than the first.
    fn compress(self, states: &mut States<N>, blocks: [&[[u8; 64]]; N]);

    /// Each lane takes in the block that ends a message of 64 bytes.
    fn end_after_64(self, states: &mut States<N>);

    /// Replaces the digest in each lane by its SHA-256.
    fn hash_digests(self, states: &mut States<N>);
}

/// Makes two functions: `rounds` takes a block's 16 words into a state, `rounds_scheduled` takes a
/// schedule that is known beforehand, with the round constants in it.
///
/// The file that calls it has in scope, for the lane type: `add(a, b)`, `xor3(a, b, c)`,
/// `rotate::<N>(a)` and `shift::<N>(a)` to the right, `choose(e, f, g) = (e & f) ^ (!e & g)`,
/// `majority(a, b, c)` of each bit, and `splat(u32)`.
macro_rules! rounds {
    ($(#[$attribute:meta])* $lane:ty) => {
        // the indices are written out so that all words stay in registers
        rounds!($(#[$attribute])* $lane; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    };
    ($(#[$attribute:meta])* $lane:ty; $($i:literal)*) => {
        $(#[$attribute])*
        fn round([a, b, c, d, e, f, g, h]: [$lane; 8], scheduled: $lane) -> [$lane; 8] {
            let sum1 = xor3(rotate::<6>(e), rotate::<11>(e), rotate::<25>(e));
            let sum0 = xor3(rotate::<2>(a), rotate::<13>(a), rotate::<22>(a));
            let t1 = add(add(add(h, scheduled), choose(e, f, g)), sum1);
            [add(t1, add(sum0, majority(a, b, c))), a, b, c, add(d, t1), e, f, g]
        }

        $(#[$attribute])*
        fn rounds(state: [$lane; 8], mut w: [$lane; 16]) -> [$lane; 8] {
            let [first, rest @ ..] = &crate::arch::sha256::ROUND_CONSTANTS;
            let mut s = state;
            $(s = round(s, add(w[$i], splat(first[$i])));)*
            for constants in rest {
                $(
                    let (far, near) = (w[($i + 1) % 16], w[($i + 14) % 16]);
                    let sigma0 = xor3(rotate::<7>(far), rotate::<18>(far), shift::<3>(far));
                    let sigma1 = xor3(rotate::<17>(near), rotate::<19>(near), shift::<10>(near));
                    w[$i] = add(add(w[$i], sigma0), add(w[($i + 9) % 16], sigma1));
                    s = round(s, add(w[$i], splat(constants[$i])));
                )*
            }
            let mut sum = state;
            sum.iter_mut().zip(s).for_each(|(word, s)| *word = add(*word, s));
            sum
        }

        $(#[$attribute])*
        fn rounds_scheduled(state: [$lane; 8], schedule: &[[u32; 16]; 4]) -> [$lane; 8] {
            let mut s = state;
            for words in schedule {
                $(s = round(s, splat(words[$i]));)*
            }
            let mut sum = state;
            sum.iter_mut().zip(s).for_each(|(word, s)| *word = add(*word, s));
            sum
        }
    };
}
pub(crate) use rounds;
