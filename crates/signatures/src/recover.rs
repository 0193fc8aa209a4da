//! The signer of a message, from an ECDSA signature over secp256k1.
//!
//! The curve is libsecp256k1's; this file says which of its calls, and what they refuse.

use core::fmt;
use secp256k1::Message;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};

/// Recovers the public key with which `r` and `s` sign `digest` (SEC 1, section 4.1.6): the
/// coordinates x and y of a point, 32 bytes each. All numbers are big-endian.
///
/// `y_parity` says whether the y coordinate of the signature's own point is odd. Points with an x
/// that is not below the group's order, which `r` cannot distinguish from others, are not
/// considered: chains reject such signatures. Large `s` are accepted; the caller decides which of
/// the two it allows.
///
/// # Errors
///
/// Returns [`RecoverError`] if a number is out of range or the signature has no key.
///
/// ```
/// use blockmill_signatures::recover;
/// use blockmill_hashes::sha256;
/// use secp256k1::ecdsa::RecoverableSignature;
/// use secp256k1::{Message, PublicKey, SecretKey};
///
/// let secret = SecretKey::from_secret_bytes([7; 32])?;
/// let digest = sha256(b"pay 5 to Bob");
/// let message = Message::from_digest(digest);
/// let signature = RecoverableSignature::sign_ecdsa_recoverable(message, &secret);
/// let (id, numbers) = signature.serialize_compact();
/// let (mut r, mut s) = ([0; 32], [0; 32]);
/// r.copy_from_slice(&numbers[..32]);
/// s.copy_from_slice(&numbers[32..]);
/// let [_, signer @ ..] = PublicKey::from_secret_key(&secret).serialize_uncompressed();
///
/// assert_eq!(recover(&digest, &r, &s, id.to_u8() == 1), Ok(signer));
/// # Ok::<(), secp256k1::Error>(())
/// ```
pub fn recover(
    digest: &[u8; 32],
    r: &[u8; 32],
    s: &[u8; 32],
    y_parity: bool,
) -> Result<[u8; 64], RecoverError> {
    let mut compact = [0; 64];
    compact[..32].copy_from_slice(r);
    compact[32..].copy_from_slice(s);
    let id = if y_parity { RecoveryId::One } else { RecoveryId::Zero };
    let signature = RecoverableSignature::from_compact(&compact, id);
    let signature = signature.map_err(|_| RecoverError::Overflow)?;
    let key = signature.recover(Message::from_digest(*digest));
    let [_form, key @ ..] = key.map_err(|_| RecoverError::NoKey)?.serialize_uncompressed();
    Ok(key)
}

/// The reason why a signature has no key.
///
/// ```
/// use blockmill_signatures::{RecoverError, recover};
///
/// assert_eq!(recover(&[1; 32], &[0xff; 32], &[1; 32], false), Err(RecoverError::Overflow));
/// assert_eq!(recover(&[1; 32], &[0; 32], &[1; 32], false), Err(RecoverError::NoKey));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverError {
    /// `r` or `s` is not below the order of the group.
    Overflow,
    /// `r` or `s` is 0, or no point of the curve has the coordinate `r`, or the key would be the
    /// point at infinity.
    NoKey,
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "expected r and s below the group's order, found a larger number",
            Self::NoKey => "expected a signature of some key, found one of no key",
        })
    }
}

impl core::error::Error for RecoverError {}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_hashes::keccak256;
    use secp256k1::constants::CURVE_ORDER;
    use secp256k1::{PublicKey, SecretKey};

    /// A key and its signature of `digest`: public key, r, s, parity.
    fn signed(digest: [u8; 32]) -> ([u8; 64], [u8; 32], [u8; 32], bool) {
        let secret = SecretKey::from_secret_bytes(keccak256(&digest)).unwrap();
        let [_, key @ ..] = PublicKey::from_secret_key(&secret).serialize_uncompressed();
        let signature =
            RecoverableSignature::sign_ecdsa_recoverable(Message::from_digest(digest), &secret);
        let (id, compact) = signature.serialize_compact();
        let half = |at: usize| compact[at..at + 32].try_into().unwrap();
        (key, half(0), half(32), id == RecoveryId::One)
    }

    #[test]
    fn the_signer_is_recovered_and_the_other_parity_names_another() {
        for i in 0..64u8 {
            let digest = keccak256(&[i]);
            let (key, r, s, parity) = signed(digest);
            assert_eq!(recover(&digest, &r, &s, parity), Ok(key));
            let other = recover(&digest, &r, &s, !parity).unwrap();
            assert_ne!(other, key);
            // n - s is the same signature of the mirrored point
            let mirrored = difference(&CURVE_ORDER, &s);
            assert_eq!(recover(&digest, &r, &mirrored, !parity), Ok(key));
        }
    }

    fn difference(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
        let (mut out, mut borrow) = ([0; 32], false);
        for i in (0..32).rev() {
            let (digit, under) = a[i].overflowing_sub(b[i]);
            let (digit, again) = digit.overflowing_sub(borrow.into());
            (out[i], borrow) = (digit, under || again);
        }
        out
    }

    #[test]
    fn numbers_outside_the_group_sign_nothing() {
        let digest = keccak256(b"");
        let (key, r, s, parity) = signed(digest);
        let zero = [0; 32];
        assert_eq!(recover(&digest, &r, &s, parity), Ok(key));
        assert_eq!(recover(&digest, &zero, &s, parity), Err(RecoverError::NoKey));
        assert_eq!(recover(&digest, &r, &zero, parity), Err(RecoverError::NoKey));
        assert_eq!(recover(&digest, &CURVE_ORDER, &s, parity), Err(RecoverError::Overflow));
        assert_eq!(recover(&digest, &r, &[0xff; 32], parity), Err(RecoverError::Overflow));
    }

    #[test]
    fn coordinates_off_the_curve_and_the_point_at_infinity_have_no_key() {
        let (digest, mut five) = ([0; 32], [0; 32]);
        five[31] = 5;
        // 5^3 + 7 is no square in the field
        assert_eq!(recover(&digest, &five, &five, false), Err(RecoverError::NoKey));
        // with G as the signature's point and s = digest, the key is (s - digest) / r times G
        let x = secp256k1::constants::GENERATOR_X;
        assert_eq!(recover(&five, &x, &five, false), Err(RecoverError::NoKey));
    }
}
