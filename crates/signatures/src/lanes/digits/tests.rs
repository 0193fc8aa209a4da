//! The digits, put together again.

use super::*;
use crate::lanes::big::{self, Random, for_all_limbs, hex};
use crate::lanes::glv::split_digits;
use crate::lanes::limb::{LANES, splat_all};
use crate::lanes::secp256k1::K1Order;
use blockmill_testkit::rounds;
use num_bigint::BigUint;

/// The number that the digits of each lane represent, plus a multiple of n.
fn sums<L: Limb, const K: usize, const WIDTH: usize>(
    digits: &Digits<L, K>,
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

fn all<L: Limb>(proof: L::Proof) {
    let (mut random, n, lambda) = (Random(1), hex(big::N), hex(big::LAMBDA));
    for round in 0..rounds(4_000) {
        // all numbers below 2^256, at first those near 0 and n
        let mut limbs = random.limbs::<L>(proof, (1 << 48) - 1);
        if round < 2 {
            let near: [u64; LANES] = core::array::from_fn(|lane| lane as u64);
            limbs = splat_all(proof, [0; 5]);
            limbs[0] = L::load(proof, &near);
        }
        let mut number = Montgomery::<L, K1Order>::new(limbs);
        if round == 1 {
            number = number.negate();
        }
        let expected = big::numbers(number.0);
        let whole = sums::<L, 5, 10>(&digits::<260, _, _>(&number), 26, &n);
        let [a, b] = split_digits(&number);
        let (a, b) = (sums::<L, 3, 5>(&a, 26, &n), sums::<L, 3, 5>(&b, 26, &n));
        for (lane, expected) in expected.iter().enumerate() {
            assert_eq!(&whole[lane] % &n, expected % &n);
            assert_eq!((&a[lane] + &b[lane] * &lambda) % &n, expected % &n);
        }
    }
}

#[test]
fn digits_stand_for_their_numbers() {
    for_all_limbs!(all);
}
