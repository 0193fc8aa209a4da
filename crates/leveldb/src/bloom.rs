//! Bloom filters of a table, as LevelDB asks them before it reads a block: one for the keys
//! of each 2 KiB of blocks, 10 bits a key.

const BITS_A_KEY: usize = 10;
/// Bits set by each key: ln 2 times the bits it has.
const PROBES: u8 = 6;
/// A filter covers the blocks that begin in the same 2^11 bytes.
const RANGE_BITS: u8 = 11;

/// Collects the filters of a table.
#[derive(Debug, Default)]
pub(crate) struct FilterWriter {
    filters: Vec<u8>,
    starts: Vec<u32>,
    /// Hashes of the keys since the last filter.
    hashes: Vec<u32>,
}

impl FilterWriter {
    pub(crate) fn add(&mut self, key: &[u8]) {
        self.hashes.push(hash(key));
    }

    /// Sets the offset of the next block.
    pub(crate) fn block_at(&mut self, offset: u64) {
        while (self.starts.len() as u64) < offset >> RANGE_BITS {
            self.end_filter();
        }
    }

    /// Writes the filter of the keys since the last one; ranges in which no block begins have an
    /// empty one.
    fn end_filter(&mut self) {
        self.starts.push(self.filters.len() as u32);
        if self.hashes.is_empty() {
            return;
        }
        let bytes = (self.hashes.len() * BITS_A_KEY).max(64).div_ceil(8);
        let (start, bits) = (self.filters.len(), bytes as u32 * 8);
        self.filters.resize(start + bytes, 0);
        let filter = &mut self.filters[start..];
        for hash in self.hashes.drain(..) {
            let (mut at, step) = (hash, hash.rotate_right(17));
            for _ in 0..PROBES {
                let bit = (at % bits) as usize;
                filter[bit / 8] |= 1 << (bit % 8);
                at = at.wrapping_add(step);
            }
        }
        self.filters.push(PROBES);
    }

    /// Hands out the block of all filters.
    pub(crate) fn finish(&mut self) -> &[u8] {
        if !self.hashes.is_empty() {
            self.end_filter();
        }
        let end = self.filters.len() as u32;
        for start in &self.starts {
            self.filters.extend_from_slice(&start.to_le_bytes());
        }
        self.filters.extend_from_slice(&end.to_le_bytes());
        self.filters.push(RANGE_BITS);
        &self.filters
    }

    /// Begins the next table.
    pub(crate) fn clear(&mut self) {
        self.filters.clear();
        self.starts.clear();
        self.hashes.clear();
    }
}

/// LevelDB's hash of a key: like Murmur, four bytes at a time.
fn hash(key: &[u8]) -> u32 {
    const FACTOR: u32 = 0xc6a4_a793;
    let mut hash = 0xbc9f_1d34 ^ (key.len() as u32).wrapping_mul(FACTOR);
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 16;
    }
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        hash = hash.wrapping_add(u32::from_le_bytes(word)).wrapping_mul(FACTOR);
        hash ^= hash >> 24;
    }
    hash
}
