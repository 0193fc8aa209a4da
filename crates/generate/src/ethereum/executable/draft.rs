//! Unsigned transactions.

use super::genesis::CHAIN_ID;
use crate::ethereum::signers::{Signature, Signers};
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_rlp::ethereum::{AccessListEntry, Authorization};
use blockmill_rlp::{Encode, List, OnePass, Write};
use std::thread::{available_parallelism, scope};

/// The last accounts sign code delegations only: transactions would change their nonces.
pub const AUTHORITIES: u64 = 8;

/// Prefix of the hashed bytes of a delegation (EIP-7702).
const DELEGATION: u8 = 5;

/// The fees of a transaction, in wei.
#[derive(Clone, Copy, Debug)]
pub struct Fees {
    /// Total price of a unit of gas.
    pub max: U256,
    /// The producer's share of it.
    pub priority: U256,
    /// Price of a unit of blob gas.
    pub max_blob: U256,
}

/// An unsigned transaction.
#[derive(Clone, Debug)]
pub struct Draft {
    pub kind: TransactionType,
    /// Index of the account that signs.
    pub account: usize,
    pub nonce: u64,
    pub fees: Fees,
    pub gas_limit: u64,
    pub to: Option<Address>,
    pub value: U256,
    pub input: Vec<u8>,
    pub access_list: Vec<(Address, Vec<Hash>)>,
    pub blob_hashes: Vec<Hash>,
    pub delegations: Vec<Delegation>,
    /// Whether a legacy transaction has replay protection (EIP-155).
    pub protected: bool,
}

/// An unsigned code delegation.
#[derive(Clone, Debug)]
pub struct Delegation {
    /// Index of the account that signs.
    pub account: usize,
    pub chain_id: u64,
    pub to: Address,
    pub nonce: u64,
}

impl Delegation {
    fn sign(&self, signers: &Signers) -> Signature {
        let mut list = OnePass::default();
        list.list(|out| {
            out.u64(self.chain_id);
            out.fixed(&self.to);
            out.u64(self.nonce);
        });
        let message = [&[DELEGATION], &list.into_bytes()[..]].concat();
        signers.signature(self.account, blockmill_hashes::keccak256(&message))
    }
}

impl Draft {
    /// The encoding of the transaction in a list of transactions.
    fn sign(&self, signers: &Signers) -> Vec<u8> {
        let entry = |(address, keys)| AccessListEntry { address, storage_keys: keys };
        let entries = self.access_list.iter();
        let entries = entries.map(|(address, keys)| entry((address, List::Values(keys))));
        let access_list: Vec<_> = entries.collect();
        let authorization = |delegation: &'_ Delegation| delegation.sign(signers);
        let signatures = self.delegations.iter().map(authorization);
        let authorizations = self.delegations.iter().zip(signatures).map(|(of, signature)| {
            let (address, nonce, y_parity) = (&of.to, of.nonce, signature.y_parity as u8);
            let (chain_id, r, s) = (U256::from(of.chain_id), signature.r, signature.s);
            Authorization { chain_id, address, nonce, y_parity, r, s }
        });
        let authorizations: Vec<_> = authorizations.collect();
        let typed = self.kind != TransactionType::Legacy;
        let mut signed = Transaction {
            chain_id: U256::from(if typed { CHAIN_ID } else { 0 }),
            nonce: self.nonce,
            max_priority_fee: self.fees.priority,
            max_fee: self.fees.max,
            gas_limit: self.gas_limit,
            to: self.to.as_ref(),
            value: self.value,
            input: &self.input,
            access_list: List::Values(&access_list),
            max_blob_fee: self.fees.max_blob,
            blob_hashes: List::Values(&self.blob_hashes),
            authorizations: List::Values(&authorizations),
            ..Transaction::new(self.kind)
        };
        let chain_id = (!typed && self.protected).then_some(CHAIN_ID);
        let signature =
            signers.signature(self.account, signed.signing(chain_id.map(U256::from)).hash());
        let v = match (typed, chain_id) {
            (true, _) => 0,
            (false, None) => 27,
            (false, Some(id)) => 35 + 2 * id,
        };
        signed.v = U256::from(v + signature.y_parity);
        (signed.r, signed.s) = (signature.r, signature.s);
        signed.encode()
    }
}

/// Signs the transactions of a block, on all cores.
pub fn sign(drafts: &[Draft], signers: &Signers) -> Vec<Vec<u8>> {
    let threads = available_parallelism().map_or(1, usize::from);
    let share = drafts.len().div_ceil(threads).max(1);
    let signed = |part: &[Draft]| part.iter().map(|d| d.sign(signers)).collect::<Vec<_>>();
    if drafts.len() < 16 {
        return signed(drafts);
    }
    scope(|scope| {
        let signed = &signed;
        let parts: Vec<_> =
            drafts.chunks(share).map(|part| scope.spawn(move || signed(part))).collect();
        // a panicked thread has reported its message
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}
