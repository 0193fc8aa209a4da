//! Keccak and SHA-256 for each kind of CPU, and the choice between them.
//!
//! An algorithm is written once, as a macro or over a trait. The files of a platform define a
//! register type and its operations. The table below lists the types of each platform; on other
//! platforms each of them is [`Absent`], so that callers name all of them everywhere.

mod absent;
pub(crate) mod all;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod four_rounds;
pub(crate) mod permutation;
pub(crate) mod sha256;
pub(crate) mod sha256_all;

#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

#[cfg(target_arch = "x86_64")]
pub use x86_64::avx512;

/// Brings the types of this CPU's platform into scope, and [`Absent`] under the names of the rest.
macro_rules! offered {
    ($($platform:ident $arch:tt { $($file:ident::$way:ident),+ $(,)? })+) => {$($(
        #[cfg(target_arch = $arch)]
        pub(crate) use $platform::$file::$way;
        #[cfg(not(target_arch = $arch))]
        pub(crate) use absent::Absent as $way;
    )+)+};
}

offered! {
    x86_64 "x86_64" {
        avx2::Avx2,
        avx512::Avx512,
        avx512vl::Avx512Vl,
        bmi::Bmi,
        sha_ni::ShaNi,
        sha_ni::ShaNiFour,
        single::Single,
    }
    aarch64 "aarch64" {
        sha2::Sha2,
        sha3::Sha3,
    }
}

/// Whole blocks into one state. A value is the proof that the CPU can do it.
pub(crate) trait Absorb: Copy {
    /// Adds each of `blocks` to the first words of `state` and permutes.
    fn absorb<'a, const RATE: usize>(
        self,
        state: &mut [u64; 25],
        blocks: impl Iterator<Item = &'a [u8; RATE]>,
    );
}

/// Adds each of `blocks` to the first words of `state` and permutes, by the fastest way that this
/// CPU has.
#[inline]
pub(crate) fn absorb<'a, const RATE: usize>(
    state: &mut [u64; 25],
    blocks: impl Iterator<Item = &'a [u8; RATE]>,
) {
    if let Some(single) = Single::new() {
        return single.absorb(state, blocks);
    }
    if let Some(bmi) = Bmi::new() {
        return bmi.absorb(state, blocks);
    }
    if let Some(sha3) = Sha3::for_one() {
        return sha3.absorb(state, blocks);
    }
    all::absorb(state, blocks);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole blocks, each with every byte set.
    fn blocks<const RATE: usize>() -> [[u8; RATE]; 3] {
        core::array::from_fn(|block| core::array::from_fn(|i| (block * RATE + i * 7 + 1) as u8))
    }

    fn absorbs_like<'a, const RATE: usize>(
        expected: &[u64; 25],
        name: &str,
        way: impl Absorb,
        mut state: [u64; 25],
        blocks: impl ExactSizeIterator<Item = &'a [u8; RATE]>,
    ) {
        let count = blocks.len();
        way.absorb(&mut state, blocks);
        assert_eq!(&state, expected, "{count} blocks of {RATE} bytes, {name}");
    }

    fn every_kernel_absorbs_alike<const RATE: usize>() {
        let mut state = core::array::from_fn(|i| (i as u64) << 32 | 7);
        let blocks = blocks::<RATE>();
        for count in 0..=blocks.len() {
            let blocks = || blocks[..count].iter();
            let mut expected = state;
            all::absorb(&mut expected, blocks());
            if let Some(single) = Single::new() {
                absorbs_like(&expected, "avx512", single, state, blocks());
            }
            if let Some(bmi) = Bmi::new() {
                absorbs_like(&expected, "bmi", bmi, state, blocks());
            }
            if let Some(sha3) = Sha3::new() {
                absorbs_like(&expected, "sha3", sha3, state, blocks());
            }
            absorb(&mut state, blocks());
            assert_eq!(state, expected, "{count} blocks of {RATE} bytes");
        }
    }

    #[test]
    fn every_kernel_absorbs_whole_blocks_alike() {
        every_kernel_absorbs_alike::<136>();
        every_kernel_absorbs_alike::<72>();
    }
}
