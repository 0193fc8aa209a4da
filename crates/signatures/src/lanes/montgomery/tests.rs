//! Integers modulo n against integers of any size.

use super::*;
use crate::lanes::big::{self, Random, for_all_limbs, hex, numbers};
use crate::lanes::limb::is_below;
use crate::lanes::secp256k1::K1Order;
use blockmill_testkit::rounds;
use num_bigint::BigUint;

fn all<L: Limb>(proof: L::Proof) {
    let (mut random, n) = (Random(1), hex(big::N));
    let per_r = (BigUint::from(1u8) << 260u32).modpow(&(&n - 2u8), &n);
    for round in 0..rounds(4_000) {
        // below 2^257
        let [a, b] = core::array::from_fn(|_| {
            Montgomery::<L, K1Order>::new(random.limbs(proof, (1 << 49) - 1))
        });
        let [x, y] = [a, b].map(|scalar| numbers(scalar.0));
        let product = a.mul(&b);
        let (found, canonical) = (numbers(product.0), numbers(product.canonical().0));
        let squares = numbers(a.squared(1).0);
        let opposite = numbers(product.canonical().negate().0);
        let below = is_below(a.0, K1Order::LIMBS);
        for i in 0..x.len() {
            let expected = &x[i] * &y[i] * &per_r % &n;
            assert!(found[i].bits() <= 257);
            assert_eq!(&found[i] % &n, expected);
            assert_eq!(canonical[i], expected);
            assert_eq!(&squares[i] % &n, &x[i] * &x[i] * &per_r % &n);
            assert_eq!(&opposite[i] + &expected, n);
            assert_eq!(below >> i & 1 == 1, x[i] < n);
        }
        if round % 200 == 0 {
            let inverses = numbers(a.to_montgomery().invert().mul(&b).canonical().0);
            for i in 0..x.len() {
                assert_eq!(inverses[i], x[i].modpow(&(&n - 2u8), &n) * &y[i] % &n);
            }
        }
    }
}

#[test]
fn scalars_agree_with_integers_of_any_size() {
    for_all_limbs!(all);
}
