//! The field against integers of any size, with limbs at their bounds.

use super::*;
use crate::lanes::big::{self, Random, for_all_limbs, hex, numbers};
use crate::lanes::secp256k1_prime::K1Prime;
use blockmill_testkit::rounds;
use num_bigint::BigUint;

/// The largest limb 4 of a loose number.
const LOOSE: u64 = (1 << 51) - 1;

/// Asserts that `found` is `expected(lane)` modulo p.
fn equal<L: Limb>(found: &Loose<L, K1Prime>, expected: impl Fn(usize) -> BigUint, what: &str) {
    let p = hex(big::P);
    for (lane, found) in numbers(found.0).into_iter().enumerate() {
        assert_eq!(found % &p, expected(lane) % &p, "{what}, lane {lane}");
    }
}

fn products<L: Limb>(proof: L::Proof) {
    let mut random = Random(1);
    for _ in 0..rounds(4_000) {
        let [a, b, c, d] = core::array::from_fn(|_| {
            Loose::<L, K1Prime>::of(random.limbs(proof, LOOSE)).asserted(LOOSE)
        });
        let [x, y, z, w] = [a, b, c, d].map(|loose| numbers(loose.0));
        equal(&a.mul(&b), |i| &x[i] * &y[i], "a * b");
        equal(&a.square(), |i| &x[i] * &x[i], "a * a");
        let mut sum = Field::splat(proof, [0; 4]);
        sum.set_square_add_mul(&a, &b, &c);
        equal(&sum, |i| &x[i] * &x[i] + &y[i] * &z[i], "a * a + b * c");
        let mut sum = Field(Loose::<L, K1Prime>::of(random.limbs(proof, K1Prime::TIGHT)));
        let before = numbers(sum.limbs());
        sum.mul_add_mul_assign(&b, &c, &d);
        equal(&sum, |i| &before[i] * &y[i] + &z[i] * &w[i], "a * b + c * d");
        let before = numbers(sum.limbs());
        sum.mul_assign(&d);
        equal(&sum, |i| &before[i] * &w[i], "a * d");
    }
}

fn sums<L: Limb>(proof: L::Proof) {
    let (mut random, p) = (Random(2), hex(big::P));
    let half = (&p + 1u8) >> 1;
    // enough to keep differences positive
    let some = &p * 8u8;
    for _ in 0..rounds(4_000) {
        let [a, b, c] = core::array::from_fn(|_| {
            Field(Loose::<L, K1Prime>::of(random.limbs(proof, K1Prime::TIGHT)))
        });
        let [x, y, z] = [a, b, c].map(|field| numbers(field.limbs()));
        let negative = random.next() as Mask;
        let is_set = |i: usize| negative >> i & 1 == 1;
        let minus = |i: usize| if is_set(i) { &some - &x[i] } else { &some + &x[i] };
        equal(&a.add(&b), |i| &x[i] + &y[i], "a + b");
        equal(&a.sub(&b), |i| &some + &x[i] - &y[i], "a - b");
        equal(&a.sub_tight(&b), |i| &some + &x[i] - &y[i], "a - b");
        equal(&a.sub_both(&b, &c), |i| &some + &x[i] - &y[i] - &z[i], "a - b - c");
        let twice = |i: usize| &some + &x[i] + &y[i] - &z[i] - &z[i];
        equal(&a.add_sub_twice(&b, &c), twice, "a + b - 2 * c");
        equal(&a.signed_sub(negative, &b), |i| minus(i) - &y[i], "±a - b");
        equal(&a.negated(negative), minus, "±a");
        equal(&a.three_halves(), |i| &x[i] * &half * 3u8, "3 / 2 * a");
        equal(&a.replaced(negative, &b), |i| if is_set(i) { &y[i] } else { &x[i] }.clone(), "a, b");
        for (lane, (found, x)) in numbers(a.canonical().limbs()).iter().zip(&x).enumerate() {
            assert_eq!(*found, x % &p);
            let is_zero = a.is_zero() >> lane & 1 == 1;
            assert_eq!(is_zero, *found == BigUint::ZERO);
        }
    }
}

/// Each with every kind of numbers near p and its multiples.
fn uniqueness<L: Limb>(proof: L::Proof) {
    let p = hex(big::P);
    for near in 0..5u64 {
        for limb0 in [K1Prime::P[0] - near, K1Prime::P[0] + near] {
            let [_, l1, l2, l3, l4] = K1Prime::P;
            let number = Field(Loose::<L, K1Prime>::of(splat_all(proof, [limb0, l1, l2, l3, l4])));
            let expected = numbers(number.limbs())[0].clone() % &p;
            assert_eq!(numbers(number.canonical().limbs())[0], expected);
            assert_eq!(number.is_zero() != 0, limb0 == K1Prime::P[0]);
            assert_eq!(number.canonical().is_odd() != 0, expected.bit(0));
        }
    }
    // 2^256, as a tight number, and the largest
    for low in [0, LOW] {
        let number =
            Field(Loose::<L, K1Prime>::of(splat_all(proof, [low, low, low, low, K1Prime::TIGHT])));
        let expected = numbers(number.limbs())[0].clone() % &p;
        assert_eq!(numbers(number.canonical().limbs())[0], expected);
        assert_eq!(numbers(number.below_2_256().limbs())[0], expected);
    }
}

fn powers<L: Limb>(proof: L::Proof) {
    let (mut random, p) = (Random(3), hex(big::P));
    for _ in 0..20 {
        let a = Field(Loose::<L, K1Prime>::of(random.limbs(proof, K1Prime::TIGHT)));
        let x = numbers(a.limbs());
        equal(&a.invert(), |i| x[i].modpow(&(&p - 2u8), &p), "1 / a");
        equal(&a.sqrt(), |i| x[i].modpow(&((&p + 1u8) >> 2), &p), "the root of a");
    }
}

fn all<L: Limb>(proof: L::Proof) {
    products::<L>(proof);
    sums::<L>(proof);
    uniqueness::<L>(proof);
    powers::<L>(proof);
}

#[test]
fn the_field_agrees_with_integers_of_any_size() {
    for_all_limbs!(all);
}

#[test]
fn biases_are_multiples_of_p_with_large_limbs() {
    for (times, bias) in [(1u64, K1Prime::ONCE), (2, K1Prime::TWICE)] {
        let number = bias.iter().rev().fold(BigUint::ZERO, |sum, limb| (sum << 52) + *limb);
        assert_eq!(number % hex(big::P), BigUint::ZERO);
        assert!(bias[..4].iter().all(|limb| *limb >= times * LOW));
        assert!(bias[4] >= times * (K1Prime::TIGHT));
    }
}
