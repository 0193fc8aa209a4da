//! One signature over P-256 at a time by AWS-LC: the baseline, the oracle, and the judge of all
//! cases that the lanes do not decide themselves.

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ParsedPublicKey, UnparsedPublicKey};

use super::library::pair;
use super::{EcdsaCheck, Key};

pub(crate) fn ecdsa(check: &EcdsaCheck) -> bool {
    let key = match &check.key {
        Key::Compressed(bytes) => &bytes[..],
        Key::Uncompressed(bytes) => &bytes[..],
    };
    Digest::import_less_safe(&check.digest, &SHA256).is_ok_and(|digest| {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
            .verify_digest(&digest, &pair(&check.r, &check.s))
            .is_ok()
    })
}

/// Is `key` a compressed public key (SEC 1, section 2.3.3: a 2 or 3, then x) of P-256, so that a
/// point of the curve has that x? It takes a square root.
#[must_use]
pub fn is_p256_key(key: &[u8; 33]) -> bool {
    matches!(key[0], 2 | 3) && ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).is_ok()
}

/// x and y of `2^bit` times the generator in big-endian bytes.
pub(crate) fn power_of_generator(bit: usize) -> Option<([u8; 32], [u8; 32])> {
    let mut number = [0; 32];
    number[31 - bit / 8] = 1 << (bit % 8);
    let secret = PrivateKey::from_private_key(&ECDH_P256, &number).ok()?;
    let key = secret.compute_public_key().ok()?;
    let [_form, key @ ..] = key.as_ref() else { return None };
    let ([x, y], _) = key.as_chunks() else { return None };
    Some((*x, *y))
}
