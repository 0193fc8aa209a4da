//! Makes signatures, most of them such as only their maker wants: with chosen keys, nonces and
//! multipliers.
//!
//! All numbers come from a seed. A case takes a few microseconds: random points are sums of random
//! points, nonces and keys are known, and `s` is chosen before the digest, so that nothing is
//! inverted.

pub mod ecdsa;
#[path = "../generated_p256/mod.rs"]
pub mod generated_p256;
pub mod oracle;
pub mod p256;
pub mod points;
pub mod recovery;
pub mod schnorr;
pub mod tweak;

use num_bigint::BigUint;
use points::{Point, coordinates, multiple};
use secp256k1::constants::{CURVE_ORDER, FIELD_SIZE};
use std::collections::HashMap;

/// Repeatable numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    /// Any seed will do: it is mixed first (SplitMix64).
    pub fn new(seed: u64) -> Self {
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Random((z ^ (z >> 31)).max(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    pub fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    pub fn bytes(&mut self) -> [u8; 32] {
        std::array::from_fn(|_| (self.next() >> 56) as u8)
    }

    pub fn flip(&mut self, bytes: &mut [u8]) {
        let bit = self.below(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// A multiplier of the curve's endomorphism.
const LAMBDA: [u8; 32] = [
    0x53, 0x63, 0xad, 0x4c, 0xc0, 0x5c, 0x30, 0xe0, 0xa5, 0x26, 0x1c, 0x02, 0x88, 0x12, 0x64, 0x5a,
    0x12, 0x2e, 0x22, 0xea, 0x20, 0x81, 0x66, 0x78, 0xdf, 0x02, 0x96, 0x7c, 0x1b, 0x23, 0xbd, 0x72,
];
/// The factor of x.
const BETA: [u8; 32] = [
    0x7a, 0xe9, 0x6a, 0x2b, 0x65, 0x7c, 0x07, 0x10, 0x6e, 0x64, 0x47, 0x9e, 0xac, 0x34, 0x34, 0xe9,
    0x9c, 0xf0, 0x49, 0x75, 0x12, 0xf5, 0x89, 0x95, 0xc1, 0x39, 0x6c, 0x28, 0x71, 0x95, 0x01, 0xee,
];

/// Points of a random walk.
const WALKERS: usize = 64;
/// Number of keys that sign repeatedly.
const REGULARS: usize = 8;
/// Chosen numbers whose inverses and multiples are kept; more than there are, but for random ones.
const KEPT: usize = 50_000;

/// A number that is not 0 modulo n, and that multiple of G.
#[derive(Clone)]
pub struct Known {
    pub number: BigUint,
    pub point: Point,
}

/// The generator of cases.
pub struct Generator {
    pub random: Random,
    n: BigUint,
    p: BigUint,
    lambda: BigUint,
    walkers: Vec<Known>,
    regulars: Vec<Known>,
    inverses: HashMap<BigUint, BigUint>,
    multiples: HashMap<BigUint, Point>,
    p256: p256::P256,
}

pub fn bytes(number: &BigUint) -> [u8; 32] {
    let digits = number.to_bytes_be();
    let mut bytes = [0; 32];
    bytes[32 - digits.len()..].copy_from_slice(&digits);
    bytes
}

pub fn number(bytes: &[u8; 32]) -> BigUint {
    BigUint::from_bytes_be(bytes)
}

fn power_of_two(bits: usize) -> BigUint {
    BigUint::from(1u8) << bits
}

impl Generator {
    /// Cases follow from the seed alone.
    pub fn new(seed: u64) -> Self {
        let mut cases = Generator {
            random: Random::new(seed),
            n: number(&CURVE_ORDER),
            p: number(&FIELD_SIZE),
            lambda: number(&LAMBDA),
            walkers: vec![],
            regulars: vec![],
            inverses: HashMap::new(),
            multiples: HashMap::new(),
            p256: p256::P256::new(1),
        };
        cases.begin(seed);
        cases
    }

    /// Continues with this seed, but keeps the computed points.
    pub fn begin(&mut self, seed: u64) {
        self.random = Random::new(seed);
        self.p256 = p256::P256::new(self.random.next());
        let known = |cases: &mut Self| {
            let number = cases.any();
            Known { point: multiple(&number), number }
        };
        self.walkers = (0..WALKERS).map(|_| known(self)).collect();
        self.regulars = (0..REGULARS).map(|_| known(self)).collect();
    }

    fn negate(&self, number: &BigUint) -> BigUint {
        (&self.n - number % &self.n) % &self.n
    }

    fn negated_if(&self, negative: bool, number: BigUint) -> BigUint {
        if negative { self.negate(&number) } else { number }
    }

    /// The inverse modulo n.
    fn inverse(&mut self, number: &BigUint) -> BigUint {
        if let Some(inverse) = self.inverses.get(number) {
            return inverse.clone();
        }
        let inverse = number.modpow(&(&self.n - 2u8), &self.n);
        if self.inverses.len() < KEPT {
            self.inverses.insert(number.clone(), inverse.clone());
        }
        inverse
    }

    /// The multiple of a number that comes again.
    fn known(&mut self, number: BigUint) -> Known {
        let point = match self.multiples.get(&number) {
            Some(point) => *point,
            None => {
                let point = multiple(&number);
                if self.multiples.len() < KEPT {
                    self.multiples.insert(number.clone(), point);
                }
                point
            }
        };
        Known { number, point }
    }

    /// Any number below n but 0.
    fn any(&mut self) -> BigUint {
        let number = number(&self.random.bytes()) % &self.n;
        if number == BigUint::ZERO { self.any() } else { number }
    }

    /// A random point with its number: the sum of two others, one of which it replaces.
    fn walk(&mut self) -> Known {
        loop {
            let (i, j) = (self.random.below(WALKERS), self.random.below(WALKERS));
            let (a, b) = (&self.walkers[i], &self.walkers[j]);
            let number = (&a.number + &b.number) % &self.n;
            if let Some(point) = points::sum(&a.point, &b.point) {
                self.walkers[i] = Known { number, point };
                return self.walkers[i].clone();
            }
        }
    }

    /// One of a few keys, one of which changes now and then.
    fn regular(&mut self) -> Known {
        let i = self.random.below(REGULARS);
        if self.random.below(1_000) == 0 {
            self.regulars[i] = self.walk();
        }
        self.regulars[i].clone()
    }

    /// A number that is not 0 and may meet others: small, a power of two, about the square root of
    /// n, times the endomorphism's, or opposite.
    fn chosen(&mut self) -> BigUint {
        loop {
            let small = BigUint::from(self.random.below(40));
            let number = match self.random.below(8) {
                0 => power_of_two(self.random.below(256)),
                1 => power_of_two(self.random.below(256)) - 1u8,
                2 => small + power_of_two(128),
                3 => self.any(),
                _ => small,
            };
            let number = match self.random.below(5) {
                0 => number * &self.lambda,
                1 => number * &self.lambda * &self.lambda,
                2 => number + &self.lambda * (self.random.below(34) + 1),
                _ => number,
            } % &self.n;
            let negative = self.random.coin();
            let number = self.negated_if(negative, number);
            if number != BigUint::ZERO {
                return number;
            }
        }
    }

    fn chosen_point(&mut self) -> Known {
        let number = self.chosen();
        self.known(number)
    }

    /// Numbers u1 and c such that a sum that begins with `c * G`, and to which multiples of G are
    /// added whose sum is `u1 * G`, meets one of these or its opposite.
    ///
    /// These are the odd digits of u1, in windows of some bits, as there are no even ones.
    fn meeting(&mut self) -> (BigUint, BigUint) {
        let width = [10, 10, 4, 5, 6, 7, 8, 9, 11, 12][self.random.below(10)];
        let places = 256usize.div_ceil(width);
        let meets_at = match self.random.below(3) {
            0 => 0,
            1 => places - 1,
            _ => self.random.below(places),
        };
        let lowest_first = self.random.coin();
        let (mut u1, mut c) = (BigUint::ZERO, BigUint::ZERO);
        for place in 0..places {
            // all of them together are below 2^256, so u1 has no other digits
            let bits = width.min(256 - width * place);
            let digit = BigUint::from(2 * self.random.below(1 << (bits - 1)) + 1);
            let negative = self.random.coin();
            let digit = self.negated_if(negative, digit << (width * place));
            if place == meets_at {
                let opposite = self.random.coin();
                c += self.negated_if(opposite, digit.clone());
            } else if (place < meets_at) == lowest_first {
                c += self.negate(&digit);
            }
            u1 += digit;
        }
        let (u1, c) = (u1 % &self.n, c % &self.n);
        if u1 == BigUint::ZERO || c == BigUint::ZERO { self.meeting() } else { (u1, c) }
    }

    /// A number of 32 bytes at a bound.
    fn edge(&mut self) -> [u8; 32] {
        let most = if self.random.coin() { 3 } else { 40 };
        let near = BigUint::from(self.random.below(most));
        let bits = self.random.below(256);
        let all = power_of_two(256) - 1u8;
        bytes(&match self.random.below(12) {
            0 => near,
            1 => all - near,
            2 => &self.n - near,
            3 => &self.n + near,
            4 => &self.p - near,
            5 => &self.p + near,
            6 => &self.p - &self.n + near,
            7 => &self.p - &self.n - near,
            8 => (&self.n >> 1) + near,
            9 => power_of_two(bits) - 1u8,
            10 => power_of_two(bits),
            _ => (power_of_two(bits) + 1u8) % power_of_two(256),
        })
    }

    /// x of the point and the number of the one with this x and an even y.
    fn even(&self, known: &Known) -> ([u8; 32], BigUint) {
        let (x, y) = coordinates(&known.point);
        (x, self.negated_if(y[31] & 1 == 1, known.number.clone()))
    }

    /// An x of no point, or one that is small, plus p.
    fn no_x(&mut self) -> [u8; 32] {
        loop {
            let x = match self.random.below(3) {
                0 => bytes(&(&self.p + self.random.below(60))),
                1 => bytes(&self.random.below(60).into()),
                _ => self.random.bytes(),
            };
            if points::lift(&x, false).is_none() {
                return x;
            }
        }
    }

    /// The digest that `key` signed with this nonce if the signature is r and s.
    fn digest(&self, key: &BigUint, nonce: &BigUint, r: &BigUint, s: &BigUint) -> BigUint {
        (s * nonce + self.negate(&(r * key))) % &self.n
    }

    /// The x coordinate modulo n.
    fn r(&self, point: &Point) -> BigUint {
        number(&coordinates(point).0) % &self.n
    }

    /// Lambda or its square times a number and its point, of which only x changes.
    fn image(&mut self, of: &Known) -> Known {
        let (lambda, beta) = match self.random.coin() {
            true => (self.lambda.clone(), number(&BETA)),
            false => (&self.lambda * &self.lambda % &self.n, number(&BETA).pow(2) % &self.p),
        };
        let (x, y) = coordinates(&of.point);
        let x = bytes(&(number(&x) * beta % &self.p));
        let point = points::lift(&x, y[31] & 1 == 1).expect("the image is on the curve");
        Known { number: &of.number * lambda % &self.n, point }
    }
}

/// A kind of cases.
pub struct Kind<T, U> {
    pub name: &'static str,
    /// Of the random or of the structured cases.
    pub is_random: bool,
    /// Generates a case, with its answer if that is known without verifying.
    pub make: fn(&mut Generator) -> (T, Option<U>),
}

const fn random<T, U>(
    name: &'static str,
    make: fn(&mut Generator) -> (T, Option<U>),
) -> Kind<T, U> {
    Kind { name, is_random: true, make }
}

const fn structured<T, U>(
    name: &'static str,
    make: fn(&mut Generator) -> (T, Option<U>),
) -> Kind<T, U> {
    Kind { name, is_random: false, make }
}
