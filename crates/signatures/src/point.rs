//! Points of secp256k1: is one on the curve, and which y belongs to an x.

use secp256k1::PublicKey;

/// Whether `key` is an uncompressed public key of secp256k1 (SEC 1, section 2.3.3: a 4, then x and
/// y, big-endian) with a point on the curve.
///
/// ```
/// use blockmill_signatures::is_public_key;
/// use secp256k1::{PublicKey, SecretKey};
///
/// let secret = SecretKey::from_secret_bytes([7; 32])?;
/// let mut key = PublicKey::from_secret_key(&secret).serialize_uncompressed();
/// assert!(is_public_key(&key));
/// key[64] ^= 1;
/// assert!(!is_public_key(&key));
/// # Ok::<(), secp256k1::Error>(())
/// ```
#[must_use]
pub fn is_public_key(key: &[u8; 65]) -> bool {
    // the library also takes the hybrid forms 6 and 7
    key[0] == 4 && PublicKey::from_slice(key).is_ok()
}

/// Returns the uncompressed form of a public key of secp256k1, from its x and the parity of its y;
/// `None` if no point of the curve has that x.
///
/// It computes a square root: some 50 times the work of [`is_public_key`].
///
/// ```
/// use blockmill_signatures::uncompress_public_key;
/// use secp256k1::{PublicKey, SecretKey};
///
/// let key = PublicKey::from_secret_key(&SecretKey::from_secret_bytes([7; 32])?);
/// let [form, x @ ..] = key.serialize();
/// assert_eq!(uncompress_public_key(&x, form == 3), Some(key.serialize_uncompressed()));
/// assert_eq!(uncompress_public_key(&[0xff; 32], false), None);
/// # Ok::<(), secp256k1::Error>(())
/// ```
#[must_use]
pub fn uncompress_public_key(x: &[u8; 32], odd: bool) -> Option<[u8; 65]> {
    let mut key = [2 + u8::from(odd); 33];
    key[1..].copy_from_slice(x);
    PublicKey::from_slice(&key).ok().map(|key| key.serialize_uncompressed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secp256k1::constants::{GENERATOR_X, GENERATOR_Y};

    #[test]
    fn the_generator_is_on_the_curve_and_its_mirror_image_has_the_other_parity() {
        let mut key = [4; 65];
        key[1..33].copy_from_slice(&GENERATOR_X);
        key[33..].copy_from_slice(&GENERATOR_Y);
        assert!(is_public_key(&key));
        let odd = GENERATOR_Y[31] & 1 == 1;
        assert_eq!(uncompress_public_key(&GENERATOR_X, odd), Some(key));
        let mirrored = uncompress_public_key(&GENERATOR_X, !odd).unwrap();
        assert!(is_public_key(&mirrored));
        assert_eq!(mirrored[..33], key[..33]);
        assert_ne!(mirrored[33..], key[33..]);
    }

    #[test]
    fn other_forms_and_points_off_the_curve_are_no_keys() {
        let mut key = uncompress_public_key(&GENERATOR_X, false).unwrap();
        for form in [0, 2, 3, 5, 6, 7] {
            key[0] = form;
            assert!(!is_public_key(&key), "form {form}");
        }
        key[0] = 4;
        key[64] ^= 1;
        assert!(!is_public_key(&key));
        let mut five = [0; 32];
        five[31] = 5;
        // 5^3 + 7 is no square in the field
        assert_eq!(uncompress_public_key(&five, false), None);
        assert_eq!(uncompress_public_key(&[0xff; 32], false), None);
    }
}
