//! Signatures generated from numbers: valid ones, and ones that no lane can decide.
//!
//! In those, the sum of points that verification computes is at infinity: everything is computed
//! before that comes out, and then the scalar library does its whole work, too. So they are the
//! most expensive that there are. Each has a key of its own.

use anyhow::Result;
use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, Key, Recovery, SchnorrCheck, TweakCheck};
use secp256k1::ecdsa::{RecoverableSignature, Signature};
use secp256k1::{Keypair, Message, Parity, PublicKey, Scalar, SecretKey};

/// The key pair and the digest with this number.
fn signer(number: u64) -> Result<(Keypair, [u8; 32])> {
    let digest = sha256(&number.to_le_bytes());
    let secret = SecretKey::from_secret_bytes(sha256(&digest))?;
    Ok((Keypair::from_secret_key(&secret), digest))
}

/// The two halves of a signature.
fn halves(compact: [u8; 64]) -> ([u8; 32], [u8; 32]) {
    let (mut first, mut second) = ([0; 32], [0; 32]);
    first.copy_from_slice(&compact[..32]);
    second.copy_from_slice(&compact[32..]);
    (first, second)
}

/// The product modulo the order of the group.
fn product(a: SecretKey, b: [u8; 32]) -> Result<SecretKey> {
    Ok(a.mul_tweak(&Scalar::from_be_bytes(b)?)?)
}

pub(super) fn ecdsa_compressed(number: u64) -> Result<(EcdsaCheck, bool)> {
    ecdsa(number, |key| Key::Compressed(key.serialize()))
}

pub(super) fn ecdsa_uncompressed(number: u64) -> Result<(EcdsaCheck, bool)> {
    ecdsa(number, |key| Key::Uncompressed(key.serialize_uncompressed()))
}

fn ecdsa(number: u64, key: fn(PublicKey) -> Key) -> Result<(EcdsaCheck, bool)> {
    let (pair, digest) = signer(number)?;
    let signature: Signature = pair.secret_key().sign_ecdsa(Message::from_digest(digest));
    let (r, s) = halves(signature.serialize_compact());
    Ok((EcdsaCheck { digest, r, s, key: key(pair.public_key()) }, true))
}

pub(super) fn ecdsa_undecided(number: u64) -> Result<(EcdsaCheck, bool)> {
    undecided(number, ecdsa_compressed(number)?.0)
}

pub(super) fn ecdsa_undecided_uncompressed(number: u64) -> Result<(EcdsaCheck, bool)> {
    undecided(number, ecdsa_uncompressed(number)?.0)
}

/// `digest * G + r * Q` is at infinity for the digest `-r * q`.
fn undecided(number: u64, check: EcdsaCheck) -> Result<(EcdsaCheck, bool)> {
    let (pair, _) = signer(number)?;
    let digest = product(pair.secret_key(), check.r)?.negate().to_secret_bytes();
    Ok((EcdsaCheck { digest, ..check }, false))
}

pub(super) fn schnorr(number: u64) -> Result<(SchnorrCheck, bool)> {
    let (pair, message) = signer(number)?;
    let signature = pair.sign_schnorr_no_aux_rand(&message).to_byte_array();
    let key = pair.x_only_public_key().0.to_byte_array();
    Ok((SchnorrCheck { message, signature, key }, true))
}

/// `s * G - e * P` is at infinity for the s `e * p`; the point of the signature may be any.
pub(super) fn schnorr_undecided(number: u64) -> Result<(SchnorrCheck, bool)> {
    let (pair, _) = signer(number)?;
    let (mut check, _) = schnorr(number)?;
    let (r, _) = halves(check.signature);
    let tag = sha256(b"BIP0340/challenge");
    let challenge = sha256(&[tag, tag, r, check.key, check.message].concat());
    let s = product(secret_of_even(&pair), challenge)?.to_secret_bytes();
    check.signature[32..].copy_from_slice(&s);
    Ok((check, false))
}

/// The secret of the point that has the key's x and an even y.
fn secret_of_even(pair: &Keypair) -> SecretKey {
    match pair.x_only_public_key().1 {
        Parity::Even => pair.secret_key(),
        Parity::Odd => pair.secret_key().negate(),
    }
}

pub(super) fn tweak(number: u64) -> Result<(TweakCheck, bool)> {
    let (pair, tweak) = signer(number)?;
    let key = pair.x_only_public_key().0;
    let (tweaked, parity) = key.add_tweak(&Scalar::from_be_bytes(tweak)?)?;
    let (key, tweaked) = (key.to_byte_array(), tweaked.to_byte_array());
    Ok((TweakCheck { key, tweak, tweaked, odd: parity == Parity::Odd }, true))
}

/// `P + t * G` is at infinity for the tweak `-p`.
pub(super) fn tweak_undecided(number: u64) -> Result<(TweakCheck, bool)> {
    let (pair, _) = signer(number)?;
    let tweak = secret_of_even(&pair).negate().to_secret_bytes();
    Ok((TweakCheck { tweak, ..self::tweak(number)?.0 }, false))
}

pub(super) fn recovery(number: u64) -> Result<(Recovery, Option<[u8; 64]>)> {
    let (pair, digest) = signer(number)?;
    let message = Message::from_digest(digest);
    let signature = RecoverableSignature::sign_ecdsa_recoverable(message, &pair.secret_key());
    let (id, compact) = signature.serialize_compact();
    let (r, s) = halves(compact);
    let [_form, key @ ..] = pair.public_key().serialize_uncompressed();
    Ok((Recovery { digest, r, s, recovery_id: id.into() }, Some(key)))
}

/// `s * R - digest * G` is at infinity for the point `R = k * G` and the digest `s * k`.
pub(super) fn recovery_undecided(number: u64) -> Result<(Recovery, Option<[u8; 64]>)> {
    let (pair, digest) = signer(number)?;
    let nonce = pair.secret_key();
    let [form, r_and_y @ ..] = pair.public_key().serialize_uncompressed();
    debug_assert_eq!(form, 4);
    let (r, y) = halves(r_and_y);
    let s = SecretKey::from_secret_bytes(sha256(&[digest, r].concat()))?.to_secret_bytes();
    let digest = product(nonce, s)?.to_secret_bytes();
    Ok((Recovery { digest, r, s, recovery_id: y[31] & 1 }, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_signatures::{Signatures, Width};

    /// All variants must say what the makers say; the scalar library has the last word.
    #[track_caller]
    fn assert_right<T, U: Clone + Default + PartialEq + std::fmt::Debug>(
        make: fn(u64) -> Result<(T, U)>,
        verify: fn(&Signatures, &[T], &mut [U]),
    ) {
        let generated = (0..40).map(|number| make(number).unwrap());
        let (checks, answers): (Vec<T>, Vec<U>) = generated.unzip();
        for with in Width::ALL.into_iter().filter_map(Signatures::with) {
            let mut found = vec![U::default(); checks.len()];
            verify(&with, &checks, &mut found);
            assert_eq!(found, answers, "{:?}", with.width());
        }
    }

    #[test]
    fn the_makers_know_the_verdicts() {
        assert_right(ecdsa_compressed, Signatures::ecdsa);
        assert_right(ecdsa_uncompressed, Signatures::ecdsa);
        assert_right(ecdsa_undecided, Signatures::ecdsa);
        assert_right(ecdsa_undecided_uncompressed, Signatures::ecdsa);
        assert_right(schnorr, Signatures::schnorr);
        assert_right(schnorr_undecided, Signatures::schnorr);
        assert_right(tweak, Signatures::tweaks);
        assert_right(tweak_undecided, Signatures::tweaks);
        assert_right(recovery, Signatures::recover);
        assert_right(recovery_undecided, Signatures::recover);
    }

    #[test]
    fn sums_of_undecided_signatures_are_at_infinity() {
        // one more in s or the digest, and there is a sum: a key can be recovered again
        let (mut recovery, _) = recovery_undecided(7).unwrap();
        recovery.digest[31] ^= 1;
        let mut keys = [None];
        Signatures::scalar().recover(&[recovery], &mut keys);
        assert!(keys[0].is_some());
    }
}
