//! A Bloom filter in memory that excludes most absent hash prefixes.
//!
//! All bits of a key are in one word (Putze, Sanders, Singler 2007): one cache miss for each query.
//! With 12 bits for each key, about one absent key in forty passes it.

/// Bits for each key.
const BITS: usize = 12;
/// The low bits of a prefix that index entries replace by a place, and which do not count here.
const PLACE_BITS: u32 = 24;

/// A set of hash prefixes that may answer yes by mistake, never no.
pub(crate) struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// An empty filter with room for `keys`.
    pub fn with_room(keys: usize) -> Filter {
        Filter { words: vec![0; (keys * BITS).div_ceil(64).max(1)] }
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Takes in a key.
    pub fn insert(&mut self, prefix: u64) {
        let (word, bits) = self.position(prefix);
        self.words[word] |= bits;
    }

    /// False when the key was never taken in.
    pub fn may_hold(&self, prefix: u64) -> bool {
        let (word, bits) = self.position(prefix);
        self.words[word] & bits == bits
    }

    /// The word of a key, and its four bits there.
    fn position(&self, prefix: u64) -> (usize, u64) {
        let key = prefix >> PLACE_BITS << PLACE_BITS;
        // the high bits of a hash are evenly spread as they are
        let word = (u128::from(key) * self.words.len() as u128) >> 64;
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bit = |shift: u32| 1u64 << (mixed >> shift & 63);
        (word as usize, bit(58) | bit(52) | bit(46) | bit(40))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The finaliser of splitmix64: numbers as evenly spread as hashes are.
    fn spread(n: u64) -> u64 {
        let z = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[test]
    fn every_key_is_found_and_few_others_are() {
        let mut filter = Filter::with_room(65_536);
        (1..=65_536).for_each(|n| filter.insert(spread(n)));
        assert!((1..=65_536).all(|n| filter.may_hold(spread(n))));
        let mistakes = (100_000..200_000).filter(|n| filter.may_hold(spread(*n))).count();
        assert!((100..5_000).contains(&mistakes), "{mistakes} of 100,000");
        filter.clear();
        assert!((1..=65_536).all(|n| !filter.may_hold(spread(n))));
    }

    #[test]
    fn the_bits_that_places_replace_do_not_count() {
        let mut filter = Filter::with_room(1);
        filter.insert(0xabcd_ef01_2345_6789);
        assert!(filter.may_hold(0xabcd_ef01_2300_0000));
        assert!(Filter::with_room(0).may_hold(1) == Filter::with_room(0).may_hold(2));
    }
}
