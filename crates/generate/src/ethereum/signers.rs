//! Accounts that sign the transactions of generated blocks.
//!
//! Their private keys are derived from the seed, so they are no secrets.

use anyhow::{Context, Result};
use blockmill_ethereum::signing::address_of;
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_rlp::Encode;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, PublicKey, SecretKey};

/// Accounts of a generated chain.
const ACCOUNTS: u64 = 1_024;

/// A generated account.
struct Account {
    key: SecretKey,
    address: Address,
    /// The nonce of its next transaction.
    nonce: u64,
}

/// A signature of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Whether the y coordinate of its point is odd: 0 or 1.
    pub y_parity: u64,
    pub r: U256,
    pub s: U256,
}

/// All accounts of a chain.
pub struct Signers {
    accounts: Vec<Account>,
}

impl Signers {
    /// Derives the accounts from a seed.
    pub fn new(seed: u64) -> Result<Self> {
        Self::with_count(seed, ACCOUNTS)
    }

    /// Derives `count` accounts from a seed.
    pub fn with_count(seed: u64, count: u64) -> Result<Self> {
        let account = |i: u64| {
            let source = [seed.to_be_bytes(), i.to_be_bytes()].concat();
            let key = SecretKey::from_secret_bytes(blockmill_hashes::keccak256(&source));
            let key = key.context("a hash that is no key")?;
            let [_form, public @ ..] = PublicKey::from_secret_key(&key).serialize_uncompressed();
            Ok(Account { key, address: address_of(&public), nonce: 0 })
        };
        Ok(Self { accounts: (0..count).map(account).collect::<Result<_>>()? })
    }

    /// The number of accounts.
    pub fn len(&self) -> u64 {
        self.accounts.len() as u64
    }

    /// The address of account `i`.
    pub fn address(&self, i: usize) -> Address {
        self.accounts[i].address
    }

    /// The addresses of all accounts.
    pub fn addresses(&self) -> impl Iterator<Item = Address> + '_ {
        self.accounts.iter().map(|account| account.address)
    }

    /// Encodes and signs the next legacy transaction of account `i`, with replay protection if a
    /// chain id is given (EIP-155).
    pub fn sign(&mut self, i: u64, unsigned: Transaction<'_>, chain_id: Option<U256>) -> Vec<u8> {
        let at = (i % self.len()) as usize;
        let account = &mut self.accounts[at];
        let mut signed = Transaction { nonce: account.nonce, ..unsigned };
        account.nonce += 1;
        debug_assert_eq!(signed.kind, TransactionType::Legacy);
        let signature = self.signature(at, signed.signing(chain_id).hash());
        signed.v = chain_id.map_or(U256::from(27), |id| U256::from(35) + U256::from(2) * id)
            + U256::from(signature.y_parity);
        (signed.r, signed.s) = (signature.r, signature.s);
        signed.encode()
    }

    /// The signature of account `i` over a hash.
    pub fn signature(&self, i: usize, digest: Hash) -> Signature {
        let message = Message::from_digest(digest);
        let key = &self.accounts[i].key;
        let signature = RecoverableSignature::sign_ecdsa_recoverable(message, key);
        let (id, numbers) = signature.serialize_compact();
        let (r, s) = numbers.split_at(32);
        Signature {
            y_parity: u64::from(id == RecoveryId::One),
            r: U256::from_be_slice(r),
            s: U256::from_be_slice(s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_ethereum::params::Fork;
    use blockmill_ethereum::transaction_rules::{TransactionRules, verify_transaction};
    use blockmill_rlp::Decode;

    #[test]
    fn signed_transactions_have_their_account_as_sender_and_count_up() {
        let mut signers = Signers::new(3).unwrap();
        let addresses: Vec<_> = signers.addresses().collect();
        let unsigned = Transaction {
            gas_limit: 21_000,
            to: Some(&[7; 20]),
            ..Transaction::new(TransactionType::Legacy)
        };
        for nonce in 0..3 {
            for (chain_id, fork) in [(None, Fork::Frontier), (Some(U256::ONE), Fork::Berlin)] {
                for i in [0, 5, ACCOUNTS - 1] {
                    let raw = signers.sign(i, unsigned.clone(), chain_id);
                    let signed = Transaction::decode(&raw).unwrap();
                    let sender =
                        verify_transaction(&signed, &TransactionRules::new(fork, U256::ONE))
                            .unwrap();
                    assert_eq!(sender, addresses[i as usize]);
                    assert_eq!(signed.nonce / 2, nonce);
                }
            }
        }
    }
}
