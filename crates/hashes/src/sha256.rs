//! SHA-256 of one message (FIPS 180-4), and SHA-256 of that digest, as Bitcoin and Neo hash.
//!
//! Uses the CPU's SHA-256 instructions if available.

use core::slice;

use crate::arch::sha256::{Compress, States};
use crate::arch::sha256_all::Scalar;
use crate::arch::{Sha2, ShaNi};

/// SHA-256 of `message`.
///
/// ```
/// use blockmill_hashes::sha256;
///
/// assert_eq!(sha256(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
/// ```
#[must_use]
pub fn sha256(message: &[u8]) -> [u8; 32] {
    let mut state = States::new();
    absorb(&mut state, &mut Blocks::new(message));
    state.digest(0)
}

/// SHA-256 of the SHA-256 of `message`.
///
/// ```
/// use blockmill_hashes::{sha256, sha256d};
///
/// assert_eq!(sha256d(b"abc"), sha256(&sha256(b"abc")));
/// ```
#[must_use]
pub fn sha256d(message: &[u8]) -> [u8; 32] {
    let mut state = States::new();
    absorb(&mut state, &mut Blocks::new(message));
    hash_digest(&mut state);
    state.digest(0)
}

/// Absorbs all blocks.
pub(crate) fn absorb(state: &mut States<1>, blocks: &mut Blocks) {
    let mut end = [0; 64];
    while !blocks.is_done() {
        compress(state, blocks.take(blocks.whole().max(1), &mut end));
    }
}

/// Absorbs whole blocks, with the CPU's instructions if available.
fn compress(state: &mut States<1>, blocks: &[[u8; 64]]) {
    if let Some(sha_ni) = ShaNi::new() {
        sha_ni.compress(state, [blocks]);
    } else if let Some(sha2) = Sha2::new() {
        sha2.compress(state, [blocks]);
    } else {
        Scalar.compress(state, [blocks]);
    }
}

/// Replaces a digest by its SHA-256, with the CPU's instructions if available.
fn hash_digest(state: &mut States<1>) {
    if let Some(sha_ni) = ShaNi::new() {
        sha_ni.hash_digests(state);
    } else if let Some(sha2) = Sha2::new() {
        sha2.hash_digests(state);
    } else {
        Scalar.hash_digests(state);
    }
}

/// The blocks of a message and its end: the bit 1, zeros up to 8 bytes before the end of a block,
/// and the length in bits (section 5.1.1).
pub(crate) struct Blocks<'a> {
    rest: &'a [u8],
    /// Bytes of the whole message.
    length: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Message,
    /// The bit 1 was in the block before, but the length did not fit.
    Length,
    Done,
}

impl<'a> Blocks<'a> {
    /// No blocks, not even those of an empty message.
    pub(crate) const NONE: Self = Blocks { rest: &[], length: 0, stage: Stage::Done };

    #[inline]
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self::after(message.len() as u64, message)
    }

    /// The rest of a message of `length` bytes.
    #[inline]
    pub(crate) fn after(length: u64, rest: &'a [u8]) -> Self {
        Blocks { rest, length, stage: Stage::Message }
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Number of whole blocks of the message that are contiguous.
    #[inline]
    pub(crate) fn whole(&self) -> usize {
        self.rest.len() / 64
    }

    /// Returns the next `count` blocks if the message has so many, else the next block of its end,
    /// which is written to `end`.
    #[inline]
    pub(crate) fn take<'b>(&mut self, count: usize, end: &'b mut [u8; 64]) -> &'b [[u8; 64]]
    where
        'a: 'b,
    {
        if let Some((blocks, rest)) = self.rest.split_at_checked(64 * count) {
            self.rest = rest;
            return blocks.as_chunks().0;
        }
        *end = [0; 64];
        if self.stage == Stage::Message {
            end[..self.rest.len()].copy_from_slice(self.rest);
            end[self.rest.len()] = 0x80;
        }
        if self.rest.len() < 56 {
            // modulo 2^64: longer messages have no SHA-256
            end[56..].copy_from_slice(&(self.length << 3).to_be_bytes());
            self.stage = Stage::Done;
        } else {
            self.stage = Stage::Length;
        }
        self.rest = &[];
        slice::from_ref(end)
    }
}

/// SHA-256 of a message that comes in parts. Holds no heap memory.
///
/// ```
/// use blockmill_hashes::{Sha256, sha256};
///
/// let mut hash = Sha256::new();
/// hash.update(b"block");
/// hash.update(b"mill");
/// assert_eq!(hash.finalize(), sha256(b"blockmill"));
/// ```
#[derive(Clone, Debug)]
pub struct Sha256 {
    state: States<1>,
    /// Bytes that wait for a full block: the first `length % 64` of `block`.
    block: [u8; 64],
    length: u64,
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl Sha256 {
    /// The hash of nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Sha256 { state: States::new(), block: [0; 64], length: 0 }
    }

    /// Appends `part` to the message.
    pub fn update(&mut self, mut part: &[u8]) {
        let waiting = (self.length % 64) as usize;
        self.length = self.length.wrapping_add(part.len() as u64);
        if waiting > 0 {
            let taken = part.len().min(64 - waiting);
            self.block[waiting..waiting + taken].copy_from_slice(&part[..taken]);
            part = &part[taken..];
            if waiting + taken < 64 {
                return;
            }
            compress(&mut self.state, &[self.block]);
        }
        let (blocks, rest) = part.as_chunks();
        compress(&mut self.state, blocks);
        self.block[..rest.len()].copy_from_slice(rest);
    }

    /// The digest of all parts.
    #[must_use]
    pub fn finalize(mut self) -> [u8; 32] {
        let mut blocks = Blocks::after(self.length, &self.block[..(self.length % 64) as usize]);
        absorb(&mut self.state, &mut blocks);
        self.state.digest(0)
    }
}
