//! Makes signatures over P-256, most of them such as only their maker wants: with chosen keys,
//! nonces and multipliers.

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use blockmill_signatures::{EcdsaCheck, Key, verify_p256};
use num_bigint::BigUint;

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

/// The oracle: whether AWS-LC finds the signature valid. `verify_p256` has to agree.
pub fn by_aws_lc(check: &EcdsaCheck) -> bool {
    let key = match &check.key {
        Key::Compressed(bytes) => &bytes[..],
        Key::Uncompressed(bytes) => &bytes[..],
    };
    let valid = Digest::import_less_safe(&check.digest, &SHA256).is_ok_and(|digest| {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
            .verify_digest(&digest, &[check.r, check.s].concat())
            .is_ok()
    });
    assert_eq!(verify_p256(check), valid, "verify_p256, {check:?}");
    valid
}

const ORDER: &[u8] = b"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
const PRIME: &[u8] = b"ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
const B: &[u8] = b"5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b";

pub struct Generator {
    pub random: Random,
    pub n: BigUint,
    p: BigUint,
    b: BigUint,
}

/// x and y of a point.
type Point = ([u8; 32], [u8; 32]);

pub fn bytes(number: &BigUint) -> [u8; 32] {
    let digits = number.to_bytes_be();
    let mut bytes = [0; 32];
    bytes[32 - digits.len()..].copy_from_slice(&digits);
    bytes
}

/// `number * G`, for a number below n that is not 0.
fn point(number: &BigUint) -> Point {
    let secret = PrivateKey::from_private_key(&ECDH_P256, &bytes(number)).unwrap();
    let key = secret.compute_public_key().unwrap();
    let (halves, _) = key.as_ref()[1..].as_chunks();
    (halves[0], halves[1])
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let [n, p, b] = [ORDER, PRIME, B].map(|hex| BigUint::parse_bytes(hex, 16).unwrap());
        Generator { random: Random(seed), n, p, b }
    }

    fn negate(&self, number: &BigUint) -> BigUint {
        (&self.n - number % &self.n) % &self.n
    }

    fn divide(&self, a: &BigUint, b: &BigUint) -> BigUint {
        a * b.modpow(&(&self.n - 2u8), &self.n) % &self.n
    }

    /// A number below n that is not 0.
    pub fn any(&mut self) -> BigUint {
        BigUint::from_bytes_be(&self.random.bytes()) % (&self.n - 1u8) + 1u8
    }

    /// A number that is not 0 and may meet others: small, near a power of two, or opposite.
    fn chosen(&mut self) -> BigUint {
        loop {
            let small = BigUint::from(self.random.below(80));
            let power = BigUint::from(1u8) << self.random.below(256);
            let number = match self.random.below(8) {
                0 => power,
                1 => power - 1u8,
                2 => power * &small,
                3 => power + &small,
                4 => self.any(),
                _ => small,
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
    fn signed(&mut self, secret: &BigUint, u1: &BigUint, u2: &BigUint) -> Option<EcdsaCheck> {
        let nonce = (u1 + u2 * secret) % &self.n;
        if nonce == BigUint::ZERO {
            return None;
        }
        let r = BigUint::from_bytes_be(&point(&nonce).0) % &self.n;
        let s = self.divide(&r, u2);
        let digest = u1 * &s % &self.n;
        // -s goes with -u1 and -u2, whose sum has the same x
        let s = if self.random.below(2) == 0 { self.negate(&s) } else { s };
        let key = self.key(point(secret));
        Some(EcdsaCheck { digest: bytes(&digest), r: bytes(&r), s: bytes(&s), key })
    }

    /// Signed by this key.
    pub fn by(&mut self, secret: &BigUint) -> EcdsaCheck {
        loop {
            let (u1, u2) = (self.any(), self.any());
            if let Some(check) = self.signed(secret, &u1, &u2) {
                return check;
            }
        }
    }

    pub fn random(&mut self) -> EcdsaCheck {
        let secret = self.any();
        self.by(&secret)
    }

    /// Multipliers that make the sums of many steps meet, among them `u1 * G = u2 * Q`.
    pub fn chosen_multipliers(&mut self, secret: &BigUint) -> Option<EcdsaCheck> {
        let u2 = self.chosen();
        let u1 = match self.random.below(4) {
            0 => &u2 * secret % &self.n,
            1 => BigUint::ZERO,
            _ => self.chosen(),
        };
        self.signed(secret, &u1, &u2)
    }

    pub fn chosen_secret(&mut self) -> BigUint {
        self.chosen()
    }

    /// `u1 * G = -u2 * Q`
    pub fn infinite(&mut self, secret: &BigUint) -> EcdsaCheck {
        let (r, s) = (self.chosen(), self.chosen());
        let digest = self.negate(&(&r * secret));
        let key = self.key(point(secret));
        EcdsaCheck { digest: bytes(&digest), r: bytes(&r), s: bytes(&s), key }
    }

    /// A number at its bound.
    pub fn edged(&mut self, secret: &BigUint) -> EcdsaCheck {
        let mut check = self.by(secret);
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

    /// A bit flipped, or another form of key.
    pub fn spoilt(&mut self, secret: &BigUint) -> EcdsaCheck {
        let mut check = self.by(secret);
        let form = self.random.below(10) as u8;
        match (self.random.below(5), &mut check.key) {
            (0, _) => self.random.flip(&mut check.digest),
            (1, _) => self.random.flip(&mut check.r),
            (2, _) => self.random.flip(&mut check.s),
            (3, Key::Compressed(bytes)) => self.random.flip(bytes),
            (3, Key::Uncompressed(bytes)) => self.random.flip(bytes),
            (_, Key::Compressed(bytes)) => bytes[0] = form,
            (_, Key::Uncompressed(bytes)) => bytes[0] = form,
        }
        check
    }

    /// Valid signatures of which x of the sum is `r + n`, or r itself, both below `p - n`: the key
    /// is the sum, or its opposite.
    pub fn small_r(&mut self) -> EcdsaCheck {
        loop {
            let r = BigUint::from(self.random.below(1 << 20) + 1);
            let x = if self.random.below(2) == 0 { &r + &self.n } else { r.clone() };
            let right = (x.modpow(&BigUint::from(3u8), &self.p) + &self.b + &self.p * 3u8
                - &x * 3u8 % &self.p)
                % &self.p;
            let root = right.modpow(&((&self.p + 1u8) >> 2), &self.p);
            if &root * &root % &self.p != right {
                continue;
            }
            let mut key = [2 + self.random.below(2) as u8; 33];
            key[1..].copy_from_slice(&bytes(&x));
            let s = if self.random.below(2) == 0 { self.negate(&r) } else { r.clone() };
            let key = Key::Compressed(key);
            return EcdsaCheck { digest: [0; 32], r: bytes(&r), s: bytes(&s), key };
        }
    }
}
