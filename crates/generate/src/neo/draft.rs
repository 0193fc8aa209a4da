//! Unsigned transactions, and their signing.

use super::accounts::Account;
use anyhow::{Result, anyhow};
use blockmill_hashes::sha256;
use blockmill_neo::body::rules::NOTARY;
use blockmill_neo::types::{Scopes, UInt160, write};
use std::num::NonZero;
use std::thread::{available_parallelism, scope};

/// Fees that a generated chain pays, equal to the highest ones that its committee sets: per byte,
/// and per unit of execution.
pub const FEE_PER_BYTE: u64 = 1_000;
pub const UNIT_FEE: u64 = 30;
/// Fee for the verification by a contract; more than any generated contract needs.
const CONTRACT_FEE: u64 = 10_000_000;
/// Type of the attribute `NotaryAssisted`, and its fee for a key.
pub const NOTARY_ASSISTED: u8 = 0x22;
pub const NOTARY_FEE: i64 = GAS / 10;
/// Blocks for which a transaction stays valid.
const VALID_FOR: u32 = 1_000;

/// One GAS, in its smallest units.
pub const GAS: i64 = 100_000_000;

/// A signer.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// The account with this number.
    Account(usize),
    /// A contract with a method `verify`.
    Contract(UInt160),
    /// The contract Notary; the account with this number is the notary.
    Notary(usize),
}

/// An unsigned transaction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub script: Vec<u8>,
    pub system_fee: i64,
    /// The signers; the first one pays.
    pub signers: Vec<(Who, Scopes)>,
    /// Encoded.
    pub attributes: Vec<Vec<u8>>,
    /// The network fee, if it differs from the computed one.
    pub network_fee: Option<i64>,
}

impl Draft {
    /// A transaction of one account with scope `CalledByEntry`.
    pub fn new(account: usize, script: Vec<u8>, system_fee: i64) -> Self {
        let signers = vec![(Who::Account(account), Scopes::CALLED_BY_ENTRY)];
        Self { script, system_fee, signers, attributes: vec![], network_fee: None }
    }

    /// Adds a signer.
    #[must_use]
    pub fn with(mut self, who: Who, scopes: Scopes) -> Self {
        self.signers.push((who, scopes));
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Vec<u8>) -> Self {
        self.attributes.push(attribute);
        self
    }
}

/// The fee of the attributes: `NotaryAssisted` costs one unit per key plus one.
fn attribute_fee(draft: &Draft) -> i64 {
    let fee = |attribute: &Vec<u8>| match attribute[..] {
        [NOTARY_ASSISTED, keys] => (i64::from(keys) + 1) * NOTARY_FEE,
        _ => 0,
    };
    draft.attributes.iter().map(fee).sum()
}

/// The parameters for signing transactions.
pub struct Desk<'a> {
    pub magic: u32,
    pub accounts: &'a [Account],
    /// The height of their block.
    pub height: u32,
    /// Number of the first transaction in the chain; it makes them unique.
    pub nonce: u32,
}

impl Desk<'_> {
    /// Signs all transactions, on all cores.
    pub fn sign(&self, drafts: &[Draft]) -> Result<Vec<Vec<u8>>> {
        let threads = available_parallelism().map_or(1, NonZero::get);
        let share = drafts.len().div_ceil(threads).max(1);
        let parts: Vec<Result<Vec<Vec<u8>>>> = scope(|scope| {
            let parts = drafts.chunks(share).enumerate();
            let threads: Vec<_> =
                parts.map(|(at, part)| scope.spawn(move || self.part(part, at * share))).collect();
            let failed = || Err(anyhow!("a thread that signs has failed"));
            threads.into_iter().map(|each| each.join().unwrap_or_else(|_| failed())).collect()
        });
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Signs some transactions, the first of which has this number.
    fn part(&self, drafts: &[Draft], first: usize) -> Result<Vec<Vec<u8>>> {
        let each = |(number, draft)| self.one(draft, number as u32);
        (first..).zip(drafts).map(each).collect()
    }

    fn one(&self, draft: &Draft, number: u32) -> Result<Vec<u8>> {
        let nonce = self.nonce.wrapping_add(number);
        let length = self.signed_bytes(draft, nonce, 0).len() + self.witness_length(draft);
        let fee = match draft.network_fee {
            Some(fee) => fee,
            None => {
                let needed = length as u64 * FEE_PER_BYTE + self.witness_fee(draft);
                needed as i64 + attribute_fee(draft)
            }
        };
        let mut bytes = self.signed_bytes(draft, nonce, fee);
        let hash = sha256(&bytes);
        write::number(&mut bytes, draft.signers.len() as u64);
        for (who, _) in &draft.signers {
            match who {
                Who::Account(account) => {
                    self.accounts[*account].sign(self.magic, &hash, &mut bytes)?;
                }
                // both scripts are empty
                Who::Contract(_) => bytes.extend_from_slice(&[0, 0]),
                Who::Notary(node) => {
                    self.accounts[*node].sign_for_contract(self.magic, &hash, &mut bytes)?;
                }
            }
        }
        Ok(bytes)
    }

    fn signed_bytes(&self, draft: &Draft, nonce: u32, network_fee: i64) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend_from_slice(&nonce.to_le_bytes());
        bytes.extend_from_slice(&draft.system_fee.to_le_bytes());
        bytes.extend_from_slice(&network_fee.to_le_bytes());
        bytes.extend_from_slice(&(self.height + VALID_FOR).to_le_bytes());
        write::number(&mut bytes, draft.signers.len() as u64);
        for (who, scopes) in &draft.signers {
            bytes.extend_from_slice(&self.hash(*who).0);
            bytes.push(scopes.0);
        }
        write::number(&mut bytes, draft.attributes.len() as u64);
        draft.attributes.iter().for_each(|each| bytes.extend_from_slice(each));
        write::string(&mut bytes, &draft.script);
        bytes
    }

    fn hash(&self, who: Who) -> UInt160 {
        match who {
            Who::Account(account) => self.accounts[account].hash,
            Who::Contract(hash) => hash,
            Who::Notary(_) => NOTARY,
        }
    }

    /// Size of all witnesses, including their count.
    fn witness_length(&self, draft: &Draft) -> usize {
        let length = |(who, _): &(Who, Scopes)| match who {
            Who::Account(account) => self.accounts[*account].witness_length(),
            Who::Contract(_) => 2,
            Who::Notary(node) => self.accounts[*node].contract_witness_length(),
        };
        1 + draft.signers.iter().map(length).sum::<usize>()
    }

    fn witness_fee(&self, draft: &Draft) -> u64 {
        let fee = |(who, _): &(Who, Scopes)| match who {
            Who::Account(account) => self.accounts[*account].witness_units() * UNIT_FEE,
            Who::Contract(_) | Who::Notary(_) => CONTRACT_FEE,
        };
        draft.signers.iter().map(fee).sum()
    }
}
