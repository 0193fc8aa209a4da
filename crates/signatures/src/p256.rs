//! One signature over P-256 at a time (FIPS 186-4): the baseline of the lanes, and the judge of all
//! cases that they do not decide. Tests hold it to AWS-LC.

mod modular;
mod point;

use crate::batch::{EcdsaCheck, Key};
use modular::{Number, Order, limbs_of};
use point::Point;
pub(crate) use point::power_of_generator;

type Scalar = Number<Order>;

/// Verifies one ECDSA signature on P-256 (FIPS 186-4). `Signatures::p256` verifies many.
///
/// ```
/// use blockmill_hashes::sha256;
/// use blockmill_signatures::{EcdsaCheck, Key, verify_p256};
///
/// // numbers of 0 are out of range
/// let key = Key::Compressed([2; 33]);
/// assert!(!verify_p256(&EcdsaCheck { digest: sha256(b"a block"), r: [0; 32], s: [0; 32], key }));
/// ```
#[must_use]
pub fn verify_p256(check: &EcdsaCheck) -> bool {
    verify(check).unwrap_or(false)
}

/// `None` if a number is out of range or the key is no point.
fn verify(check: &EcdsaCheck) -> Option<bool> {
    let (r, s) = (Scalar::of_bytes(&check.r)?, Scalar::of_bytes(&check.s)?);
    if r.is_zero() || s.is_zero() {
        return None;
    }
    let key = point(&check.key)?;
    let inverse = s.inverse();
    // the digest is below 2^256, which is less than twice the order
    let generator_times = Scalar::reduced(limbs_of(&check.digest)).times(&inverse).limbs();
    let sum = key.combined(generator_times, r.times(&inverse).limbs());
    Some(sum.has_x_modulo_order(r.limbs()))
}

/// The point that a key encodes (SEC 1, section 2.3.4).
fn point(key: &Key) -> Option<Point> {
    match key {
        Key::Compressed([form @ (2 | 3), x @ ..]) => Point::with_x(x, form & 1 == 1),
        Key::Compressed(_) => None,
        Key::Uncompressed([form, coordinates @ ..]) => {
            let ([x, y], _) = coordinates.as_chunks() else { return None };
            let fits = matches!((form, y[31] & 1), (4, _) | (6, 0) | (7, 1));
            Point::new(x, y).filter(|_| fits)
        }
    }
}

/// Whether `key` is a compressed public key of P-256 (SEC 1, section 2.3.3: a 2 or 3, then x): a
/// point of the curve has that x. Computes a square root.
///
/// ```
/// use blockmill_signatures::is_p256_key;
///
/// // a compressed key begins with 2 or 3
/// let mut key = [0; 33];
/// assert!(!is_p256_key(&key));
/// // of small x about one in two has a point
/// let found = (1..=200).filter(|x| {
///     (key[0], key[32]) = (2, *x);
///     is_p256_key(&key)
/// });
/// assert!((60..140).contains(&found.count()));
/// ```
#[must_use]
pub fn is_p256_key(key: &[u8; 33]) -> bool {
    point(&Key::Compressed(*key)).is_some()
}
