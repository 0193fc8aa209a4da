//! Points of P-256 as public keys: their two forms and their order.

use std::cmp::Ordering;

use blockmill_signatures::is_p256_key;
use num_bigint::BigUint;

use super::PublicKey;

/// Compresses a key in either form (`keys.PublicKey.DecodeBytes`); `None` if it is not on the
/// curve.
#[must_use]
pub fn compressed(bytes: &[u8]) -> Option<PublicKey> {
    let key = match *bytes {
        [4, ..] if bytes.len() == 65 => {
            let mut key = [2 + (bytes[64] & 1); 33];
            key[1..].copy_from_slice(&bytes[1..33]);
            is_on_curve(&bytes[1..33], &bytes[33..]).then_some(key)?
        }
        _ => bytes.try_into().ok()?,
    };
    is_p256_key(&key).then_some(key)
}

fn hex(digits: &[u8]) -> BigUint {
    BigUint::parse_bytes(digits, 16).unwrap_or_default()
}

/// The prime of P-256.
fn prime() -> BigUint {
    hex(b"ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
}

/// `x^3 - 3x + b`, which is `y^2` of a point (FIPS 186-4, D.1.2.3).
fn square_of_y(x: &BigUint, p: &BigUint) -> BigUint {
    let b = hex(b"5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b");
    // minus 3 is p - 3
    (x * x * x + (p - 3u8) * x + b) % p
}

fn is_on_curve(x: &[u8], y: &[u8]) -> bool {
    let (p, x, y) = (prime(), BigUint::from_bytes_be(x), BigUint::from_bytes_be(y));
    x < p && y < p && &y * &y % &p == square_of_y(&x, &p)
}

/// The `y` of a key's point.
fn y_of(key: &PublicKey) -> BigUint {
    let p = prime();
    let square = square_of_y(&BigUint::from_bytes_be(&key[1..]), &p);
    // p is 3 modulo 4
    let root = square.modpow(&((&p + 1u8) >> 2), &p);
    match root.bit(0) == (key[0] & 1 == 1) {
        true => root,
        false => p - root,
    }
}

/// The order of points (`PublicKey.Cmp`): by x; the two points that have the same by y.
#[must_use]
pub fn compare(a: &PublicKey, b: &PublicKey) -> Ordering {
    a[1..].cmp(&b[1..]).then_with(|| match a[0] == b[0] {
        true => Ordering::Equal,
        false => y_of(a).cmp(&y_of(b)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_by_x_and_then_by_y() {
        // the generator: its y begins with 0x4f, so its negative has the larger y
        let x = hex(b"6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296");
        let y = hex(b"4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5");
        let key = |odd: u8| {
            let mut key = [2 + odd; 33];
            key[1..].copy_from_slice(&x.to_bytes_be());
            key
        };
        assert_eq!((y_of(&key(1)), y_of(&key(0))), (y.clone(), prime() - y));
        assert_eq!(compare(&key(1), &key(0)), Ordering::Less);
        assert_eq!(compare(&key(0), &key(0)), Ordering::Equal);
        let mut next = key(1);
        next[32] += 1;
        assert_eq!(compare(&next, &key(0)), Ordering::Greater);
    }
}
