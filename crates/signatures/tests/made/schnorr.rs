//! Schnorr signatures (BIP340): `s * G - e * P` is the point with x = r and an even y, where e is
//! the hash of r, P and the message.

use blockmill_hashes::sha256;
use blockmill_signatures::SchnorrCheck;
use num_bigint::BigUint;
use std::sync::OnceLock;

use super::points::coordinates;
use super::{Kind, Known, Made, bytes, number, random, structured};

type Case = (SchnorrCheck, Option<bool>);

/// Every kind; the first comes more often than the other random ones.
pub const KINDS: [Kind<SchnorrCheck, bool>; 16] = [
    random("signatures", signature),
    random("one number replaced by a random one", replaced),
    structured("chosen keys and nonces", |made| {
        let (key, nonce) = (made.chosen_point(), made.chosen_point());
        (made.schnorr(&key, &nonce), Some(true))
    }),
    structured("the nonce is the key", |made| {
        let key = made.chosen_point();
        (made.schnorr(&key, &key), Some(true))
    }),
    structured("equal terms", |made| made.with_terms(|_, term| term)),
    structured("sums at infinity", |made| made.with_terms(|made, term| made.negate(&term))),
    structured("sums that meet the last multiple of G", meeting),
    structured("an odd y", odd_y),
    structured("the key's opposite", opposite_key),
    structured("numbers at their bounds", edges),
    structured("a flipped bit", flipped),
    structured("keys off the curve", off_curve),
    structured("images of the endomorphism", images),
    structured("the image of a key or of a sum", other_image),
    structured("repeated keys", |made| {
        let (key, nonce) = (made.regular(), made.walk());
        (made.schnorr(&key, &nonce), Some(true))
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

impl Made {
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

fn signature(made: &mut Made) -> Case {
    let (key, nonce) = (made.walk(), made.walk());
    (made.schnorr(&key, &nonce), Some(true))
}

fn replaced(made: &mut Made) -> Case {
    let (mut check, _) = signature(made);
    let bytes = made.random.bytes();
    let (r, s) = halves(&mut check.signature);
    match made.random.below(4) {
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
fn meeting(made: &mut Made) -> Case {
    made.with_terms(|made, term| {
        let width = [10, 10, 4, 5, 6, 7, 8, 9, 11, 12][made.random.below(10)];
        let top = width * (256usize.div_ceil(width) - 1);
        let s = made.negate(&term);
        // the digits below the last are together less than 1 at its place, and odd
        let (even, odd) = (!s.bit(0), &made.n - &s);
        let size = if even { &odd } else { &s };
        let digit = ((size >> top) | BigUint::from(1u8)) << top;
        let less = digit * 2u8 % &made.n;
        let less = made.negated_if(!even, less);
        (s + less) % &made.n
    })
}

/// The sum has the right x and an odd y.
fn odd_y(made: &mut Made) -> Case {
    let (key, nonce) = (made.walk(), made.walk());
    let mut check = made.schnorr(&key, &nonce);
    let (r, s) = halves(&mut check.signature);
    let twice = made.even(&nonce).1 * 2u8;
    let opposite = (BigUint::from_bytes_be(s) + made.negate(&twice)) % &made.n;
    check.signature = compose(&r.try_into().unwrap(), &opposite);
    (check, Some(false))
}

/// Signed for the point with the key's x and an odd y.
fn opposite_key(made: &mut Made) -> Case {
    let (key, nonce) = (made.walk(), made.walk());
    let ((key, secret), (r, nonce)) = (made.even(&key), made.even(&nonce));
    let message = made.random.bytes();
    let s = (nonce + challenge(&r, &key, &message) * made.negate(&secret)) % &made.n;
    (SchnorrCheck { message, signature: compose(&r, &s), key }, Some(false))
}

fn edges(made: &mut Made) -> Case {
    let (mut check, _) = signature(made);
    let (edge, other) = (made.edge(), made.edge());
    let (r, s) = halves(&mut check.signature);
    match made.random.below(5) {
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

fn flipped(made: &mut Made) -> Case {
    let (mut check, _) = signature(made);
    match made.random.below(3) {
        0 => made.random.flip(&mut check.message),
        1 => made.random.flip(&mut check.signature),
        _ => made.random.flip(&mut check.key),
    }
    (check, Some(false))
}

/// The key has an x of no point, or one that is small, plus p.
fn off_curve(made: &mut Made) -> Case {
    let (mut check, _) = signature(made);
    check.key = made.no_x();
    (check, Some(false))
}

/// Keys and nonces that are images of others.
fn images(made: &mut Made) -> Case {
    let (key, nonce) = (made.walk(), made.walk());
    let key = if made.random.coin() { made.image(&key) } else { key };
    let nonce = if made.random.coin() { made.image(&nonce) } else { nonce };
    (made.schnorr(&key, &nonce), Some(true))
}

/// A check of the image of the key, or with the x of the sum's image, hashed as they are.
fn other_image(made: &mut Made) -> Case {
    let (key, nonce) = (made.walk(), made.walk());
    let ((mut x, secret), (mut r, number)) = (made.even(&key), made.even(&nonce));
    if made.random.coin() {
        x = coordinates(&made.image(&key).point).0;
    } else {
        r = coordinates(&made.image(&nonce).point).0;
    }
    let message = made.random.bytes();
    let s = (number + challenge(&r, &x, &message) * secret) % &made.n;
    (SchnorrCheck { message, signature: compose(&r, &s), key: x }, Some(false))
}

fn mixed_up(made: &mut Made) -> Case {
    let (mut check, _) = signature(made);
    let (r, s) = halves(&mut check.signature);
    match made.random.below(6) {
        0 => r.swap_with_slice(s),
        1 => s.copy_from_slice(r),
        2 => r.copy_from_slice(&check.key),
        3 => check.signature = [0; 64],
        4 => check.signature = [255; 64],
        _ => std::mem::swap(&mut check.key, &mut check.message),
    }
    (check, Some(false))
}
