//! Accounts that sign generated transactions and blocks.
//!
//! Their private keys are derived from the seed, so they are no secrets.

use anyhow::{Context, Result};
use blockmill_hashes::sha256;
use blockmill_neo::execute::vm::opcode::PUSHDATA1;
use blockmill_neo::types::{PublicKey, UInt160, write};
use blockmill_neo::witness::{Standard, multisig_script, signature_script};
use p256::ecdsa::signature::hazmat::PrehashSigner;
use p256::ecdsa::{Signature, SigningKey};

/// A push of a signature: two bytes, then r and s.
const SIGNATURE_PUSH: usize = 66;
/// Prices of instructions as coefficients: pushes, and the check of a signature.
const PUSH_UNITS: u64 = 8;
const CHECK_UNITS: u64 = 1 << 15;

/// Derives the key with this name and number.
pub fn key(seed: u64, name: &str, number: u32) -> Result<SigningKey> {
    let text = format!("blockmill neo {seed} {name} {number}");
    SigningKey::from_slice(&sha256(text.as_bytes())).context("a hash that is no key")
}

/// The compressed public key.
pub fn public(key: &SigningKey) -> PublicKey {
    let mut public = [0; 33];
    public.copy_from_slice(key.verifying_key().to_encoded_point(true).as_bytes());
    public
}

/// An account and its signing keys.
pub struct Account {
    /// In the order of the script.
    keys: Vec<SigningKey>,
    script: Vec<u8>,
    /// Its script hash.
    pub hash: UInt160,
}

impl Account {
    /// An account of one key.
    pub fn single(key: SigningKey) -> Self {
        let script = signature_script(&public(&key));
        let hash = UInt160::of_script(&script);
        Self { keys: vec![key], script, hash }
    }

    /// A multisig account: `needed` of the keys must sign.
    pub fn multisig(signatures: usize, keys: Vec<SigningKey>) -> Self {
        let publics: Vec<PublicKey> = keys.iter().map(public).collect();
        let script = multisig_script(signatures, &publics);
        let hash = UInt160::of_script(&script);
        let mut keys: Vec<_> = publics.into_iter().zip(keys).collect();
        keys.sort_by_key(|([sign, x @ ..], _)| (*x, *sign));
        let keys = keys.into_iter().map(|(_, key)| key).take(signatures).collect();
        Self { keys, script, hash }
    }

    /// Signs the hash of a transaction or block of the network with this magic. Returns the
    /// witness.
    pub fn sign(&self, magic: u32, hash: &[u8; 32], into: &mut Vec<u8>) -> Result<()> {
        write::string(into, &self.signatures(magic, hash)?);
        write::string(into, &self.script);
        Ok(())
    }

    /// Signs for a contract that takes the signatures. Returns the witness.
    pub fn sign_for_contract(&self, magic: u32, hash: &[u8; 32], into: &mut Vec<u8>) -> Result<()> {
        write::string(into, &self.signatures(magic, hash)?);
        write::string(into, &[]);
        Ok(())
    }

    /// The pushes of the signatures.
    fn signatures(&self, magic: u32, hash: &[u8; 32]) -> Result<Vec<u8>> {
        // `hash.GetSignedData`
        let mut message = [0; 36];
        message[..4].copy_from_slice(&magic.to_le_bytes());
        message[4..].copy_from_slice(hash);
        let digest = sha256(&message);
        let mut invocation = Vec::with_capacity(self.keys.len() * SIGNATURE_PUSH);
        for key in &self.keys {
            let signature: Signature = key.sign_prehash(&digest)?;
            invocation.extend_from_slice(&[PUSHDATA1, 64]);
            invocation.extend_from_slice(&signature.to_bytes());
        }
        Ok(invocation)
    }

    /// Size of its witness for a contract.
    pub fn contract_witness_length(&self) -> usize {
        let invocation = self.keys.len() * SIGNATURE_PUSH;
        write::number_length(invocation as u64) + invocation + 1
    }

    /// Size of its witness.
    pub fn witness_length(&self) -> usize {
        let invocation = self.keys.len() * SIGNATURE_PUSH;
        let with_length = |length: usize| write::number_length(length as u64) + length;
        with_length(invocation) + with_length(self.script.len())
    }

    /// Cost of its witness, in units.
    pub fn witness_units(&self) -> u64 {
        let keys = Standard::parse(&self.script).map_or(0, Standard::key_count) as u64;
        // two more pushes of numbers in a multisig script
        (self.keys.len() as u64 + keys) * PUSH_UNITS + 2 + keys * CHECK_UNITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_hashes::ManySha256;
    use blockmill_neo::types::{UInt256, Witness};
    use blockmill_neo::witness::{Signed, Verdict, Verifier};
    use blockmill_signatures::{KeyTables, Signatures};

    #[test]
    fn witnesses_are_verified_at_the_cost_that_was_reported() {
        let keys = (0..4).map(|number| key(1, "test", number).unwrap());
        let accounts =
            [Account::single(key(1, "test", 9).unwrap()), Account::multisig(3, keys.collect())];
        for account in accounts {
            let mut witness = vec![];
            account.sign(7, &[3; 32], &mut witness).unwrap();
            assert_eq!(witness.len(), account.witness_length());
            let verification = &witness[witness.len() - account.script.len()..];
            let length = account.keys.len() * SIGNATURE_PUSH;
            let invocation = &witness[witness.len() - verification.len() - 1 - length..];
            let witness = Witness { invocation: &invocation[..length], verification };
            let verifier = Verifier {
                magic: 7,
                signatures: Signatures::scalar(),
                tables: &KeyTables::new(0),
                hasher: ManySha256::scalar(),
            };
            let checked = verifier.verify(&[Signed { hash: UInt256([3; 32]), witness }]);
            assert_eq!(checked[0].script_hash, account.hash);
            let Verdict::Valid { units } = checked[0].verdict else { panic!("{checked:?}") };
            let computed = account.witness_units();
            assert!(
                (u64::from(units)..=u64::from(units) + 2).contains(&computed),
                "{units} {computed}"
            );
        }
    }
}
