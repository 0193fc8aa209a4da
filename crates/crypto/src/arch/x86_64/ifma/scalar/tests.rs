//! Integers modulo n against integers of any size.

use super::*;
use crate::arch::x86_64::ifma::big::{self, Random, hex, lanes, numbers};
use crate::arch::x86_64::ifma::limb::is_below;
use num_bigint::BigUint;

#[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
fn all(lanes: Lanes) {
    let (mut random, n) = (Random(1), hex(big::N));
    let per_r = (BigUint::from(1u8) << 260u32).modpow(&(&n - 2u8), &n);
    for round in 0..4_000 {
        // below 2^257
        let [a, b] = core::array::from_fn(|_| Scalar(random.limbs(lanes, (1 << 49) - 1)));
        let [x, y] = [a, b].map(|scalar| numbers(scalar.0));
        let product = a.mul(b);
        let (found, canonical) = (numbers(product.0), numbers(product.canonical().0));
        let squares = numbers(a.square().0);
        let opposite = numbers(product.canonical().negate().0);
        let below = is_below(a.0, N);
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
            let inverses = numbers(a.to_montgomery().invert(lanes).mul(b).canonical().0);
            for i in 0..x.len() {
                assert_eq!(inverses[i], x[i].modpow(&(&n - 2u8), &n) * &y[i] % &n);
            }
        }
    }
}

#[test]
fn scalars_agree_with_integers_of_any_size() {
    let Some(lanes) = lanes() else { return };
    // SAFETY: `lanes` is the proof that the CPU has the features.
    unsafe { all(lanes) }
}
