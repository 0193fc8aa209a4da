//! The Keccak permutation for each kind of register, and the choice between them.
//!
//! The rounds are written once, as the macro [`permutation::permutation`]; each file below gives it
//! a lane type and the operations that it needs.

pub(crate) mod all;
pub(crate) mod permutation;
pub(crate) mod sha256;
pub(crate) mod sha256_all;
pub(crate) mod signatures;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

/// Adds each of `blocks` to the first words of `state` and permutes, by the fastest way that this
/// CPU has.
#[inline]
pub(crate) fn absorb<'a, const RATE: usize>(
    state: &mut [u64; 25],
    blocks: impl Iterator<Item = &'a [u8; RATE]>,
) {
    #[cfg(target_arch = "x86_64")]
    if let Some(single) = x86_64::single::Single::new() {
        return single.absorb(state, blocks);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(bmi) = x86_64::bmi::Bmi::new() {
        return bmi.absorb(state, blocks);
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

    fn every_kernel_absorbs_alike<const RATE: usize>() {
        let mut state = core::array::from_fn(|i| (i as u64) << 32 | 7);
        let blocks = blocks::<RATE>();
        for count in 0..=blocks.len() {
            let blocks = || blocks[..count].iter();
            let mut expected = state;
            all::absorb(&mut expected, blocks());
            #[cfg(target_arch = "x86_64")]
            if let Some(bmi) = x86_64::bmi::Bmi::new() {
                let mut by_bmi = state;
                bmi.absorb(&mut by_bmi, blocks());
                assert_eq!(by_bmi, expected, "{count} blocks of {RATE} bytes, bmi");
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
