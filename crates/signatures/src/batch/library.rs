//! One signature at a time by libsecp256k1: the baseline, the oracle, and the judge of all cases
//! that the lanes do not decide themselves.

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

pub(super) fn pair(first: &[u8; 32], second: &[u8; 32]) -> [u8; 64] {
    let mut both = [0; 64];
    both[..32].copy_from_slice(first);
    both[32..].copy_from_slice(second);
    both
}
