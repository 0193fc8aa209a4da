//! Says of most absent keys that they are absent, from memory.
//!
//! The split-block Bloom filter of Apache Parquet: a key sets one bit in each of the eight words of
//! one block of 32 bytes, so a question costs one cache miss. With ten bits for each key about one
//! absent key in eighty passes.

use blockmill_platform::memory::prefetch;

/// Bits for each key.
const BITS: usize = 10;
/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 32;
/// Odd numbers that spread a hash differently for each word (from the Parquet specification).
const SPREAD: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// One block, within one cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Block([u32; 8]);

/// A set of hashes that may answer yes by mistake, never no.
pub(crate) struct Bloom {
    blocks: Vec<Block>,
}

impl Bloom {
    /// Blocks of a filter for `keys`.
    pub fn blocks_for(keys: u64) -> u64 {
        (keys * BITS as u64).div_ceil(BLOCK_BYTES as u64 * 8).max(1)
    }

    /// An empty filter with room for `keys`.
    pub fn with_room(keys: u64) -> Bloom {
        Bloom { blocks: vec![Block::default(); Self::blocks_for(keys) as usize] }
    }

    /// A filter from its bytes; a rest shorter than a block does not count.
    pub fn from_bytes(bytes: &[u8]) -> Bloom {
        let blocks = bytes.chunks_exact(BLOCK_BYTES).map(|bytes| {
            let mut block = Block::default();
            let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
            block.0.iter_mut().zip(words).for_each(|(to, word)| *to = word);
            block
        });
        Bloom { blocks: blocks.collect() }
    }

    /// The bytes of a filter, block by block.
    pub fn bytes(&self) -> impl Iterator<Item = [u8; BLOCK_BYTES]> {
        self.blocks.iter().map(|block| {
            let mut bytes = [0; BLOCK_BYTES];
            let to = bytes.as_chunks_mut().0.iter_mut();
            to.zip(block.0).for_each(|(to, word)| *to = word.to_le_bytes());
            bytes
        })
    }

    /// Bytes in memory.
    pub fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
    }

    /// Blocks of this filter.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    #[inline]
    fn position(&self, hash: u64) -> (usize, [u32; 8]) {
        let block = ((hash >> 32) * self.blocks.len() as u64) >> 32;
        (block as usize, SPREAD.map(|odd| 1 << ((hash as u32).wrapping_mul(odd) >> 27)))
    }

    /// Takes in a hash.
    pub fn insert(&mut self, hash: u64) {
        let (block, bits) = self.position(hash);
        self.blocks[block].0.iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
    }

    /// False when the hash was never taken in.
    #[inline]
    pub fn may_hold(&self, hash: u64) -> bool {
        let (block, bits) = self.position(hash);
        let missing =
            self.blocks[block].0.iter().zip(bits).fold(0, |m, (word, bit)| m | (!word & bit));
        missing == 0
    }

    /// Prefetches what [`Bloom::may_hold`] will read.
    #[inline]
    pub fn touch(&self, hash: u64) {
        prefetch(&self.blocks[self.position(hash).0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_is_found_and_few_others_are() {
        let spread = |n: u64| {
            let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ n >> 32
        };
        let mut bloom = Bloom::with_room(50_000);
        (0..50_000).for_each(|n| bloom.insert(spread(n)));
        let bytes: Vec<u8> = bloom.bytes().flatten().collect();
        let again = Bloom::from_bytes(&bytes);
        assert_eq!(again.blocks(), Bloom::blocks_for(50_000));
        assert!((0..50_000).all(|n| again.may_hold(spread(n))));
        let mistakes = (50_000..150_000).filter(|n| again.may_hold(spread(*n))).count();
        assert!((200..2_000).contains(&mistakes), "{mistakes} of 100,000");
    }
}
