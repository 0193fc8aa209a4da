//! The digits, put together again.

use super::*;
use crate::arch::x86_64::ifma::big::{self, Random, hex, lanes};
use crate::arch::x86_64::ifma::limb::{LANES, Lanes};
use num_bigint::BigUint;

/// What the digits of each lane stand for, plus a multiple of n.
fn sums<const K: usize, const WIDTH: usize>(
    digits: &Digits<K>,
    places: usize,
    n: &BigUint,
) -> [BigUint; LANES] {
    let mut sums = [const { BigUint::ZERO }; LANES];
    for place in (0..places).rev() {
        let (index, negative) = digits.digit::<WIDTH>(place);
        for (lane, (sum, index)) in sums.iter_mut().zip(index.numbers()).enumerate() {
            assert!(index < 1 << (WIDTH - 1));
            let size = BigUint::from(2 * index + 1);
            *sum = (&*sum << WIDTH) + n * 4u8;
            *sum = if negative >> lane & 1 == 1 { &*sum - size } else { &*sum + size };
        }
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn all(lanes: Lanes) {
    let (mut random, n, lambda) = (Random(1), hex(big::N), hex(big::LAMBDA));
    for round in 0..4_000 {
        // all numbers below 2^256, at first those near 0 and n
        let mut limbs = random.limbs(lanes, (1 << 48) - 1);
        if round < 2 {
            let near: [u64; LANES] = core::array::from_fn(|lane| lane as u64);
            limbs = lanes.splat_all([0; 5]);
            limbs[0] = lanes.limb(&near);
        }
        let mut number = Scalar(limbs);
        if round == 1 {
            number = number.negate();
        }
        let expected = big::numbers(number.0);
        let whole = sums::<5, 10>(&digits(number), 26, &n);
        let [a, b] = split_digits(number);
        let (a, b) = (sums::<3, 5>(&a, 26, &n), sums::<3, 5>(&b, 26, &n));
        for (lane, expected) in expected.iter().enumerate() {
            assert_eq!(&whole[lane] % &n, expected % &n);
            assert_eq!((&a[lane] + &b[lane] * &lambda) % &n, expected % &n);
        }
    }
}

#[test]
fn digits_stand_for_their_numbers() {
    let Some(lanes) = lanes() else { return };
    // SAFETY: `lanes` is the proof that the CPU has the features.
    unsafe { all(lanes) }
}
