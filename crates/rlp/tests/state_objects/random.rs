//! Random bytes, the same ones for a seed.

/// SplitMix64: enough for test data.
pub struct Random(pub u64);

impl Random {
    /// Any number; small ones as often as large ones.
    pub fn number(&mut self) -> u64 {
        let shift = self.next() % 64;
        self.next() >> shift
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> usize {
        (self.next() % limit) as usize
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }

    /// Up to `limit` bytes, often none, one or a length at which prefixes change.
    pub fn bytes(&mut self, limit: u64) -> Vec<u8> {
        let len = [0, 1, 55, 56, 255, 256, self.below(limit), self.below(limit)][self.below(8)];
        (0..len.min(limit as usize)).map(|_| self.next() as u8).collect()
    }
}
