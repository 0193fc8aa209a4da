//! Reproducible pseudo-random numbers (SplitMix64).

/// A sequence of numbers that its seed decides.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed; any seed will do.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A new sequence in each run. The seed is printed; `BLOCKMILL_TEST_SEED` repeats it.
    pub fn new_each_run(test: &str) -> Self {
        let given = std::env::var("BLOCKMILL_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
        let seed = given.unwrap_or_else(now);
        println!("{test}: BLOCKMILL_TEST_SEED={seed}");
        Self::new(seed)
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of 0 to 64 bits; every length is equally likely.
    pub fn any_length(&mut self) -> u64 {
        let bits = self.below(65_u32);
        self.next_u64().checked_shr(64 - bits).unwrap_or(0)
    }

    /// A number below `end`, which is not 0.
    #[track_caller]
    pub fn below<N: Below>(&mut self, end: N) -> N {
        end.below(self.next_u64())
    }

    /// True half of the time.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// One of `values`.
    #[track_caller]
    pub fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// Fills `out` with any bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for part in out.chunks_mut(8) {
            part.copy_from_slice(&self.next_u64().to_le_bytes()[..part.len()]);
        }
    }

    /// `length` bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }

    /// `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// Turns one bit of `bytes` over.
    #[track_caller]
    pub fn flip(&mut self, bytes: &mut [u8]) {
        let bit = self.below(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
    }

    /// Brings `items` into any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// Whole numbers that [`Random::below`] gives.
pub trait Below {
    /// `number` brought below `self`.
    fn below(self, number: u64) -> Self;
}

macro_rules! below {
    ($($number:ty)*) => {$(
        impl Below for $number {
            #[track_caller]
            fn below(self, number: u64) -> Self {
                assert!(self > 0, "nothing is below {self}");
                (number % self as u64) as Self
            }
        }
    )*};
}

below!(u8 u16 u32 u64 usize i32 i64);
