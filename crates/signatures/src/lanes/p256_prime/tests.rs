//! The field against integers of any size, with limbs at their bounds.

use super::*;
use crate::lanes::big::{Random, for_all_limbs, hex, numbers};
use crate::lanes::field::Loose;
use crate::lanes::limb::{Mask, splat_all};
use crate::lanes::p256;
use alloc::vec::Vec;
use blockmill_testkit::rounds;
use num_bigint::BigUint;

/// The largest limb 4 of a loose number.
const LOOSE: u64 = (1 << 51) - 1;

fn prime() -> BigUint {
    hex("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
}

/// `1 / R`
fn per_r() -> BigUint {
    (BigUint::from(1u8) << 260u32).modpow(&(prime() - 2u8), &prime())
}

/// Asserts that `found` is `expected(lane)` modulo p.
fn equal<L: Limb>(found: &Loose<L, R1Prime>, expected: impl Fn(usize) -> BigUint, what: &str) {
    let p = prime();
    for (lane, found) in numbers(found.limbs()).into_iter().enumerate() {
        assert_eq!(found % &p, expected(lane) % &p, "{what}, lane {lane}");
    }
}

fn products<L: Limb>(proof: L::Proof) {
    let (mut random, per_r) = (Random(1), per_r());
    for _ in 0..rounds(4_000) {
        let [a, b, c, d] = core::array::from_fn(|_| {
            Loose::<L, R1Prime>::of(random.limbs(proof, LOOSE)).asserted(LOOSE)
        });
        let [x, y, z, w] = [a, b, c, d].map(|loose| numbers(loose.limbs()));
        equal(&a.mul(&b), |i| &x[i] * &y[i] * &per_r, "a * b");
        equal(&a.square(), |i| &x[i] * &x[i] * &per_r, "a * a");
        let mut sum = Field::splat(proof, [0; 4]);
        sum.set_square_add_mul(&a, &b, &c);
        equal(&sum, |i| (&x[i] * &x[i] + &y[i] * &z[i]) * &per_r, "a * a + b * c");
        let mut sum = Field::of(random.limbs(proof, R1Prime::TIGHT));
        let before = numbers(sum.limbs());
        sum.mul_add_mul_assign(&b, &c, &d);
        equal(&sum, |i| (&before[i] * &y[i] + &z[i] * &w[i]) * &per_r, "a * b + c * d");
    }
}

fn sums<L: Limb>(proof: L::Proof) {
    let (mut random, p) = (Random(2), prime());
    let half = (&p + 1u8) >> 1;
    // enough to keep differences positive
    let some = &p * 8u8;
    for _ in 0..rounds(4_000) {
        let [a, b, c] =
            core::array::from_fn(|_| Field::<L, R1Prime>::of(random.limbs(proof, R1Prime::TIGHT)));
        let [x, y, z] = [a, b, c].map(|field| numbers(field.limbs()));
        let negative = random.next() as Mask;
        let is_set = |i: usize| negative >> i & 1 == 1;
        let minus = |i: usize| if is_set(i) { &some - &x[i] } else { &some + &x[i] };
        equal(&a.add(&b), |i| &x[i] + &y[i], "a + b");
        equal(&p256::sum(&a, &b), |i| &x[i] + &y[i], "a + b");
        equal(&a.sub(&b), |i| &some + &x[i] - &y[i], "a - b");
        equal(&a.sub_tight(&b), |i| &some + &x[i] - &y[i], "a - b");
        equal(&a.sub_both(&b, &c), |i| &some + &x[i] - &y[i] - &z[i], "a - b - c");
        let twice = |i: usize| &some + &x[i] + &y[i] - &z[i] - &z[i];
        equal(&a.add_sub_twice(&b, &c), twice, "a + b - 2 * c");
        equal(&a.signed_sub(negative, &b), |i| minus(i) - &y[i], "±a - b");
        equal(&a.negated(negative), minus, "±a");
        equal(&a.three_halves(), |i| &x[i] * &half * 3u8, "3 / 2 * a");
    }
}

/// Numbers near p and its multiples, 2^256 and the largest of all.
fn uniqueness<L: Limb>(proof: L::Proof) {
    let (p, per_r, mut random) = (prime(), per_r(), Random(3));
    let mut cases: Vec<[u64; 5]> = Vec::new();
    for near in 0..5u64 {
        let [_, l1, l2, l3, l4] = P;
        // p - near and p + near, of which the second carries
        cases.push([P[0] - near, l1, l2, l3, l4]);
        cases.push([near, l1 + 1, l2, l3, l4]);
        cases.push([near, 0, 0, 0, 0]);
    }
    for low in [0, LOW] {
        for top in [TOP, TOP + 1, R1Prime::TIGHT] {
            cases.push([low, low, low, low, top]);
        }
    }
    let mut all: Vec<[L; 5]> = cases.into_iter().map(|case| splat_all(proof, case)).collect();
    all.extend((0..2_000).map(|_| random.limbs(proof, R1Prime::TIGHT)));
    for limbs in all {
        let number = Field::<L, R1Prime>::of(limbs);
        let unique = numbers(number.canonical().limbs());
        let below = numbers(number.below_2_256().limbs());
        let integers = numbers(number.integers());
        let zeros = number.is_zero();
        for (lane, x) in numbers(limbs).into_iter().enumerate() {
            assert_eq!(unique[lane], &x % &p);
            assert_eq!(&below[lane] % &p, &x % &p);
            assert!(below[lane].bits() <= 256);
            assert_eq!(integers[lane], &x * &per_r % &p);
            assert_eq!(zeros >> lane & 1 == 1, &x % &p == BigUint::ZERO);
        }
    }
}

fn powers<L: Limb>(proof: L::Proof) {
    let (mut random, p, per_r) = (Random(4), prime(), per_r());
    let r = BigUint::from(1u8) << 260u32;
    for _ in 0..20 {
        let limbs = random.limbs(proof, TOP);
        let a = Field::<L, R1Prime>::of_integers(limbs);
        let x = numbers(limbs);
        equal(&a, |i| &x[i] * &r, "a");
        equal(&a.invert(), |i| x[i].modpow(&(&p - 2u8), &p) * &r, "1 / a");
        equal(&a.sqrt(), |i| x[i].modpow(&((&p + 1u8) >> 2), &p) * &r, "the root of a");
        let one = Field::<L, R1Prime>::splat(proof, R1Prime::ONE);
        equal(&one.mul(&a), |i| numbers(a.limbs())[i].clone(), "1 * a");
    }
    assert_eq!(per_r * r % &p, BigUint::from(1u8));
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
    for (times, bias) in [(1u64, R1Prime::ONCE), (2, R1Prime::TWICE)] {
        let number = bias.iter().rev().fold(BigUint::ZERO, |sum, limb| (sum << 52) + *limb);
        assert_eq!(number, prime() * (times + 2));
        assert!(bias[..4].iter().all(|limb| *limb >= times * LOW && *limb < 7 << 52));
        assert!(bias[4] >= times * R1Prime::TIGHT && bias[4] <= (times + 2) << 48);
    }
}
