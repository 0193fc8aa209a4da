//! Inputs and outputs of the virtual machine.

use crate::execute::history::Call;
use crate::params::Fork;
use crate::{Address, Hash, U256};
use blockmill_rlp::ethereum::{Transaction, TransactionType};
use revm::bytecode::Bytecode;
use revm::context::TxEnv;
use revm::context::result::ExecutionResult;
use revm::context::transaction::{AccessList, AccessListItem, Authorization, SignedAuthorization};
use revm::context_interface::either::Either;
use revm::primitives::{self, B256, Bytes, TxKind};

/// The code of a contract, analysed once.
#[derive(Clone, Debug, Default)]
pub struct Code(pub(super) Bytecode);

impl Code {
    /// Analyses a code. Code with the prefix of a delegation (EIP-7702) that is not a delegation is
    /// a contract's, as in go-ethereum: before EIP-3541 any bytes could be deployed.
    pub fn new(code: Vec<u8>) -> Self {
        let code = Bytes::from(code);
        let checked = Bytecode::new_raw_checked(code.clone());
        Self(checked.unwrap_or_else(|_| Bytecode::new_legacy(code)))
    }

    /// Its Keccak-256.
    pub fn hash(&self) -> Hash {
        self.0.hash_slow().0
    }

    /// The code as it is deployed.
    pub fn bytes(&self) -> &[u8] {
        self.0.original_byte_slice()
    }
}

/// A log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log(pub(super) primitives::Log);

impl Log {
    /// The contract.
    pub fn address(&self) -> &Address {
        &self.0.address.0.0
    }

    /// The topics.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Hash> {
        self.0.data.topics().iter().map(|topic| &topic.0)
    }

    /// The data.
    pub fn data(&self) -> &[u8] {
        &self.0.data.data
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether it succeeded.
    pub success: bool,
    /// Gas that the sender paid for, after refunds.
    pub gas_used: u64,
    /// Gas that counts for the block: without refunds from Amsterdam on (EIP-7778), and without
    /// `state_gas` (EIP-8037).
    pub regular_gas: u64,
    /// Gas for a larger state, from Amsterdam on (EIP-8037); 0 before.
    pub state_gas: u64,
    /// Its logs.
    pub logs: Vec<Log>,
}

impl Outcome {
    /// Converts the result of a transaction under a fork.
    pub(super) fn new(result: ExecutionResult, fork: Option<Fork>) -> Self {
        let (gas, gas_used) = (*result.gas(), result.tx_gas_used());
        let (regular_gas, state_gas) = match fork >= Some(Fork::Amsterdam) {
            true => (gas.block_regular_gas_used(), gas.block_state_gas_used()),
            false => (gas_used, 0),
        };
        let success = result.is_success();
        let logs = result.into_logs().into_iter().map(Log).collect();
        Self { success, gas_used, regular_gas, state_gas, logs }
    }
}

/// A transaction in the machine's type.
#[derive(Clone, Debug)]
pub struct Environment(pub(super) TxEnv);

impl Environment {
    /// Converts a transaction with a verified form; `protected` is the chain of a legacy signature
    /// (EIP-155). `None` if a fee exceeds 128 bits.
    pub fn new(tx: &Transaction<'_>, sender: &Address, protected: Option<U256>) -> Option<Self> {
        let fees = [tx.max_fee, tx.max_priority_fee, tx.max_blob_fee];
        let [max_fee, priority, blob] = fees.map(|fee| u128::try_from(fee).ok());
        Some(Self::with_fees(tx, sender, protected, [max_fee?, priority?, blob?]))
    }

    /// Converts a transaction with the given maximum, priority and blob fees.
    pub(super) fn with_fees(
        tx: &Transaction<'_>,
        sender: &Address,
        protected: Option<U256>,
        [max_fee, priority, blob]: [u128; 3],
    ) -> Self {
        let items = tx.access_list.iter().map(|entry| AccessListItem {
            address: (*entry.address).into(),
            storage_keys: entry.storage_keys.iter().map(B256::from).collect(),
        });
        let authorizations = tx.authorizations.iter().map(|a| {
            let (chain_id, address, nonce) = (a.chain_id, (*a.address).into(), a.nonce);
            let inner = Authorization { chain_id, address, nonce };
            Either::Left(SignedAuthorization::new_unchecked(inner, a.y_parity, a.r, a.s))
        });
        let typed = tx.kind != TransactionType::Legacy;
        let chain_id = if typed { Some(tx.chain_id) } else { protected };
        Self(TxEnv {
            tx_type: tx.kind as u8,
            caller: (*sender).into(),
            gas_limit: tx.gas_limit,
            gas_price: max_fee,
            kind: tx.to.map_or(TxKind::Create, |to| TxKind::Call((*to).into())),
            value: tx.value,
            data: Bytes::copy_from_slice(tx.input),
            nonce: tx.nonce,
            // was verified, and is compared no more
            chain_id: chain_id.map(|id| id.saturating_to()),
            access_list: AccessList(items.collect()),
            gas_priority_fee: (tx.kind >= TransactionType::DynamicFee).then_some(priority),
            blob_hashes: tx.blob_hashes.iter().map(B256::from).collect(),
            max_fee_per_blob_gas: blob,
            authorization_list: authorizations.collect(),
        })
    }

    /// The call of a contract that the transaction may be.
    pub fn call(&self) -> Option<Call<'_>> {
        let TxEnv { caller, kind, data, .. } = &self.0;
        let TxKind::Call(to) = kind else { return None };
        Some(Call { to: &to.0.0, sender: &caller.0.0, input: data })
    }

    /// Calls `each` with the accounts, and the slots of accounts, that the transaction names.
    pub fn names(&self, mut each: impl FnMut(&Address, Option<&Hash>)) {
        let tx = &self.0;
        each(&tx.caller.0.0, None);
        if let TxKind::Call(to) = &tx.kind {
            each(&to.0.0, None);
        }
        for item in &*tx.access_list {
            each(&item.address.0.0, None);
            item.storage_keys.iter().for_each(|slot| each(&item.address.0.0, Some(&slot.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_begin_as_a_delegation_and_are_none_are_kept_as_they_are() {
        for code in [&[0xef, 1][..], &[0xef, 1, 0], &[0xef, 1, 1, 7], &[0xef, 1, 0, 9, 9], &[]] {
            let read = Code::new(code.to_vec());
            assert_eq!((read.bytes(), read.hash()), (code, blockmill_hashes::keccak256(code)));
        }
    }
}
