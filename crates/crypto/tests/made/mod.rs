//! Makes signatures, most of them such as only their maker wants: with chosen keys, nonces and
//! multipliers.

use blockmill_crypto::{EcdsaCheck, Key, Recovery, SchnorrCheck, sha256};
use num_bigint::BigUint;
use secp256k1::constants::{CURVE_ORDER, FIELD_SIZE};
use secp256k1::{PublicKey, SecretKey};

/// Repeatable numbers (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
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

pub struct Made {
    random: Random,
    n: BigUint,
    p: BigUint,
    lambda: BigUint,
}

/// x and y of a point.
type Point = ([u8; 32], [u8; 32]);

pub fn bytes(number: &BigUint) -> [u8; 32] {
    let digits = number.to_bytes_be();
    let mut bytes = [0; 32];
    bytes[32 - digits.len()..].copy_from_slice(&digits);
    bytes
}

impl Made {
    pub fn new(seed: u64) -> Self {
        Made {
            random: Random(seed),
            n: BigUint::from_bytes_be(&CURVE_ORDER),
            p: BigUint::from_bytes_be(&FIELD_SIZE),
            lambda: BigUint::from_bytes_be(&LAMBDA),
        }
    }

    fn negate(&self, number: &BigUint) -> BigUint {
        (&self.n - number % &self.n) % &self.n
    }

    fn divide(&self, a: &BigUint, b: &BigUint) -> BigUint {
        a * b.modpow(&(&self.n - 2u8), &self.n) % &self.n
    }

    fn any(&mut self) -> BigUint {
        BigUint::from_bytes_be(&self.random.bytes()) % &self.n
    }

    /// A number that is not 0 and may meet others: small, a power of two, about the square root of
    /// n, times the endomorphism's, or opposite.
    fn chosen(&mut self) -> BigUint {
        loop {
            let small = BigUint::from(self.random.below(40));
            let number = match self.random.below(8) {
                0 => BigUint::from(1u8) << self.random.below(256),
                1 => (BigUint::from(1u8) << self.random.below(256)) - 1u8,
                2 => small + (BigUint::from(1u8) << 128),
                3 => self.any(),
                _ => small,
            };
            let number = match self.random.below(4) {
                0 => number * &self.lambda,
                1 => number * &self.lambda * &self.lambda,
                2 => number + &self.lambda,
                _ => number,
            } % &self.n;
            let negative = self.random.below(2) == 0;
            let number = if negative { self.negate(&number) } else { number };
            if number != BigUint::ZERO {
                return number;
            }
        }
    }

    /// A number of 32 bytes at a bound.
    fn edge(&mut self) -> [u8; 32] {
        let near = BigUint::from(self.random.below(3));
        let most = (BigUint::from(1u8) << 256) - 1u8;
        bytes(&match self.random.below(9) {
            0 => near,
            1 => most - near,
            2 => &self.n - near,
            3 => &self.n + near,
            4 => &self.p - near,
            5 => &self.p + near,
            6 => &self.p - &self.n + near,
            7 => (&self.n >> 1) + near,
            _ => (BigUint::from(1u8) << self.random.below(256)) - 1u8,
        })
    }

    /// `number * G`, for a number below n that is not 0.
    fn point(&self, number: &BigUint) -> Point {
        let secret = SecretKey::from_secret_bytes(bytes(number)).unwrap();
        let [_form, rest @ ..] = PublicKey::from_secret_key(&secret).serialize_uncompressed();
        let (halves, _) = rest.as_chunks();
        (halves[0], halves[1])
    }

    fn key(&mut self, (x, y): Point) -> Key {
        match self.random.below(3) {
            0 => {
                let mut bytes = [4; 65];
                bytes[1..33].copy_from_slice(&x);
                bytes[33..].copy_from_slice(&y);
                if self.random.below(4) == 0 {
                    bytes[0] = 6 + (y[31] & 1);
                }
                Key::Uncompressed(bytes)
            }
            _ => {
                let mut bytes = [2 + (y[31] & 1); 33];
                bytes[1..].copy_from_slice(&x);
                Key::Compressed(bytes)
            }
        }
    }

    /// Of a key, with digest and s such that the sum is `u1 * G + u2 * Q`; none if that has no
    /// usable x.
    fn ecdsa(&mut self, secret: &BigUint, u1: &BigUint, u2: &BigUint) -> Option<EcdsaCheck> {
        let nonce = (u1 + u2 * secret) % &self.n;
        if nonce == BigUint::ZERO {
            return None;
        }
        let r = BigUint::from_bytes_be(&self.point(&nonce).0) % &self.n;
        let s = self.divide(&r, u2);
        let digest = u1 * &s % &self.n;
        let s = if self.random.below(2) == 0 { self.negate(&s) } else { s };
        // the digest must fit: -s goes with -u1 and -u2, whose sum has the same x
        let point = self.point(secret);
        let key = self.key(point);
        Some(EcdsaCheck { digest: bytes(&digest), r: bytes(&r), s: bytes(&s), key })
    }

    pub fn random_ecdsa(&mut self) -> EcdsaCheck {
        loop {
            let (secret, u1, u2) = (self.any(), self.any(), self.any());
            if let Some(check) = self.ecdsa(&secret, &u1, &u2) {
                return check;
            }
        }
    }

    /// Multipliers that make the sums of many steps meet, among them `u1 * G = u2 * Q`.
    pub fn chosen_ecdsa(&mut self) -> Option<EcdsaCheck> {
        let (secret, u2) = (self.chosen(), self.chosen());
        let u1 = match self.random.below(4) {
            0 => &u2 * &secret % &self.n,
            1 => BigUint::ZERO,
            _ => self.chosen(),
        };
        self.ecdsa(&secret, &u1, &u2)
    }

    /// `u1 * G = -u2 * Q`
    pub fn infinite_ecdsa(&mut self) -> EcdsaCheck {
        let (secret, r, s) = (self.chosen(), self.chosen(), self.chosen());
        let digest = self.negate(&(&r * &secret));
        let point = self.point(&secret);
        let key = self.key(point);
        EcdsaCheck { digest: bytes(&digest), r: bytes(&r), s: bytes(&s), key }
    }

    pub fn edged_ecdsa(&mut self) -> EcdsaCheck {
        let mut check = self.random_ecdsa();
        let edge = self.edge();
        match self.random.below(5) {
            0 => check.r = edge,
            1 => check.s = edge,
            2 => check.digest = edge,
            3 => (check.r, check.s) = (edge, self.edge()),
            _ => match &mut check.key {
                Key::Compressed(bytes) => bytes[1..].copy_from_slice(&edge),
                Key::Uncompressed(bytes) => {
                    let at = 1 + 32 * self.random.below(2);
                    bytes[at..at + 32].copy_from_slice(&edge);
                }
            },
        }
        check
    }

    /// BIP340's signature with this secret and nonce, whose s is given `off` from the right one.
    fn schnorr(&mut self, secret: &BigUint, nonce: &BigUint, off: &BigUint) -> SchnorrCheck {
        let even = |made: &Self, number: &BigUint| {
            let (x, y) = made.point(number);
            (x, if y[31] & 1 == 0 { number.clone() } else { made.negate(number) })
        };
        let ((key, secret), (r, nonce)) = (even(self, secret), even(self, nonce));
        let message = self.random.bytes();
        let tag = sha256(b"BIP0340/challenge");
        let challenge = sha256(&[tag, tag, r, key, message].concat());
        let s = (nonce + BigUint::from_bytes_be(&challenge) * secret + off) % &self.n;
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&r);
        signature[32..].copy_from_slice(&bytes(&s));
        SchnorrCheck { message, signature, key }
    }

    pub fn random_schnorr(&mut self) -> SchnorrCheck {
        let (secret, nonce) = (self.any(), self.any());
        self.schnorr(&secret, &nonce, &BigUint::ZERO)
    }

    pub fn chosen_schnorr(&mut self) -> SchnorrCheck {
        let (secret, nonce) = (self.chosen(), self.chosen());
        self.schnorr(&secret, &nonce, &BigUint::ZERO)
    }

    /// `s * G = e * P`
    pub fn infinite_schnorr(&mut self) -> SchnorrCheck {
        let (secret, mut nonce) = (self.chosen(), self.chosen());
        if self.point(&nonce).1[31] & 1 == 1 {
            nonce = self.negate(&nonce);
        }
        let off = self.negate(&nonce);
        self.schnorr(&secret, &nonce, &off)
    }

    pub fn edged_schnorr(&mut self) -> SchnorrCheck {
        let mut check = self.random_schnorr();
        let edge = self.edge();
        match self.random.below(3) {
            0 => check.signature[..32].copy_from_slice(&edge),
            1 => check.signature[32..].copy_from_slice(&edge),
            _ => check.key = edge,
        }
        check
    }

    /// Of the point `nonce * G`, with digest and s such that the key is `s / r * (nonce - m) * G`;
    /// for m = nonce that is none.
    fn recovery(&mut self, nonce: &BigUint, s_per_r: &BigUint, m: &BigUint) -> Recovery {
        let (x, y) = self.point(nonce);
        let r = BigUint::from_bytes_be(&x) % &self.n;
        let s = s_per_r * &r % &self.n;
        let digest = m * &s % &self.n;
        let recovery_id = y[31] & 1;
        Recovery { digest: bytes(&digest), r: bytes(&r), s: bytes(&s), recovery_id }
    }

    pub fn random_recovery(&mut self) -> (Recovery, Option<[u8; 64]>) {
        let (nonce, s_per_r, m) = (self.any(), self.any(), self.any());
        let recovery = self.recovery(&nonce, &s_per_r, &m);
        let secret = s_per_r * (&self.n + nonce - m) % &self.n;
        let (x, y) = self.point(&secret);
        let mut key = [0; 64];
        key[..32].copy_from_slice(&x);
        key[32..].copy_from_slice(&y);
        (recovery, Some(key))
    }

    pub fn chosen_recovery(&mut self) -> Recovery {
        let (nonce, s_per_r) = (self.chosen(), self.chosen());
        let m = match self.random.below(4) {
            0 => self.negate(&nonce),
            1 => BigUint::ZERO,
            _ => self.chosen(),
        };
        let mut recovery = self.recovery(&nonce, &s_per_r, &m);
        recovery.recovery_id = match self.random.below(4) {
            0 => self.random.below(5) as u8,
            _ => recovery.recovery_id,
        };
        recovery
    }

    pub fn infinite_recovery(&mut self) -> Recovery {
        let (nonce, s_per_r) = (self.chosen(), self.chosen());
        self.recovery(&nonce, &s_per_r, &nonce)
    }

    pub fn edged_recovery(&mut self) -> Recovery {
        let mut recovery = self.random_recovery().0;
        let edge = self.edge();
        match self.random.below(4) {
            0 => recovery.r = edge,
            1 => recovery.s = edge,
            2 => recovery.digest = edge,
            _ => (recovery.r, recovery.recovery_id) = (edge, self.random.below(5) as u8),
        }
        recovery
    }
}
