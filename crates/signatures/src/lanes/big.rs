//! Integers of any size for the tests of the lanes.

use alloc::vec::Vec;
use num_bigint::BigUint;

use super::limb::{LANES, LOW, Limb};

pub(crate) const P: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
pub(crate) const N: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
pub(crate) const LAMBDA: &str = "5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72";

pub(crate) fn hex(digits: &str) -> BigUint {
    BigUint::parse_bytes(digits.as_bytes(), 16).unwrap()
}

/// Calls a generic test for limbs of integers and for every kind of limb that the CPU has.
macro_rules! for_all_limbs {
    ($test:ident) => {
        $test::<crate::lanes::integers::Integers>(());
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = crate::lanes::big::proof::<crate::arch::ifma::Registers>() {
            $test::<crate::arch::ifma::Registers>(proof);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = crate::lanes::big::proof::<crate::arch::fma_lanes::Registers>() {
            $test::<crate::arch::fma_lanes::Registers>(proof);
        }
    };
}
pub(super) use for_all_limbs;

/// The proof that the CPU has these limbs, or `None` and a line that says so.
#[cfg(target_arch = "x86_64")]
pub(super) fn proof<L: Limb>() -> Option<L::Proof> {
    let proof = L::proof();
    if proof.is_none() {
        std::println!("not on this CPU: {}", core::any::type_name::<L>());
    }
    proof
}

/// Repeatable numbers (xorshift64*).
pub(crate) struct Random(pub(super) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number up to `most`, often near 0 or near `most`.
    fn up_to(&mut self, most: u64) -> u64 {
        let any = self.next() >> 4;
        match any % 8 {
            0 | 1 => 0,
            2 | 3 => most,
            4 => most - (any >> 8) % 0x2_0000.min(most),
            5 => (any >> 8) % 3,
            _ => (any >> 3) % (most + 1),
        }
    }

    /// Limbs below 2^52, the last up to `most`.
    pub(crate) fn limbs<L: Limb>(&mut self, proof: L::Proof, most: u64) -> [L; 5] {
        let mut limb = |most| L::load(proof, &core::array::from_fn(|_| self.up_to(most)));
        [limb(LOW), limb(LOW), limb(LOW), limb(LOW), limb(most)]
    }
}

/// The number of each lane.
pub(crate) fn numbers<L: Limb, const K: usize>(limbs: [L; K]) -> Vec<BigUint> {
    let rows = limbs.map(L::numbers);
    let number = |lane| {
        rows.iter().rev().fold(BigUint::ZERO, |sum, row| (sum << 52) + BigUint::from(row[lane]))
    };
    (0..LANES).map(number).collect()
}
