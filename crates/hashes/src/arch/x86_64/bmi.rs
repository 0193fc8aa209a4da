//! The permutation on 64-bit integers with `andn` and `rorx` (BMI1 and BMI2).
//!
//! Chi needs an instruction less for each lane and the rotations no moves: 366 ns against 523 ns a
//! permutation on Cascade Lake.

use crate::arch::Absorb;
use crate::arch::all::{add_block, chi, rotate, theta, xor_constant, xor3};
use crate::arch::permutation::permute;

cpufeatures::new!(cpu, "bmi1", "bmi2");

/// Proof that the CPU has BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bmi(());

impl Bmi {
    /// The proof, or `None` on a CPU without the features.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        cpu::get().then_some(Bmi(()))
    }
}

impl Absorb for Bmi {
    #[inline]
    fn absorb<'a, const RATE: usize>(
        self,
        state: &mut [u64; 25],
        blocks: impl Iterator<Item = &'a [u8; RATE]>,
    ) {
        // SAFETY: `self` is the proof that the CPU has the features.
        unsafe { absorb(state, blocks) }
    }
}

#[target_feature(enable = "bmi1,bmi2")]
fn absorb<'a, const RATE: usize>(
    state: &mut [u64; 25],
    blocks: impl Iterator<Item = &'a [u8; RATE]>,
) {
    let mut lanes = *state;
    for block in blocks {
        add_block(&mut lanes, block);
        permute!(lanes);
    }
    *state = lanes;
}
