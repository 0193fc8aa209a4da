//! Signatures of P-256, generated like the ones of secp256k1.

use anyhow::{Result, anyhow};
use blockmill_hashes::sha256;
use blockmill_signatures::{EcdsaCheck, Key};
use p256::Scalar;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::PrimeField;

/// Keys that come again and again: as many as a Neo network has validators.
const KEYS: u64 = 7;

fn signer(number: u64) -> Result<SigningKey> {
    Ok(SigningKey::from_slice(&sha256(&sha256(&number.to_le_bytes())))?)
}

fn signed(number: u64, signer: &SigningKey) -> Result<EcdsaCheck> {
    let digest = sha256(&number.to_le_bytes());
    let signature: Signature = signer.sign_prehash(&digest)?;
    let (r, s) = signature.split_bytes();
    let mut key = [0; 33];
    key.copy_from_slice(signer.verifying_key().to_encoded_point(true).as_bytes());
    Ok(EcdsaCheck { digest, r: r.into(), s: s.into(), key: Key::Compressed(key) })
}

pub(super) fn good(number: u64) -> Result<(EcdsaCheck, bool)> {
    Ok((signed(number, &signer(number)?)?, true))
}

/// One of a few keys.
pub(super) fn repeated(number: u64) -> Result<(EcdsaCheck, bool)> {
    Ok((signed(number, &signer(number % KEYS)?)?, true))
}

pub(super) fn undecided(number: u64) -> Result<(EcdsaCheck, bool)> {
    infinite(number, &signer(number)?)
}

pub(super) fn repeated_undecided(number: u64) -> Result<(EcdsaCheck, bool)> {
    infinite(number, &signer(number % KEYS)?)
}

/// `digest * G + r * Q` is at infinity for the digest `-r * q`.
fn infinite(number: u64, signer: &SigningKey) -> Result<(EcdsaCheck, bool)> {
    let check = signed(number, signer)?;
    let r = Option::<Scalar>::from(Scalar::from_repr(check.r.into()));
    let r = r.ok_or_else(|| anyhow!("r of signature {number} is not below the order"))?;
    let digest = -(r * signer.as_nonzero_scalar().as_ref());
    Ok((EcdsaCheck { digest: digest.to_repr().into(), ..check }, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_signatures::{KeyTables, Signatures, Width};

    type Maker = fn(u64) -> Result<(EcdsaCheck, bool)>;

    #[test]
    fn the_makers_know_the_verdicts() {
        for make in [good as Maker, repeated, undecided, repeated_undecided] {
            let generated = (0..40).map(|number| make(number).unwrap());
            let (checks, answers): (Vec<_>, Vec<bool>) = generated.unzip();
            for with in Width::ALL.into_iter().filter_map(Signatures::with) {
                let mut found = vec![false; checks.len()];
                with.p256(&checks, &KeyTables::new(1 << 20), &mut found);
                assert_eq!(found, answers, "{:?}", with.width());
            }
        }
    }

    #[test]
    fn repeated_keys_are_few() {
        let mut keys: Vec<_> = (0..100).map(|number| repeated(number).unwrap().0.key).collect();
        keys.sort_by_key(|key| format!("{key:?}"));
        keys.dedup();
        assert_eq!(keys.len(), KEYS as usize);
    }
}
