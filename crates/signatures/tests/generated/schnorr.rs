//! Schnorr signatures (BIP340): `s * G - e * P` is the point with x = r and an even y, where e is
//! the hash of r, P and the message.

use blockmill_hashes::sha256;
use blockmill_signatures::SchnorrCheck;
use num_bigint::BigUint;
use std::sync::OnceLock;

use super::points::coordinates;
use super::{Generator, Kind, Known, bytes, number, random, structured};

type Case = (SchnorrCheck, Option<bool>);

/// Every kind; the first comes more often than the other random ones.
pub const KINDS: [Kind<SchnorrCheck, bool>; 16] = [
    random("signatures", signature),
    random("one number replaced by a random one", replaced),
    structured("chosen keys and nonces", |cases| {
        let (key, nonce) = (cases.chosen_point(), cases.chosen_point());
        (cases.schnorr(&key, &nonce), Some(true))
    }),
    structured("the nonce is the key", |cases| {
        let key = cases.chosen_point();
        (cases.schnorr(&key, &key), Some(true))
    }),
    structured("equal terms", |cases| cases.with_terms(|_, term| term)),
    structured("sums at infinity", |cases| cases.with_terms(|cases, term| cases.negate(&term))),
    structured("sums that meet the last multiple of G", meeting),
    structured("an odd y", odd_y),
    structured("the key's opposite", opposite_key),
    structured("numbers at their bounds", edges),
    structured("a flipped bit", flipped),
    structured("keys off the curve", off_curve),
    structured("images of the endomorphism", images),
    structured("the image of a key or of a sum", other_image),
    structured("repeated keys", |cases| {
        let (key, nonce) = (cases.regular(), cases.walk());
        (cases.schnorr(&key, &nonce), Some(true))
    }),
    structured("mixed up", mixed_up),
];

/// The hash of r, the key's x and the message.
fn challenge(r: &[u8; 32], key: &[u8; 32], message: &[u8; 32]) -> BigUint {
    static TAG: OnceLock<[u8; 32]> = OnceLock::new();
    let tag = *TAG.get_or_init(|| sha256(b"BIP0340/challenge"));
    let mut bytes = [0; 160];
    for (part, from) in bytes.chunks_mut(32).zip([&tag, &tag, r, key, message]) {
        part.copy_from_slice(from);
    }
    number(&sha256(&bytes))
}

fn compose(r: &[u8; 32], s: &BigUint) -> [u8; 64] {
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(r);
    signature[32..].copy_from_slice(&bytes(s));
    signature
}

fn halves(signature: &mut [u8; 64]) -> (&mut [u8], &mut [u8]) {
    signature.split_at_mut(32)
}

impl Generator {
    fn schnorr(&mut self, key: &Known, nonce: &Known) -> SchnorrCheck {
        let ((key, secret), (r, nonce)) = (self.even(key), self.even(nonce));
        let message = self.random.bytes();
        let s = (nonce + challenge(&r, &key, &message) * secret) % &self.n;
        SchnorrCheck { message, signature: compose(&r, &s), key }
    }

    /// Not valid: r is any, and s is what `s` makes of the number whose multiple is `-e * P`.
    fn with_terms(&mut self, s: impl FnOnce(&mut Self, BigUint) -> BigUint) -> Case {
        let (key, nonce) = (self.chosen_point(), self.walk());
        let ((key, secret), (r, _)) = (self.even(&key), self.even(&nonce));
        let message = self.random.bytes();
        let term = self.negate(&(challenge(&r, &key, &message) * secret));
        let s = s(self, term);
        (SchnorrCheck { message, signature: compose(&r, &s), key }, Some(false))
    }
}

fn signature(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    (cases.schnorr(&key, &nonce), Some(true))
}

fn replaced(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let bytes = cases.random.bytes();
    let (r, s) = halves(&mut check.signature);
    match cases.random.below(4) {
        0 => check.message = bytes,
        1 => r.copy_from_slice(&bytes),
        2 => s.copy_from_slice(&bytes),
        _ => check.key = bytes,
    }
    (check, Some(false))
}

/// `-e * P` and all multiples of G but the last sum up to that, or to its opposite.
///
/// So s is the opposite of `-e`'s number, or that with the last digit's sign changed. The digits
/// are odd: of some bits each, and of n less in size.
fn meeting(cases: &mut Generator) -> Case {
    cases.with_terms(|cases, term| {
        let width = [10, 10, 4, 5, 6, 7, 8, 9, 11, 12][cases.random.below(10)];
        let top = width * (256usize.div_ceil(width) - 1);
        let s = cases.negate(&term);
        // the digits below the last are together less than 1 at its place, and odd
        let (even, odd) = (!s.bit(0), &cases.n - &s);
        let size = if even { &odd } else { &s };
        let digit = ((size >> top) | BigUint::from(1u8)) << top;
        let less = digit * 2u8 % &cases.n;
        let less = cases.negated_if(!even, less);
        (s + less) % &cases.n
    })
}

/// The sum has the right x and an odd y.
fn odd_y(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    let mut check = cases.schnorr(&key, &nonce);
    let (r, s) = halves(&mut check.signature);
    let twice = cases.even(&nonce).1 * 2u8;
    let opposite = (BigUint::from_bytes_be(s) + cases.negate(&twice)) % &cases.n;
    check.signature = compose(&r.try_into().unwrap(), &opposite);
    (check, Some(false))
}

/// Signed for the point with the key's x and an odd y.
fn opposite_key(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    let ((key, secret), (r, nonce)) = (cases.even(&key), cases.even(&nonce));
    let message = cases.random.bytes();
    let s = (nonce + challenge(&r, &key, &message) * cases.negate(&secret)) % &cases.n;
    (SchnorrCheck { message, signature: compose(&r, &s), key }, Some(false))
}

fn edges(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let (edge, other) = (cases.edge(), cases.edge());
    let (r, s) = halves(&mut check.signature);
    match cases.random.below(5) {
        0 => r.copy_from_slice(&edge),
        1 => s.copy_from_slice(&edge),
        2 => {
            r.copy_from_slice(&edge);
            s.copy_from_slice(&other);
        }
        3 => check.message = edge,
        _ => check.key = edge,
    }
    (check, None)
}

fn flipped(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    match cases.random.below(3) {
        0 => cases.random.flip(&mut check.message),
        1 => cases.random.flip(&mut check.signature),
        _ => cases.random.flip(&mut check.key),
    }
    (check, Some(false))
}

/// The key has an x of no point, or one that is small, plus p.
fn off_curve(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    check.key = cases.no_x();
    (check, Some(false))
}

/// Keys and nonces that are images of others.
fn images(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    let key = if cases.random.coin() { cases.image(&key) } else { key };
    let nonce = if cases.random.coin() { cases.image(&nonce) } else { nonce };
    (cases.schnorr(&key, &nonce), Some(true))
}

/// A check of the image of the key, or with the x of the sum's image, hashed as they are.
fn other_image(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    let ((mut x, secret), (mut r, number)) = (cases.even(&key), cases.even(&nonce));
    if cases.random.coin() {
        x = coordinates(&cases.image(&key).point).0;
    } else {
        r = coordinates(&cases.image(&nonce).point).0;
    }
    let message = cases.random.bytes();
    let s = (number + challenge(&r, &x, &message) * secret) % &cases.n;
    (SchnorrCheck { message, signature: compose(&r, &s), key: x }, Some(false))
}

fn mixed_up(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let (r, s) = halves(&mut check.signature);
    match cases.random.below(6) {
        0 => r.swap_with_slice(s),
        1 => s.copy_from_slice(r),
        2 => r.copy_from_slice(&check.key),
        3 => check.signature = [0; 64],
        4 => check.signature = [255; 64],
        _ => std::mem::swap(&mut check.key, &mut check.message),
    }
    (check, Some(false))
}
