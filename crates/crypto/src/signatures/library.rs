//! One signature at a time by libsecp256k1: the baseline, the oracle, and the judge of all cases
//! that the lanes do not decide themselves.

#[cfg(feature = "std")]
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
#[cfg(feature = "std")]
use aws_lc_rs::digest::{Digest, SHA256};
#[cfg(feature = "std")]
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId, Signature};
use secp256k1::{Message, Parity, PublicKey, Scalar, XOnlyPublicKey, schnorr};

use super::{EcdsaCheck, Key, Recovery, SchnorrCheck, TweakCheck};

pub(crate) fn ecdsa(check: &EcdsaCheck) -> bool {
    let key = match check.key {
        Key::Compressed(bytes) => PublicKey::from_byte_array_compressed(bytes),
        Key::Uncompressed(bytes) => PublicKey::from_byte_array_uncompressed(bytes),
    };
    let (Ok(key), Ok(mut signature)) = (key, Signature::from_compact(&pair(&check.r, &check.s)))
    else {
        return false;
    };
    // the library takes only the smaller of s and n - s
    signature.normalize_s();
    signature.verify(Message::from_digest(check.digest), &key).is_ok()
}

pub(crate) fn schnorr(check: &SchnorrCheck) -> bool {
    let signature = schnorr::Signature::from_byte_array(check.signature);
    XOnlyPublicKey::from_byte_array(check.key)
        .is_ok_and(|key| signature.verify(&check.message, &key).is_ok())
}

pub(crate) fn tweak(check: &TweakCheck) -> bool {
    let keys = (
        XOnlyPublicKey::from_byte_array(check.key),
        XOnlyPublicKey::from_byte_array(check.tweaked),
        Scalar::from_be_bytes(check.tweak),
    );
    let (Ok(key), Ok(tweaked), Ok(tweak)) = keys else { return false };
    let parity = if check.odd { Parity::Odd } else { Parity::Even };
    key.tweak_add_check(&tweaked, parity, tweak)
}

pub(crate) fn recover(signature: &Recovery) -> Option<[u8; 64]> {
    let id = RecoveryId::try_from(i32::from(signature.recovery_id)).ok()?;
    let compact = pair(&signature.r, &signature.s);
    let recoverable = RecoverableSignature::from_compact(&compact, id).ok()?;
    let key = recoverable.recover(Message::from_digest(signature.digest)).ok()?;
    let [_form, key @ ..] = key.serialize_uncompressed();
    Some(key)
}

/// On P-256, by AWS-LC.
#[cfg(feature = "std")]
pub(crate) fn p256(check: &EcdsaCheck) -> bool {
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

/// x and y of `2^bit` times the generator of P-256 in big-endian bytes.
#[cfg(feature = "std")]
pub(crate) fn power_of_generator(bit: usize) -> Option<([u8; 32], [u8; 32])> {
    let mut number = [0; 32];
    number[31 - bit / 8] = 1 << (bit % 8);
    let secret = PrivateKey::from_private_key(&ECDH_P256, &number).ok()?;
    let key = secret.compute_public_key().ok()?;
    let [_form, key @ ..] = key.as_ref() else { return None };
    let ([x, y], _) = key.as_chunks() else { return None };
    Some((*x, *y))
}

fn pair(first: &[u8; 32], second: &[u8; 32]) -> [u8; 64] {
    let mut both = [0; 64];
    both[..32].copy_from_slice(first);
    both[32..].copy_from_slice(second);
    both
}
