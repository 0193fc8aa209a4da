//! Points against libsecp256k1: sums, equal and opposite ones among them, doubles, odd multiples.

use super::*;
use crate::lanes::VECTORS;
use crate::lanes::big::{Random, for_all_limbs};
use crate::lanes::inverses::affine;
use crate::lanes::limb::{LANES, load, store};
use crate::lanes::multiples::{Tables, entry_of, fill};
use crate::lanes::secp256k1::Secp256k1;
use secp256k1::{PublicKey, SecretKey};

type Coordinates = ([u8; 32], [u8; 32]);

/// `number * G`, for a number that is not 0.
fn multiple(number: i64) -> Coordinates {
    let mut bytes = [0; 32];
    bytes[24..].copy_from_slice(&number.unsigned_abs().to_be_bytes());
    let mut key = PublicKey::from_secret_key(&SecretKey::from_secret_bytes(bytes).unwrap());
    if number < 0 {
        key = key.negate();
    }
    let [_form, rest @ ..] = key.serialize_uncompressed();
    let (halves, _) = rest.as_chunks();
    (halves[0], halves[1])
}

fn points<L: Limb>(proof: L::Proof, numbers: [i64; LANES]) -> Affine<L, Secp256k1> {
    let points = numbers.map(multiple);
    Affine {
        x: Field::new(load(proof, |lane| &points[lane].0)),
        y: Field::new(load(proof, |lane| &points[lane].1)),
    }
}

/// Asserts that each lane is the multiple of G, or unknown where that is 0.
fn equal<L: Limb>(proof: L::Proof, sums: &[Jacobian<L, Secp256k1>], expected: &[[i64; LANES]]) {
    let mut doubtful = [0; VECTORS];
    let mut found = [[None; LANES]; VECTORS];
    affine(proof, sums, &mut doubtful, |i, point| {
        let (x, y) = (store(point.x.limbs()), store(point.y.limbs()));
        found[i] = core::array::from_fn(|lane| Some((x[lane], y[lane])));
    });
    for (i, expected) in expected.iter().enumerate() {
        for (lane, number) in expected.iter().enumerate() {
            let is_unknown = doubtful[i] >> lane & 1 == 1;
            assert_eq!(is_unknown, *number == 0, "vector {i}, lane {lane}");
            if !is_unknown {
                assert_eq!(found[i][lane], Some(multiple(*number)), "vector {i}, lane {lane}");
            }
        }
    }
}

/// Small multiples of G, many of them equal or opposite, are added and doubled; 0 means unknown.
fn sums<L: Limb>(proof: L::Proof) {
    let mut random = Random(1);
    for _ in 0..20 {
        let (mut all, mut expected) = ([Jacobian::<L, _>::unknown(proof); 5], [[0; LANES]; 5]);
        for (sum, values) in all.iter_mut().zip(&mut expected) {
            let mut small = || core::array::from_fn(|_| (random.next() >> 61) as i64 + 1);
            let (first, others): ([i64; LANES], [[i64; LANES]; 3]) =
                (small(), core::array::from_fn(|_| small()));
            let is_set = |mask: Mask, lane: usize| mask >> lane & 1 == 1;
            let negative = random.next() as Mask;
            *sum = points(proof, first).to_jacobian(negative);
            *values = first;
            for (lane, value) in values.iter_mut().enumerate() {
                *value = if is_set(negative, lane) { -*value } else { *value };
            }
            for term in others {
                let negative = random.next() as Mask;
                sum.add(&points(proof, term), negative);
                for (lane, value) in values.iter_mut().enumerate() {
                    *value = match term[lane] {
                        // the same x, or unknown
                        term if *value == 0 || value.abs() == term => 0,
                        term if is_set(negative, lane) => *value - term,
                        term => *value + term,
                    };
                }
                let times = (random.next() >> 62) as usize;
                Secp256k1::double(sum, times);
                *values = values.map(|value| value << times);
            }
        }
        equal(proof, &all, &expected);
        // whatever is added to what is not known
        let last = points(proof, [1_000_003; LANES]);
        for sum in &mut all {
            sum.add(&last, 0);
        }
        let more = |value| if value == 0 { 0 } else { value + 1_000_003 };
        equal(proof, &all, &expected.map(|values| values.map(more)));
    }
}

#[test]
fn sums_and_doubles_are_those_of_the_library_or_unknown() {
    for_all_limbs!(sums);
}

fn tables<L: Limb>(proof: L::Proof) {
    let numbers: [i64; LANES] = core::array::from_fn(|lane| 77 * lane as i64 - 500);
    let mut tables: Tables<16> = Tables::new();
    let z = fill(&mut tables, &points::<L>(proof, numbers));
    for i in 0..16 {
        let Affine { x, y }: Affine<L, Secp256k1> = entry_of(proof, |lane| &tables.0[lane][i]);
        let point = Jacobian { x, y, z, negated: false };
        equal(proof, &[point], &[numbers.map(|number| number * (2 * i as i64 + 1))]);
    }
}

#[test]
fn tables_hold_the_odd_multiples() {
    for_all_limbs!(tables);
}

/// Every x of a few lanes, on the curve or not.
fn lifted<L: Limb>(proof: L::Proof) {
    for first in (0..400u64).step_by(LANES) {
        let x: [[u8; 32]; LANES] = core::array::from_fn(|lane| {
            let mut x = [0; 32];
            x[24..].copy_from_slice(&(first + lane as u64).to_be_bytes());
            x
        });
        let odd = 0b0110_1001_1010_0101;
        let point = Affine::<L, Secp256k1>::lift(Field::new(load(proof, |lane| &x[lane])), odd);
        let (is_on_curve, y) = (point.is_on_curve(), store(point.y.canonical().limbs()));
        for lane in 0..LANES {
            let mut key = [2 + (odd >> lane & 1) as u8; 33];
            key[1..].copy_from_slice(&x[lane]);
            let key = PublicKey::from_byte_array_compressed(key).ok();
            assert_eq!(is_on_curve >> lane & 1 == 1, key.is_some(), "x = {}", first + lane as u64);
            if let Some(key) = key {
                assert_eq!(key.serialize_uncompressed()[33..], y[lane]);
            }
        }
    }
}

#[test]
fn keys_are_lifted_as_the_library_does_or_found_off_the_curve() {
    for_all_limbs!(lifted);
}
