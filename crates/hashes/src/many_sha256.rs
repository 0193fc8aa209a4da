//! SHA-256 and SHA-256d of many messages at once, one in each lane of the vector registers.
//!
//! A lane takes the next message as soon as its own ends, so messages of mixed lengths keep all
//! lanes busy until the batch runs out. Digests that are hashed again wait until there is one for
//! each lane.

use alloc::vec::Vec;
use core::array;

use crate::arch::sha256::{Compress, States};
use crate::arch::sha256_all::Scalar;
use crate::arch::{Avx2, Avx512, Sha2, ShaNi, ShaNiFour};
use crate::sha256::{Blocks, absorb};

/// A way to hash many messages at once. A value is the proof that the CPU can do it.
///
/// ```
/// use blockmill_hashes::{ManySha256, sha256d};
///
/// let messages: [&[u8]; 3] = [b"one", b"two", b"three"];
/// for hasher in ManySha256::all_available() {
///     let mut digests = [[0; 32]; 3];
///     hasher.sha256d(&messages, &mut digests);
///     assert_eq!(digests, messages.map(sha256d), "{}", hasher.name());
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ManySha256(Width);

#[derive(Clone, Copy, Debug)]
enum Width {
    Scalar,
    Sha2(Sha2),
    ShaNi(ShaNi),
    ShaNiFour(ShaNiFour),
    Avx2(Avx2),
    Avx512(Avx512),
}

/// Whether a message is hashed once or twice.
#[derive(Clone, Copy, PartialEq)]
enum Hash {
    Once,
    Twice,
}

impl ManySha256 {
    /// The fastest for large batches: on Intel's CPUs sixteen lanes of AVX-512, on others four
    /// streams of SHA-NI (two for messages of any lengths), where the CPU has both; else the one
    /// of them that it has, else two streams, else AVX2, else the scalar code. What is too few
    /// messages for a width goes to a narrower one.
    ///
    /// Measured with `benches/sha256.rs`, nanoseconds for one of 2,048 pairs with four streams of
    /// SHA-NI, AVX-512, two streams and AVX2: Intel Sapphire Rapids 109, 60, 132 and 156; AMD Zen 4
    /// 52, 89, 77 and 103; AMD Zen 3, which has no AVX-512, 67, -, 93 and 123; Intel Cascade Lake,
    /// which has no SHA-NI, -, 79, - and 145. Of messages of any lengths two streams and AVX-512
    /// are equally fast on Zen 4.
    #[must_use]
    pub fn detect() -> Self {
        let width = ShaNiFour::before_avx512().map(Width::ShaNiFour);
        let width = width.or_else(|| Avx512::new().map(Width::Avx512));
        let width = width.or_else(|| ShaNiFour::new().map(Width::ShaNiFour));
        let width = width.or_else(|| ShaNi::new().map(Width::ShaNi));
        let width = width.or_else(|| Avx2::new().map(Width::Avx2));
        let width = width.or_else(|| Sha2::new().map(Width::Sha2));
        ManySha256(width.unwrap_or(Width::Scalar))
    }

    /// One message after the other on integers: the baseline for the others.
    #[must_use]
    pub fn scalar() -> Self {
        ManySha256(Width::Scalar)
    }

    /// All that this CPU has, the narrowest first.
    #[must_use]
    pub fn all_available() -> Vec<Self> {
        let vectors = [
            Sha2::new().map(Width::Sha2),
            ShaNi::new().map(Width::ShaNi),
            ShaNiFour::new().map(Width::ShaNiFour),
            Avx2::new().map(Width::Avx2),
            Avx512::new().map(Width::Avx512),
        ];
        [Some(Width::Scalar)].into_iter().chain(vectors).flatten().map(ManySha256).collect()
    }

    /// `scalar`, `sha-ni`, `sha-ni-4`, `avx2`, `avx512` or, on aarch64, `sha2`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.0 {
            Width::Scalar => "scalar",
            Width::Sha2(_) => "sha2",
            Width::ShaNi(_) => "sha-ni",
            Width::ShaNiFour(_) => "sha-ni-4",
            Width::Avx2(_) => "avx2",
            Width::Avx512(_) => "avx512",
        }
    }

    /// How many messages advance at once: 1, 2, 4, 8 or 16.
    #[must_use]
    pub fn lanes(&self) -> usize {
        match self.0 {
            Width::Scalar => 1,
            Width::Sha2(_) | Width::ShaNi(_) => 2,
            Width::ShaNiFour(_) => 4,
            Width::Avx2(_) => 8,
            Width::Avx512(_) => 16,
        }
    }

    /// Writes the SHA-256 of message `i` to `out[i]`.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `messages` differ in length.
    pub fn sha256(&self, messages: &[&[u8]], out: &mut [[u8; 32]]) {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        self.hash_each(Hash::Once, |i| messages[i], out);
    }

    /// Writes the SHA-256 of the SHA-256 of message `i` to `out[i]`.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `messages` differ in length.
    pub fn sha256d(&self, messages: &[&[u8]], out: &mut [[u8; 32]]) {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        self.hash_each(Hash::Twice, |i| messages[i], out);
    }

    /// Writes to `out[i]` the SHA-256 of the SHA-256 of `bytes[ends[i - 1]..ends[i]]`, where
    /// message 0 begins at 0: messages that are back to back in one buffer.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `ends` differ in length, if the ends do not ascend, or if one is outside
    /// `bytes`.
    pub fn sha256d_column(&self, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
        assert_eq!(ends.len(), out.len(), "one place for each digest");
        let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] as usize };
        self.hash_each(Hash::Twice, |i| &bytes[start(i)..ends[i] as usize], out);
    }

    /// Writes the SHA-256 of the SHA-256 of pair `i` to `out[i]`: one level of a merkle tree.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `pairs` differ in length.
    pub fn sha256d_64(&self, pairs: &[[u8; 64]], out: &mut [[u8; 32]]) {
        self.double_each(pairs, out);
    }

    /// Writes the SHA-256 of the SHA-256 of header `i` to `out[i]`: the hashes of Bitcoin blocks.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `headers` differ in length.
    pub fn sha256d_80(&self, headers: &[[u8; 80]], out: &mut [[u8; 32]]) {
        self.double_each(headers, out);
    }

    /// Writes to `out[i]` the digest of a message with the intermediate state `state` that ends
    /// with `messages[i]`, whole blocks that include the padding and the length: for hashes with
    /// common first blocks.
    ///
    /// # Panics
    ///
    /// Panics if `out` and `messages` differ in length.
    pub fn finish_blocks<const B: usize>(
        &self,
        state: [u32; 8],
        messages: &[[[u8; 64]; B]],
        out: &mut [[u8; 32]],
    ) {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        match self.0.for_count(out.len()) {
            Width::Scalar => finish_in_lanes::<_, 1, B>(Scalar, state, messages, out),
            Width::Sha2(sha2) => finish_in_lanes::<_, 2, B>(sha2, state, messages, out),
            Width::ShaNi(two) => finish_in_lanes::<_, 2, B>(two, state, messages, out),
            Width::ShaNiFour(four) => finish_in_lanes::<_, 4, B>(four, state, messages, out),
            Width::Avx2(avx2) => finish_in_lanes::<_, 8, B>(avx2, state, messages, out),
            Width::Avx512(avx512) => finish_in_lanes::<_, 16, B>(avx512, state, messages, out),
        }
    }

    fn hash_each<'a>(&self, hash: Hash, message: impl Fn(usize) -> &'a [u8], out: &mut [[u8; 32]]) {
        let width = self.0.for_count(out.len()).of_any_length();
        let fewest = width.fewest_busy();
        match width {
            Width::Scalar => hash_in_lanes::<_, 1>(Scalar, fewest, hash, message, out),
            Width::Sha2(sha2) => hash_in_lanes::<_, 2>(sha2, fewest, hash, message, out),
            Width::ShaNi(one) if out.len() == 1 => {
                hash_in_lanes::<_, 1>(one, fewest, hash, message, out);
            }
            Width::ShaNi(two) => hash_in_lanes::<_, 2>(two, fewest, hash, message, out),
            Width::ShaNiFour(four) => hash_in_lanes::<_, 4>(four, fewest, hash, message, out),
            Width::Avx2(avx2) => hash_in_lanes::<_, 8>(avx2, fewest, hash, message, out),
            Width::Avx512(avx512) => hash_in_lanes::<_, 16>(avx512, fewest, hash, message, out),
        }
    }

    fn double_each<const L: usize>(&self, messages: &[[u8; L]], out: &mut [[u8; 32]]) {
        assert_eq!(messages.len(), out.len(), "one place for each digest");
        let full = messages.len() - messages.len() % self.lanes();
        let (messages, rest) = messages.split_at(full);
        let (out, rest_out) = out.split_at_mut(full);
        self.0.double(messages, out);
        self.0.for_count(rest.len()).double(rest, rest_out);
    }
}

impl Width {
    /// The width for messages of any lengths. The time that four streams of SHA-NI save is lost in
    /// keeping all of them busy: two are as fast, and faster if the other hyper-thread is busy.
    fn of_any_length(self) -> Self {
        match self {
            Width::ShaNiFour(_) => ShaNi::new().map_or(self, Width::ShaNi),
            width => width,
        }
    }

    /// The width for the messages when there are only `count`. Streams of SHA-NI, or eight lanes of
    /// AVX2, are done sooner than sixteen of AVX-512 half of which are idle, and two streams sooner
    /// than four.
    fn for_count(self, count: usize) -> Self {
        let sha_ni = || ShaNi::new().map(Width::ShaNi);
        match self {
            Width::Avx512(_) if count <= 8 => {
                let streams = ShaNiFour::new().map(Width::ShaNiFour);
                let narrower = streams.or_else(|| Avx2::new().map(Width::Avx2));
                narrower.map_or(self, |width| width.for_count(count))
            }
            Width::Avx2(_) if count == 1 => sha_ni().unwrap_or(Width::Scalar),
            Width::ShaNiFour(_) if count <= 2 => sha_ni().unwrap_or(self),
            width => width,
        }
    }

    /// Least number of busy lanes that are done sooner together than one after the other.
    fn fewest_busy(self) -> usize {
        match self {
            Width::Scalar | Width::Sha2(_) | Width::ShaNi(_) => 1,
            // all lanes take 1.8 times the time of one message
            Width::ShaNiFour(_) => 2,
            // all lanes take 5 times the time of one message with SHA-NI
            Width::Avx512(_) if ShaNi::new().is_some() => 6,
            // all lanes take 1.1 (AVX2) and 1.3 times (AVX-512) the time of one message on integers
            Width::Avx2(_) | Width::Avx512(_) => 2,
        }
    }

    fn double<const L: usize>(self, messages: &[[u8; L]], out: &mut [[u8; 32]]) {
        match self {
            Width::Scalar => double_in_lanes::<_, 1, L>(Scalar, messages, out),
            Width::Sha2(sha2) => double_in_lanes::<_, 2, L>(sha2, messages, out),
            Width::ShaNi(one) if out.len() == 1 => double_in_lanes::<_, 1, L>(one, messages, out),
            Width::ShaNi(two) => double_in_lanes::<_, 2, L>(two, messages, out),
            Width::ShaNiFour(four) => double_in_lanes::<_, 4, L>(four, messages, out),
            Width::Avx2(avx2) => double_in_lanes::<_, 8, L>(avx2, messages, out),
            Width::Avx512(avx512) => double_in_lanes::<_, 16, L>(avx512, messages, out),
        }
    }
}

/// The remaining blocks of a lane, and the index of its digest; `None` if the lane is idle.
struct Lane<'a> {
    place: Option<usize>,
    blocks: Blocks<'a>,
}

/// Digests that wait until there is one for each lane to be hashed again.
struct Again<C, const N: usize> {
    wide: C,
    states: States<N>,
    places: [usize; N],
    count: usize,
}

impl<C: Compress<N>, const N: usize> Again<C, N> {
    fn push(&mut self, place: usize, state: [u32; 8], out: &mut [[u8; 32]]) {
        for (row, word) in self.states.0.iter_mut().zip(state) {
            row[self.count] = word;
        }
        self.places[self.count] = place;
        self.count += 1;
        if self.count == N {
            self.hash(out);
        }
    }

    /// Hashes the digests that wait.
    fn hash(&mut self, out: &mut [[u8; 32]]) {
        if self.count == 0 {
            return;
        }
        self.wide.hash_digests(&mut self.states);
        for (i, place) in self.places[..self.count].iter().enumerate() {
            out[*place] = self.states.digest(i);
        }
        self.count = 0;
    }
}

fn hash_in_lanes<'a, C: Compress<N>, const N: usize>(
    wide: C,
    fewest: usize,
    hash: Hash,
    message: impl Fn(usize) -> &'a [u8],
    out: &mut [[u8; 32]],
) {
    let mut states = States::new();
    let mut lanes = [const { Lane { place: None, blocks: Blocks::NONE } }; N];
    let mut ends = [[0; 64]; N];
    let mut again = Again { wide, states: States::new(), places: [0; N], count: 0 };
    let mut waiting = 0..out.len();
    let mut busy = 0;
    loop {
        for (i, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| lane.blocks.is_done()) {
            if let Some(done) = lane.place.take() {
                busy -= 1;
                match hash {
                    Hash::Once => out[done] = states.digest(i),
                    Hash::Twice => again.push(done, states.lane(i), out),
                }
            }
            if let Some(next) = waiting.next() {
                busy += 1;
                *lane = Lane { place: Some(next), blocks: Blocks::new(message(next)) };
                states.reset(i);
            }
        }
        if busy < fewest {
            break;
        }
        let count = lanes.iter().map(|lane| lane.blocks.whole()).min().unwrap_or(0).max(1);
        let mut blocks = [&[][..]; N];
        for ((lane, end), blocks) in lanes.iter_mut().zip(&mut ends).zip(&mut blocks) {
            *blocks = lane.blocks.take(count, end);
        }
        wide.compress(&mut states, blocks);
    }
    for (i, lane) in lanes.iter_mut().enumerate() {
        if let Some(place) = lane.place {
            let mut state = States(states.lane(i).map(|word| [word]));
            absorb(&mut state, &mut lane.blocks);
            match hash {
                Hash::Once => out[place] = state.digest(0),
                Hash::Twice => again.push(place, state.lane(0), out),
            }
        }
    }
    again.hash(out);
}

/// SHA-256d of messages of one length, `64 <= L < 120`.
fn double_in_lanes<C: Compress<N>, const N: usize, const L: usize>(
    wide: C,
    messages: &[[u8; L]],
    out: &mut [[u8; 32]],
) {
    for (messages, out) in messages.chunks(N).zip(out.chunks_mut(N)) {
        // lanes without a message repeat the last
        let messages: [_; N] = array::from_fn(|i| &messages[i.min(messages.len() - 1)]);
        let parts = messages.map(|message| message.as_chunks());
        let mut states = States::new();
        wide.compress(&mut states, parts.map(|(whole, _)| whole));
        if L == 64 {
            wide.end_after_64(&mut states);
        } else {
            let mut ends = [[0; 64]; N];
            let mut blocks = [&[][..]; N];
            for ((blocks, end), (_, rest)) in blocks.iter_mut().zip(&mut ends).zip(parts) {
                *blocks = Blocks::after(L as u64, rest).take(1, end);
            }
            wide.compress(&mut states, blocks);
        }
        wide.hash_digests(&mut states);
        out.iter_mut().enumerate().for_each(|(i, out)| *out = states.digest(i));
    }
}

/// The digests after the last blocks of messages that begin alike.
fn finish_in_lanes<C: Compress<N>, const N: usize, const B: usize>(
    wide: C,
    state: [u32; 8],
    messages: &[[[u8; 64]; B]],
    out: &mut [[u8; 32]],
) {
    for (messages, out) in messages.chunks(N).zip(out.chunks_mut(N)) {
        let mut states = States(state.map(|word| [word; N]));
        // lanes without a message repeat the last
        wide.compress(&mut states, array::from_fn(|i| &messages[i.min(messages.len() - 1)][..]));
        out.iter_mut().enumerate().for_each(|(i, out)| *out = states.digest(i));
    }
}
