//! Rules of transactions that need no state.
//!
//! Execution checks nonce and balance of the sender; [`block`] has what the block's header asks of
//! its transactions.

pub mod block;
pub mod gas;

mod violation;

use crate::body::signing::{self, SignatureError, SignatureForm};
use crate::body::transactions::{GAS_PER_BLOB, Transaction, TransactionType, newest_type};
use crate::header::HeaderView;
use crate::params::{ChainSpec, CodeLimits, Fork};
use crate::{Address, U256};

/// Most gas that a transaction may ask for under Osaka (EIP-7825). From Amsterdam on it bounds what
/// execution may use, next to the gas for a larger state (EIP-8037).
pub const MAX_GAS_LIMIT: u64 = 1 << 24;

/// Most blobs of one transaction from Osaka on (EIP-7594).
pub const MAX_BLOBS: usize = 6;

/// What a chain asks of the transactions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRules {
    /// The fork.
    pub fork: Fork,
    /// The number that they sign (EIP-155).
    pub chain_id: U256,
    /// Most bytes of creation code, from Shanghai on.
    pub initcode: usize,
}

impl TransactionRules {
    /// The rules of a fork on the chain of this id, with the limits of the EIPs.
    #[must_use]
    pub fn new(fork: Fork, chain_id: U256) -> Self {
        Self { fork, chain_id, initcode: CodeLimits::of(fork).initcode }
    }

    /// The rules of the block with this header, which is under `fork`.
    pub(crate) fn of(spec: &ChainSpec, fork: Fork, header: &HeaderView<'_>) -> Self {
        let initcode = spec.code_size.at(fork, header.number, header.timestamp).initcode;
        Self { fork, chain_id: spec.chain_id, initcode }
    }
}

/// Checks the signature and every rule of this file; gives the sender. Of several faults it is the
/// first in this order.
pub fn verify_transaction(
    tx: &Transaction<'_>,
    rules: &TransactionRules,
) -> Result<Address, TransactionError> {
    let form = verify_form(tx, rules)?;
    let sender = signing::recover_sender(tx, form)?;
    verify_fields(tx, rules)?;
    verify_sender_gas(tx, rules.fork, &sender)?;
    Ok(sender)
}

/// The type and the numbers of the signature are those that the fork allows. What is left is
/// whether a key made the signature: the costly part, which can be done for many at once.
pub fn verify_form(
    tx: &Transaction<'_>,
    rules: &TransactionRules,
) -> Result<SignatureForm, TransactionError> {
    verify_type(tx, rules.fork)?;
    Ok(signing::verify_form(tx, rules.fork, rules.chain_id)?)
}

/// Every rule of this file that is not about the signature or the sender.
pub fn verify_fields(
    tx: &Transaction<'_>,
    rules: &TransactionRules,
) -> Result<(), TransactionError> {
    let fork = rules.fork;
    verify_nonce(tx)?;
    verify_priority_fee(tx)?;
    verify_upfront_cost(tx)?;
    verify_gas_limit(tx, fork)?;
    verify_initcode_size(tx, rules)?;
    verify_intrinsic_gas(tx, fork, true)?;
    verify_blobs(tx, fork)
}

/// The type is one that the fork knows (EIP-2718).
pub fn verify_type(tx: &Transaction<'_>, fork: Fork) -> Result<(), TransactionError> {
    let newest = newest_type(fork);
    if tx.kind > newest {
        return Err(TransactionError::Type { newest, found: tx.kind });
    }
    Ok(())
}

/// The nonce is below 2^64 - 1, so that the account's next one has 64 bits too (EIP-2681).
pub fn verify_nonce(tx: &Transaction<'_>) -> Result<(), TransactionError> {
    if tx.nonce == u64::MAX {
        return Err(TransactionError::Nonce { found: tx.nonce });
    }
    Ok(())
}

/// The miner's part of the fee is not more than all of it (EIP-1559).
pub fn verify_priority_fee(tx: &Transaction<'_>) -> Result<(), TransactionError> {
    let (max_fee, found) = (tx.max_fee, tx.max_priority_fee);
    if found > max_fee {
        return Err(TransactionError::PriorityFee { max_fee, found });
    }
    Ok(())
}

/// The most that gas and blobs can cost has 256 bits, as every balance has (Yellow Paper, section
/// 6.2; EIP-1559, EIP-4844). The value is left to the check of the balance.
pub fn verify_upfront_cost(tx: &Transaction<'_>) -> Result<(), TransactionError> {
    let gas = tx.max_fee.checked_mul(U256::from(tx.gas_limit));
    let blob_gas = U256::from(tx.blob_hashes.len()) * U256::from(GAS_PER_BLOB);
    let blobs = tx.max_blob_fee.checked_mul(blob_gas);
    match gas.zip(blobs).and_then(|(gas, blobs)| gas.checked_add(blobs)) {
        Some(_) => Ok(()),
        None => Err(TransactionError::UpfrontCost { gas_limit: tx.gas_limit, max_fee: tx.max_fee }),
    }
}

/// Under Osaka, the gas limit is at most 2^24 (EIP-7825).
pub fn verify_gas_limit(tx: &Transaction<'_>, fork: Fork) -> Result<(), TransactionError> {
    if fork == Fork::Osaka && tx.gas_limit > MAX_GAS_LIMIT {
        return Err(TransactionError::GasLimit { max: MAX_GAS_LIMIT, found: tx.gas_limit });
    }
    Ok(())
}

/// From Shanghai on, creation code has at most 49,152 bytes (EIP-3860), from Amsterdam on 131,072
/// (EIP-7954), or the chain's own number.
pub fn verify_initcode_size(
    tx: &Transaction<'_>,
    rules: &TransactionRules,
) -> Result<(), TransactionError> {
    let (found, max) = (tx.input.len(), rules.initcode);
    if rules.fork >= Fork::Shanghai && tx.to.is_none() && found > max {
        return Err(TransactionError::InitcodeSize { max, found });
    }
    Ok(())
}

/// The gas limit pays for what is due before execution (Yellow Paper, section 6.2), and from
/// Prague on for the input's least price (EIP-7623). From Amsterdam on, both are at most 2^24
/// (EIP-8037), and less is due if the receiver is the sender, `to_self` (EIP-2780).
pub fn verify_intrinsic_gas(
    tx: &Transaction<'_>,
    fork: Fork,
    to_self: bool,
) -> Result<(), TransactionError> {
    let needed = gas::intrinsic_gas(tx, fork, to_self).max(gas::floor_gas(tx, fork, to_self));
    if tx.gas_limit < needed {
        return Err(TransactionError::IntrinsicGas { needed, gas_limit: tx.gas_limit });
    }
    if fork >= Fork::Amsterdam && needed > MAX_GAS_LIMIT {
        return Err(TransactionError::GasDue { max: MAX_GAS_LIMIT, needed });
    }
    Ok(())
}

/// Returns whether [`verify_sender_gas`] depends on the sender: [`verify_fields`] takes the
/// receiver for the sender.
pub fn is_sender_gas_open(tx: &Transaction<'_>, fork: Fork) -> bool {
    fork >= Fork::Amsterdam && tx.to.is_some() && verify_intrinsic_gas(tx, fork, false).is_err()
}

/// [`verify_intrinsic_gas`] for the sender.
pub fn verify_sender_gas(
    tx: &Transaction<'_>,
    fork: Fork,
    sender: &Address,
) -> Result<(), TransactionError> {
    verify_intrinsic_gas(tx, fork, tx.to == Some(sender))
}

/// From Osaka on, a transaction has at most 6 blobs (EIP-7594).
pub fn verify_blobs(tx: &Transaction<'_>, fork: Fork) -> Result<(), TransactionError> {
    let found = tx.blob_hashes.len();
    if fork >= Fork::Osaka && found > MAX_BLOBS {
        return Err(TransactionError::Blobs { max: MAX_BLOBS, found });
    }
    Ok(())
}

/// Why a transaction is refused before any account is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// A later fork brings this type.
    #[error("type is {}, expected at most {}", *found as u8, *newest as u8)]
    Type {
        /// The newest type of the fork.
        newest: TransactionType,
        /// The transaction's.
        found: TransactionType,
    },
    /// The signature is refused.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The nonce leaves none for the account's next transaction.
    #[error("nonce is {found}, expected a smaller one")]
    Nonce {
        /// The nonce.
        found: u64,
    },
    /// The miner's part of the fee is larger than all of it.
    #[error("priority fee is {found}, expected at most the whole fee, {max_fee}")]
    PriorityFee {
        /// The whole fee for each unit of gas, in wei.
        max_fee: U256,
        /// The miner's part of it, in wei.
        found: U256,
    },
    /// The most that it can cost takes more than 256 bits.
    #[error("{gas_limit} gas for {max_fee} wei each, expected less than 2^256 in all")]
    UpfrontCost {
        /// Units of gas.
        gas_limit: u64,
        /// Wei for each of them.
        max_fee: U256,
    },
    /// The gas limit is larger than the fork allows.
    #[error("gas limit is {found}, expected at most {max}")]
    GasLimit {
        /// The largest.
        max: u64,
        /// The transaction's.
        found: u64,
    },
    /// The creation code is longer than the fork allows.
    #[error("creation code has {found} bytes, expected at most {max}")]
    InitcodeSize {
        /// The longest, in bytes.
        max: usize,
        /// The transaction's.
        found: usize,
    },
    /// The gas limit does not pay for what is due before execution.
    #[error("gas limit is {gas_limit}, expected at least {needed}")]
    IntrinsicGas {
        /// What is due.
        needed: u64,
        /// The transaction's limit.
        gas_limit: u64,
    },
    /// More is due before execution than the fork allows.
    #[error("{needed} gas is due before execution, expected at most {max}")]
    GasDue {
        /// The most.
        max: u64,
        /// What is due.
        needed: u64,
    },
    /// More blobs than the fork allows.
    #[error("{found} blobs, expected at most {max}")]
    Blobs {
        /// The most.
        max: usize,
        /// The transaction's.
        found: usize,
    },
    /// The gas limit is larger than the block's.
    #[error("gas limit is {found}, expected at most the block's, {max}")]
    BlockGas {
        /// The block's limit.
        max: u64,
        /// The transaction's.
        found: u64,
    },
    /// The fee does not pay for the block's base fee.
    #[error("fee is {found}, expected at least the base fee, {least}")]
    BaseFee {
        /// The base fee, in wei.
        least: U256,
        /// The transaction's whole fee, in wei.
        found: U256,
    },
    /// The blob fee does not pay for the block's.
    #[error(
        "blob fee is {found}, expected {}",
        least.map_or("more than 256 bits".into(), |least| format!("at least {least}"))
    )]
    BlobFee {
        /// Wei for a unit of blob gas in this block; none when that takes more than 256 bits.
        least: Option<U256>,
        /// The transaction's.
        found: U256,
    },
}

#[cfg(test)]
mod tests;
