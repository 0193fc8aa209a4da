//! Keccak-256 and Keccak-512 of one message.
//!
//! This is the Keccak of 2011 that Ethereum uses, padded with 0x01. FIPS 202 (SHA3) pads with 0x06
//! and gives other digests.

use crate::arch::absorb;

/// Bytes of a message that Keccak-256 takes in before each permutation.
pub(crate) const RATE_256: usize = 136;
/// Bytes of a message that Keccak-512 takes in before each permutation.
pub(crate) const RATE_512: usize = 72;
/// Word 8 of a Keccak-512 block with a message that ends after 64 bytes: both ends of the padding.
pub(crate) const PADDING_AFTER_64: u64 = 0x8000_0000_0000_0001;

/// Keccak-256 of `message`.
///
/// ```
/// use blockmill_hashes::keccak256;
///
/// // the code hash of an account without code
/// assert_eq!(keccak256(b"")[..4], [0xc5, 0xd2, 0x46, 0x01]);
/// ```
#[must_use]
pub fn keccak256(message: &[u8]) -> [u8; 32] {
    digest(&sponge::<RATE_256>(message))
}

/// Keccak-512 of `message`.
///
/// ```
/// use blockmill_hashes::keccak512;
///
/// assert_eq!(keccak512(b"")[..4], [0x0e, 0xab, 0x42, 0xde]);
/// ```
#[must_use]
pub fn keccak512(message: &[u8]) -> [u8; 64] {
    digest(&sponge::<RATE_512>(message))
}

/// The state after all of `message` and its padding went in.
#[inline]
fn sponge<const RATE: usize>(message: &[u8]) -> [u64; 25] {
    let mut state = [0; 25];
    let (blocks, tail) = message.as_chunks::<RATE>();
    let mut last = [0; RATE];
    pad(tail, &mut last);
    absorb(&mut state, blocks.iter().chain([&last]));
    state
}

/// Fills `block` with its length of `rest`, or with all of a shorter `rest` and the padding.
#[inline]
pub(crate) fn pad<const RATE: usize>(rest: &[u8], block: &mut [u8; RATE]) {
    let length = rest.len().min(RATE);
    block[..length].copy_from_slice(&rest[..length]);
    end(block, length);
}

/// Writes the padding after the first `length` bytes of `block`; a full block gets none.
#[inline]
fn end<const RATE: usize>(block: &mut [u8; RATE], length: usize) {
    if length < RATE {
        block[length..].fill(0);
        block[length] = 0x01;
        block[RATE - 1] |= 0x80;
    }
}

/// The first `N` bytes of a state.
#[inline]
fn digest<const N: usize>(state: &[u64; 25]) -> [u8; N] {
    let mut out = [0; N];
    for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    out
}

/// Word 16 (bytes 128 to 135) of the block that `rest` begins with; a block shorter than 136 bytes
/// is padded.
#[inline(always)]
pub(crate) fn last_word(rest: &[u8]) -> u64 {
    let block = rest.first_chunk::<RATE_256>().map_or(rest, |whole| whole);
    let Some(last) = block.last_chunk::<8>().filter(|_| block.len() >= 128) else {
        return 0x80 << 56;
    };
    let last = u64::from_le_bytes(*last);
    match RATE_256 - block.len() {
        0 => last,
        8 => 0x01 | 0x80 << 56,
        // the upper bytes of `last` are the lower ones of word 16
        missing => last >> (8 * missing) | 0x01 << (64 - 8 * missing) | 0x80 << 56,
    }
}

/// Keccak-256 of a message that comes in parts. Holds no heap memory.
///
/// ```
/// use blockmill_hashes::{Keccak256, keccak256};
///
/// let mut hash = Keccak256::new();
/// hash.update(b"block");
/// hash.update(b"mill");
/// assert_eq!(hash.finalize(), keccak256(b"blockmill"));
/// ```
#[derive(Clone, Debug)]
pub struct Keccak256 {
    state: [u64; 25],
    /// Bytes that wait for a full block: the first `waiting` of `block`.
    block: [u8; RATE_256],
    waiting: usize,
}

impl Default for Keccak256 {
    fn default() -> Self {
        Self::new()
    }
}

impl Keccak256 {
    /// The hash of nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Keccak256 { state: [0; 25], block: [0; RATE_256], waiting: 0 }
    }

    /// Appends `part` to the message.
    pub fn update(&mut self, mut part: &[u8]) {
        if self.waiting > 0 {
            let taken = part.len().min(RATE_256 - self.waiting);
            self.block[self.waiting..self.waiting + taken].copy_from_slice(&part[..taken]);
            self.waiting += taken;
            part = &part[taken..];
            if self.waiting < RATE_256 {
                return;
            }
        }
        let (blocks, tail) = part.as_chunks();
        let full = (self.waiting == RATE_256).then_some(&self.block);
        absorb(&mut self.state, full.into_iter().chain(blocks));
        self.block[..tail.len()].copy_from_slice(tail);
        self.waiting = tail.len();
    }

    /// The digest of all parts.
    #[must_use]
    pub fn finalize(mut self) -> [u8; 32] {
        end(&mut self.block, self.waiting);
        absorb(&mut self.state, [&self.block].into_iter());
        digest(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn gives_the_published_digests() {
        assert_eq!(
            hex(&keccak256(b"")),
            "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
        );
        assert_eq!(
            hex(&keccak256(b"abc")),
            "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"
        );
        assert_eq!(
            hex(&keccak512(b"")),
            "0eab42de4c3ceb9235fc91acffe746b29c29a8c366b7c60e4e67c466f36a4304\
             c00fa9caf9d87976ba469bcbe06713b435f091ef2769fb160cdab33d3670680e"
        );
        assert_eq!(
            hex(&keccak512(b"abc")),
            "18587dc2ea106b9a1563e32b3312421ca164c7f1f07bc922a9c83d77cea3a1e5\
             d0c69910739025372dc14ac9642629379540c17e2a65b19d77aa511a9d00bb96"
        );
    }

    #[test]
    fn parts_hash_like_the_whole() {
        let message: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for length in (0..300).chain((300..=message.len()).step_by(59)) {
            let whole = keccak256(&message[..length]);
            for part in [1, 135, 136, 137, 300] {
                let mut hash = Keccak256::new();
                message[..length].chunks(part).for_each(|bytes| hash.update(bytes));
                assert_eq!(hash.finalize(), whole, "{length} bytes in parts of {part}");
            }
        }
    }
}
