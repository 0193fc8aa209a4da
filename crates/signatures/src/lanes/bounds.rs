//! Tests: fields, scalars, comparisons and digits where everything is at its bounds at once. Random
//! limbs hardly ever are: so here are all pairs and triples of the numbers that might be wrong.

use alloc::vec::Vec;
use num_bigint::BigUint;

use super::big::{self, for_all_limbs, hex, numbers};
use super::curve::Curve;
use super::digits::digits;
use super::field::{Field, Loose, Prime};
use super::glv::split_digits;
use super::limb::{LANES, LOW, Limb, Mask, is_below, limbs, load, splat_all, store};
use super::montgomery::{Modulus, Montgomery};
use super::p256::{P256, R1Order};
use super::p256_prime::R1Prime;
use super::secp256k1::{K1Order, Secp256k1};
use super::secp256k1_prime::K1Prime;

/// The largest limb 4 of a loose number.
const LOOSE: u64 = (1 << 51) - 1;

type Limbs = [u64; 5];

fn integer(limbs: Limbs) -> BigUint {
    limbs.iter().rev().fold(BigUint::ZERO, |sum, limb| (sum << 52) + *limb)
}

fn limbs_of(number: &BigUint) -> Limbs {
    let digits = number.to_u64_digits();
    let bits = |at: usize| digits.get(at).copied().unwrap_or(0);
    let from = |at: usize| bits(at / 64) >> (at % 64) | bits(at / 64 + 1) << 1 << (63 - at % 64);
    [from(0) & LOW, from(52) & LOW, from(104) & LOW, from(156) & LOW, from(208)]
}

/// Every choice of limbs that are 0 or the largest, and the numbers next to multiples of `of`.
fn patterns(largest: u64, of: &BigUint) -> Vec<Limbs> {
    let most = [LOW, LOW, LOW, LOW, largest];
    let mut all: Vec<Limbs> = (0..32)
        .map(|set: u32| core::array::from_fn(|k| if set >> k & 1 == 1 { most[k] } else { 0 }))
        .collect();
    let multiples = (0..8u8).map(|times| of * times);
    let near = multiples.flat_map(|multiple| [&multiple + 2u8, &multiple + 1u8, multiple]);
    let below = (1..8u8).map(|times| of * times - 1u8);
    let all_bits = (BigUint::from(1u8) << 256u32) - 1u8;
    let numbers = near.chain(below).chain([all_bits]).map(|number| limbs_of(&number));
    all.extend(numbers.filter(|limbs| limbs[4] < largest));
    all
}

/// The limbs of a vector that has these numbers.
fn vector<L: Limb>(proof: L::Proof, lanes: &[Limbs; LANES]) -> [L; 5] {
    let mut out = splat_all(proof, [0; 5]);
    for (k, limb) in out.iter_mut().enumerate() {
        *limb = L::load(proof, &lanes.map(|limbs| limbs[k]));
    }
    out
}

/// Calls `test` with vectors of all combinations, given by their indices.
fn combinations<const K: usize>(of: &[Limbs], mut test: impl FnMut([[Limbs; LANES]; K])) {
    let count = of.len().pow(K as u32);
    for first in (0..count).step_by(LANES) {
        // the last vector begins anew
        let combination = |lane: usize| (first + lane) % count;
        test(core::array::from_fn(|place| {
            let index = |lane| combination(lane) / of.len().pow(place as u32) % of.len();
            core::array::from_fn(|lane| of[index(lane)])
        }));
    }
}

/// What tests need to know about a prime.
struct Modular {
    p: BigUint,
    /// The inverse of the number that stands for 1.
    per_one: BigUint,
}

impl Modular {
    fn new<P: Prime>() -> Self {
        let (p, one) = (integer(P::P), integer(limbs(P::ONE)));
        Modular { per_one: one.modpow(&(&p - 2u8), &p), p }
    }

    /// Asserts that the numbers are these modulo p, whichever way they are looked at. What is
    /// expected is no type of its own: this function is a long one to compile.
    fn equal<L: Limb, P: Prime>(
        &self,
        what: &str,
        found: &Field<L, P>,
        expected: &dyn Fn(usize) -> BigUint,
    ) {
        let values = numbers(found.limbs());
        let unique = numbers(found.canonical().limbs());
        let below = numbers(found.below_2_256().limbs());
        let (zeros, odd) = (found.is_zero(), found.canonical().is_odd());
        for lane in 0..LANES {
            let expected = expected(lane) % &self.p;
            assert_eq!(&values[lane] % &self.p, expected, "{what}, lane {lane}");
            assert_eq!(unique[lane], expected, "{what}, lane {lane}, below p");
            assert_eq!(&below[lane] % &self.p, expected, "{what}, lane {lane}, below 2^256");
            assert!(below[lane].bits() <= 256, "{what}, lane {lane}");
            assert_eq!(zeros >> lane & 1 == 1, expected == BigUint::ZERO, "{what}, lane {lane}");
            assert_eq!(odd >> lane & 1 == 1, expected.bit(0), "{what}, lane {lane}");
        }
    }

    /// The same for a loose number: whether it is 0, and what it is times 1.
    fn equal_loose<L: Limb, P: Prime>(
        &self,
        what: &str,
        found: &Loose<L, P>,
        one: &Field<L, P>,
        expected: &dyn Fn(usize) -> BigUint,
    ) {
        let zeros = found.is_zero();
        for lane in 0..LANES {
            let is_zero = expected(lane) % &self.p == BigUint::ZERO;
            assert_eq!(zeros >> lane & 1 == 1, is_zero, "{what}, lane {lane}");
        }
        self.equal(what, &found.mul(one), expected);
    }
}

/// All triples of tight numbers.
fn sums<L: Limb, P: Prime>(proof: L::Proof) {
    let modular = Modular::new::<P>();
    let (p, one) = (&modular.p, Field::<L, P>::splat(proof, P::ONE));
    let (half, some) = ((p + 1u8) >> 1, p * 8u8);
    let alternating: Mask = 0b0110_1001_1010_0101;
    let patterns = patterns(P::TIGHT, p);
    combinations::<2>(&patterns, |lanes| {
        let [a, b] = lanes.map(|lanes| Field::<L, P>::of(vector(proof, &lanes)));
        let [x, y] = lanes.map(|lanes| lanes.map(integer));
        modular.equal("a", &a, &|i| x[i].clone());
        modular.equal("a + b", &a.add(&b), &|i| &x[i] + &y[i]);
        modular.equal_loose("a - b", &a.sub(&b), &one, &|i| &some + &x[i] - &y[i]);
        modular.equal("a - b", &a.sub_tight(&b), &|i| &some + &x[i] - &y[i]);
        modular.equal_loose("3 / 2 * a", &a.three_halves(), &one, &|i| &x[i] * &half * 3u8);
        for negative in [0, alternating, Mask::MAX] {
            let minus = |i: usize| match negative >> i & 1 {
                1 => &some - &x[i],
                _ => &some + &x[i],
            };
            modular.equal("±a", &a.negated(negative), &minus);
            modular
                .equal_loose("±a - b", &a.signed_sub(negative, &b), &one, &|i| minus(i) - &y[i]);
            let either = |i: usize| if negative >> i & 1 == 1 { &y[i] } else { &x[i] };
            modular.equal("a or b", &a.replaced(negative, &b), &|i| either(i).clone());
        }
    });
    combinations::<3>(&patterns, |lanes| {
        let [a, b, c] = lanes.map(|lanes| Field::<L, P>::of(vector(proof, &lanes)));
        let (found, other) = (a.sub_both(&b, &c), a.add_sub_twice(&b, &c));
        let zeros = [found.is_zero(), other.is_zero()];
        let found = [numbers(found.limbs()), numbers(other.limbs())];
        for lane in 0..LANES {
            let [x, y, z] = lanes.map(|lanes| integer(lanes[lane]));
            let expected = [(&some + &x - &y - &z) % p, (&some + &x + &y - &z - &z) % p];
            for k in 0..2 {
                assert_eq!(&found[k][lane] % p, expected[k]);
                assert_eq!(zeros[k] >> lane & 1 == 1, expected[k] == BigUint::ZERO);
            }
        }
    });
}

/// All pairs of loose numbers, with others that are as large.
fn products<L: Limb, P: Prime>(proof: L::Proof) {
    let modular = Modular::new::<P>();
    let (patterns, tight) = (patterns(LOOSE, &modular.p), patterns(P::TIGHT, &modular.p));
    let one = Field::<L, P>::splat(proof, P::ONE);
    let mut turn = 0;
    combinations::<2>(&patterns, |lanes| {
        // the largest with the largest too
        turn = (turn + 1) % patterns.len();
        let others = [lanes[0], lanes[1], [patterns[31]; LANES], [patterns[turn]; LANES]];
        let [a, b, c, d] = others.map(|lanes| Loose::<L, P>::of(vector(proof, &lanes)));
        let [x, y, z, w] = others.map(|lanes| lanes.map(integer));
        let per_one = &modular.per_one;
        modular.equal_loose("a", &a, &one, &|i| x[i].clone());
        modular.equal("a * b", &a.mul(&b), &|i| &x[i] * &y[i] * per_one);
        modular.equal("a * a", &a.square(), &|i| &x[i] * &x[i] * per_one);
        let mut sum = one;
        for (c, d, z, w) in [(&c, &d, &z, &w), (&a, &b, &x, &y), (&b, &b, &y, &y)] {
            sum.set_square_add_mul(&a, c, d);
            let expected = |i: usize| (&x[i] * &x[i] + &z[i] * &w[i]) * per_one;
            modular.equal("a * a + c * d", &sum, &expected);
            let factor = [tight[turn % tight.len()]; LANES];
            sum = Field::of(vector(proof, &factor));
            sum.mul_add_mul_assign(&a, c, d);
            let expected = |i: usize| (integer(factor[i]) * &x[i] + &z[i] * &w[i]) * per_one;
            modular.equal("s * a + c * d", &sum, &expected);
            let before = numbers(sum.limbs());
            sum.mul_assign(&b);
            modular.equal("s * b", &sum, &|i| &before[i] * &y[i] * per_one);
        }
    });
}

fn fields<L: Limb>(proof: L::Proof) {
    sums::<L, K1Prime>(proof);
    products::<L, K1Prime>(proof);
    sums::<L, R1Prime>(proof);
    products::<L, R1Prime>(proof);
}

#[test]
fn fields_are_right_where_all_limbs_are_at_their_bounds() {
    for_all_limbs!(fields);
}

/// All pairs below 2^257.
fn modulo<L: Limb, M: Modulus>(proof: L::Proof) {
    let m = integer(M::LIMBS);
    let per_r = (BigUint::from(1u8) << 260u32).modpow(&(&m - 2u8), &m);
    let patterns = patterns((1 << 49) - 1, &m);
    combinations::<2>(&patterns, |lanes| {
        let [a, b] = lanes.map(|lanes| Montgomery::<L, M>::new(vector(proof, &lanes)));
        let product = a.mul(&b);
        let (found, unique) = (numbers(product.0), numbers(product.canonical().0));
        let opposite = numbers(product.canonical().negate().0);
        let unchanged = numbers(a.canonical().0);
        for lane in 0..LANES {
            let [x, y] = lanes.map(|lanes| integer(lanes[lane]));
            let expected = &x * &y * &per_r % &m;
            // what a product promises: less than 2^254 + m
            assert!(found[lane] < (BigUint::from(1u8) << 254u32) + &m);
            assert_eq!(unique[lane], expected);
            assert_eq!(&opposite[lane] + &expected, m);
            if x < &m * 2u8 {
                assert_eq!(unchanged[lane], x % &m);
            }
        }
    });
    for chunk in patterns.chunks(LANES) {
        let lanes = core::array::from_fn(|lane| chunk[lane % chunk.len()]);
        let inverses = Montgomery::<L, M>::new(vector(proof, &lanes)).to_montgomery().invert();
        let one = Montgomery::<L, M>::new(splat_all(proof, [1, 0, 0, 0, 0]));
        for (lane, found) in numbers(inverses.mul(&one).canonical().0).into_iter().enumerate() {
            // 0 for 0
            assert_eq!(found, integer(lanes[lane]).modpow(&(&m - 2u8), &m));
        }
    }
}

fn scalars<L: Limb>(proof: L::Proof) {
    modulo::<L, K1Order>(proof);
    modulo::<L, R1Order>(proof);
}

#[test]
fn scalars_are_right_at_their_bounds() {
    for_all_limbs!(scalars);
}

/// Numbers next to bounds, and how they are read from and written to bytes.
fn ranges<L: Limb>(proof: L::Proof) {
    let k1 = [K1Prime::P, K1Order::LIMBS, Secp256k1::PRIME_LESS_ORDER];
    let r1 = [R1Prime::P, R1Order::LIMBS, P256::PRIME_LESS_ORDER];
    let most = (BigUint::from(1u8) << 256u32) - 1u8;
    for bound in [k1, r1].concat() {
        let at = integer(bound);
        let mut all: Vec<BigUint> = (0..3u8).flat_map(|off| [&at + off, &at - off]).collect();
        all.extend([BigUint::ZERO, BigUint::from(1u8), most.clone(), &most >> 1]);
        // next to each power of two, and the bound with one bit flipped
        for bit in 0..256u64 {
            all.push(BigUint::from(1u8) << bit);
            all.push((BigUint::from(1u8) << bit) - 1u8);
            let mut flipped = at.clone();
            flipped.set_bit(bit, !at.bit(bit));
            all.push(flipped);
        }
        for chunk in all.chunks(LANES) {
            let bytes: [[u8; 32]; LANES] = core::array::from_fn(|lane| {
                let digits = chunk[lane % chunk.len()].to_bytes_be();
                let mut bytes = [0; 32];
                bytes[32 - digits.len()..].copy_from_slice(&digits);
                bytes
            });
            let number: [L; 5] = load(proof, |lane| &bytes[lane]);
            assert_eq!(store(number), bytes);
            let below = is_below(number, bound);
            for (lane, found) in numbers(number).into_iter().enumerate() {
                assert_eq!(found, chunk[lane % chunk.len()]);
                assert_eq!(below >> lane & 1 == 1, found < at, "{found:x} and {at:x}");
            }
        }
    }
}

#[test]
fn ranges_are_right_next_to_their_bounds() {
    for_all_limbs!(ranges);
}

/// The number that the digits of a lane stand for, plus a multiple of n.
fn value<L: Limb, const K: usize, const WIDTH: usize>(
    digit: impl Fn(usize) -> (L, Mask),
    places: usize,
    lane: usize,
    n: &BigUint,
) -> BigUint {
    (0..places).rev().fold(BigUint::ZERO, |sum, place| {
        let (index, negative) = digit(place);
        let (index, sum) = (index.numbers()[lane], (sum << WIDTH) + n * 4u8);
        assert!(index < 1 << (WIDTH - 1));
        let size = 2 * index + 1;
        if negative >> lane & 1 == 1 { sum - size } else { sum + size }
    })
}

/// Numbers at which the halves' quotients are about to be one more, which is where rounding shows
/// most; and all patterns below 2^256.
fn halves<L: Limb>(proof: L::Proof) {
    let (n, lambda) = (hex(big::N), hex(big::LAMBDA));
    let mut all = patterns((1 << 48) - 1, &n);
    let mut random = big::Random(5);
    for factor in ["3086d221a7d46bcde86c90e49284eb15", "e4437ed6010e88286f547fa90abfe4c3"] {
        for round in 0..600u32 {
            let mut quotient = hex(factor);
            if round > 0 {
                quotient = (quotient * random.next()) >> 64;
            }
            for twice in [1u8, 2] {
                // (quotient + 1/2) / factor * n for halves, or without it
                let middle = (&quotient * 2u8 + (2 - twice)) * &n / (hex(factor) * 2u8);
                let near = (0..4u8).map(|off| (&middle + off) % &n);
                all.extend(near.map(|number| limbs_of(&number)));
            }
        }
    }
    for chunk in all.chunks(LANES) {
        let lanes = core::array::from_fn(|lane| chunk[lane % chunk.len()]);
        let number = Montgomery::<L, K1Order>::new(vector(proof, &lanes));
        let (whole, [a, b]) = (digits::<260, L, K1Order>(&number), split_digits(&number));
        for (lane, expected) in lanes.into_iter().map(integer).enumerate() {
            let whole = value::<L, 5, 10>(|place| whole.digit::<10>(place), 26, lane, &n);
            let a = value::<L, 3, 5>(|place| a.digit::<5>(place), 26, lane, &n);
            let b = value::<L, 3, 5>(|place| b.digit::<5>(place), 26, lane, &n);
            assert_eq!(whole % &n, &expected % &n);
            assert_eq!((a + b * &lambda) % &n, expected % &n);
        }
    }
}

#[test]
fn halves_are_right_where_quotients_change() {
    for_all_limbs!(halves);
}
