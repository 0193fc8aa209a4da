//! The inner loop of ethash: mixes 256 random rows of the cache into each dataset item.
//!
//! The row number of each step depends on the step before, so a single item waits for memory most
//! of the time. Items are independent: they advance in lockstep, and while one waits for its row,
//! others are computed. The code is written once and compiled for the registers of each vector
//! width (one item is one register of AVX-512).
#![allow(unsafe_code)]

use blockmill_platform::memory::prefetch;

/// Rows that are mixed into one dataset item (ethash: `DATASET_PARENTS`).
pub const PARENTS: u32 = 256;
/// Items that advance together: enough to cover the latency of the memory.
const LOCKSTEP: usize = 64;
/// The prime of the FNV hash that ethash mixes with.
pub const FNV_PRIME: u32 = 0x0100_0193;

/// A way to mix many items at once. A value is the proof that the CPU can do it.
///
/// ```
/// use blockmill_hashes::EthashMix;
///
/// let rows = [[3; 64]; 7];
/// let mixed = |mix: EthashMix| {
///     let mut items = [[1; 64], [2; 64]];
///     mix.mix_parents(&rows, &[0, 1], &mut items);
///     items
/// };
/// let expected = mixed(EthashMix::detect());
/// assert!(EthashMix::all_available().into_iter().all(|mix| mixed(mix) == expected));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EthashMix(Width);

#[derive(Clone, Copy, Debug)]
enum Width {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl EthashMix {
    /// The widest that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            return EthashMix(Width::Avx512);
        } else if is_x86_feature_detected!("avx2") {
            return EthashMix(Width::Avx2);
        }
        EthashMix(Width::Portable)
    }

    /// All widths of this CPU, the narrowest first.
    #[must_use]
    pub fn all_available() -> Vec<Self> {
        let widths = [
            Some(Width::Portable),
            #[cfg(target_arch = "x86_64")]
            is_x86_feature_detected!("avx2").then_some(Width::Avx2),
            #[cfg(target_arch = "x86_64")]
            is_x86_feature_detected!("avx512f").then_some(Width::Avx512),
        ];
        widths.into_iter().flatten().map(EthashMix).collect()
    }

    /// `portable`, `avx2` or `avx512`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.0 {
            Width::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => "avx512",
        }
    }

    /// Mixes 256 rows of `rows` into each item (ethash: the loop of `calc_dataset_item`). Item `i`
    /// is `mixes[i]`, 16 words in little-endian order; its number in the dataset is `numbers[i]`.
    ///
    /// # Panics
    ///
    /// Panics if the slices differ in length, or if there are no rows or more than 2^32 - 1.
    pub fn mix_parents(&self, rows: &[[u8; 64]], numbers: &[u32], mixes: &mut [[u8; 64]]) {
        assert_eq!(numbers.len(), mixes.len(), "one number for each item");
        let modulus = Modulus::new(rows.len());
        match self.0 {
            Width::Portable => mix(rows, modulus, numbers, mixes),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value is created only if the CPU has AVX2.
            Width::Avx2 => unsafe { mix_avx2(rows, modulus, numbers, mixes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value is created only if the CPU has AVX-512F.
            Width::Avx512 => unsafe { mix_avx512(rows, modulus, numbers, mixes) },
        }
    }
}

/// The remainder by a fixed divisor below 2^32 without a division (Lemire, Kaser, Kurz: "Faster
/// remainder by direct computation", 2019).
#[derive(Clone, Copy)]
struct Modulus {
    divisor: u64,
    /// 2^64 / divisor, rounded up (0 means 2^64, for the divisor 1).
    reciprocal: u64,
}

impl Modulus {
    fn new(divisor: usize) -> Self {
        assert!(
            divisor > 0 && u32::try_from(divisor).is_ok(),
            "the rows have numbers of 32 bits: {divisor}"
        );
        let divisor = divisor as u64;
        Modulus { divisor, reciprocal: (u64::MAX / divisor).wrapping_add(1) }
    }

    /// `value % divisor`.
    #[inline(always)]
    fn remainder(self, value: u32) -> usize {
        let fraction = self.reciprocal.wrapping_mul(u64::from(value));
        ((u128::from(fraction) * u128::from(self.divisor)) >> 64) as usize
    }
}

/// The FNV step of ethash.
#[inline(always)]
fn fnv(a: u32, b: u32) -> u32 {
    a.wrapping_mul(FNV_PRIME) ^ b
}

#[inline(always)]
fn mix(rows: &[[u8; 64]], modulus: Modulus, numbers: &[u32], mixes: &mut [[u8; 64]]) {
    // groups of nearly one size: a small last one would wait for the memory
    let groups = numbers.len().div_ceil(LOCKSTEP).max(1);
    let size = numbers.len().div_ceil(groups).max(1);
    for (numbers, mixes) in numbers.chunks(size).zip(mixes.chunks_mut(size)) {
        mix_in_lockstep(rows, modulus, numbers, mixes);
    }
}

/// Mixes at most `LOCKSTEP` items. The row of the next step is asked for as soon as its number is
/// known, and used when all other items had their turn.
#[inline(always)]
fn mix_in_lockstep(rows: &[[u8; 64]], modulus: Modulus, numbers: &[u32], mixes: &mut [[u8; 64]]) {
    let parent_of = |step: u32, number: u32, mix: &[u8; 64]| {
        let word = u32::from_le_bytes(mix.as_chunks::<4>().0[step as usize % 16]);
        let parent = modulus.remainder(fnv(number ^ step, word));
        // SAFETY: a remainder by the number of rows is below it.
        let row = unsafe { rows.get_unchecked(parent) };
        prefetch(row);
        row
    };
    let mut parents = [&rows[0]; LOCKSTEP];
    for ((number, mix), parent) in numbers.iter().zip(mixes.iter()).zip(&mut parents) {
        *parent = parent_of(0, *number, mix);
    }
    for step in 1..=PARENTS {
        for ((number, mix), parent) in numbers.iter().zip(mixes.iter_mut()).zip(&mut parents) {
            let words = mix.as_chunks_mut::<4>().0;
            for (word, other) in words.iter_mut().zip(parent.as_chunks::<4>().0) {
                *word = fnv(u32::from_le_bytes(*word), u32::from_le_bytes(*other)).to_le_bytes();
            }
            // the parent after the last step is asked for too; leaving it out would cost a branch
            *parent = parent_of(step, *number, mix);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mix_avx2(rows: &[[u8; 64]], modulus: Modulus, numbers: &[u32], mixes: &mut [[u8; 64]]) {
    mix(rows, modulus, numbers, mixes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn mix_avx512(rows: &[[u8; 64]], modulus: Modulus, numbers: &[u32], mixes: &mut [[u8; 64]]) {
    mix(rows, modulus, numbers, mixes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainder_equals_the_division() {
        for divisor in [1, 2, 3, 16, 61, 262_139, 262_144, (1 << 31) - 1, u32::MAX as usize] {
            let modulus = Modulus::new(divisor);
            for step in 0..70_000u32 {
                let value = step.wrapping_mul(61_357);
                assert_eq!(
                    modulus.remainder(value),
                    value as usize % divisor,
                    "{value} % {divisor}"
                );
            }
            assert_eq!(modulus.remainder(u32::MAX), u32::MAX as usize % divisor);
        }
    }

    fn words(bytes: &[u8; 64]) -> [u32; 16] {
        std::array::from_fn(|i| u32::from_le_bytes(bytes.as_chunks::<4>().0[i]))
    }

    /// The loop as the specification writes it.
    fn naive(rows: &[[u8; 64]], number: u32, mix: &[u8; 64]) -> [u8; 64] {
        let mut mix = words(mix);
        for j in 0..256 {
            let parent = fnv(number ^ j, mix[j as usize % 16]) as usize % rows.len();
            let row = words(&rows[parent]);
            for i in 0..16 {
                mix[i] = fnv(mix[i], row[i]);
            }
        }
        let mut out = [0; 64];
        mix.iter().zip(out.as_chunks_mut().0).for_each(|(word, out)| *out = word.to_le_bytes());
        out
    }

    #[test]
    fn every_width_mixes_like_the_specification() {
        let mut row = [1; 64];
        let mut next = || {
            row = crate::keccak512(&row);
            row
        };
        let rows: Vec<[u8; 64]> = (0..509).map(|_| next()).collect();
        for count in [0, 1, 2, 3, 16, 63, 64, 65, 130] {
            let mixes: Vec<[u8; 64]> = (0..count).map(|_| next()).collect();
            let numbers: Vec<u32> = (0..count).map(|i| i * 8_388_593).collect();
            let expected: Vec<_> =
                numbers.iter().zip(&mixes).map(|(n, mix)| naive(&rows, *n, mix)).collect();
            for kernel in EthashMix::all_available() {
                let mut out = mixes.clone();
                kernel.mix_parents(&rows, &numbers, &mut out);
                assert_eq!(out, expected, "{} items, {}", count, kernel.name());
            }
        }
    }
}
