//! Execution of whole blocks: system calls, transactions, withdrawals.

use crate::Failure;
use crate::genesis::{Memory, Schedule};
use alloy_consensus::{Block, Header, Transaction, TxEnvelope, Typed2718};
use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_trie::TrieAccount;
use alloy_trie::root::{state_root_unhashed, storage_root_unhashed};
use revm::context::{BlockEnv, Context, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::either::Either;
use revm::database::in_memory_db::AccountState;
use revm::handler::instructions::EthInstructions;
use revm::primitives::hardfork::SpecId;
use revm::{ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext, MainnetEvm, SystemCallEvm};

const BEACON_ROOTS: Address = address!("000F3df6D732807Ef1319fB7B8bB8522d0Beac02");
const HISTORY: Address = address!("0000F90827F1C53a10cb7A02335B175320002935");
const WITHDRAWAL_REQUESTS: Address = address!("00000961Ef480Eb55e80D19ad83579A64c007002");
const CONSOLIDATION_REQUESTS: Address = address!("0000BBdDc7CE488642fb579F8B00f3a590007251");
const BUILDER_DEPOSITS: Address = address!("0000bff46984e3725691fa540a8c7589300d8282");
const BUILDER_EXITS: Address = address!("000064d678505ad48f8ccb093bc65613800e8282");

/// Wei of a gwei.
const GWEI: u64 = 1_000_000_000;

type Ground = Context<BlockEnv, TxEnv, revm::context::CfgEnv, Memory>;

/// The virtual machine over a state.
pub struct Machine {
    evm: MainnetEvm<Ground>,
    schedule: Schedule,
    spec: Option<SpecId>,
}

impl Machine {
    pub fn new(state: Memory, schedule: Schedule) -> Self {
        let chain_id = schedule.chain_id;
        let context = Context::mainnet().with_db(state);
        let context = context.modify_cfg_chained(|cfg| cfg.chain_id = chain_id);
        Self { evm: context.build_mainnet(), schedule, spec: None }
    }

    /// Executes a block. Its gas must be what its header says.
    pub fn execute(
        &mut self,
        block: &Block<TxEnvelope>,
        senders: &[Address],
    ) -> Result<(), Failure> {
        let header = &block.header;
        let spec = self.begin(header);
        if let Some(root) = header.parent_beacon_block_root.filter(|_| spec >= SpecId::CANCUN) {
            self.system_call(BEACON_ROOTS, root.0.into())?;
        }
        if spec >= SpecId::PRAGUE {
            self.system_call(HISTORY, header.parent_hash.0.into())?;
        }
        // what the senders pay; before refunds, gas for a larger state, and other gas (EIP-8037)
        let (mut paid, mut state_gas, mut other) = (0, 0, 0);
        for (tx, sender) in block.body.transactions.iter().zip(senders) {
            let done = self.evm.transact_one(environment(tx, *sender));
            let done = done.map_err(|error| format!("block {}: {error}", header.number))?;
            paid += done.tx_gas_used();
            state_gas += done.gas().block_state_gas_used();
            other += done.gas().block_regular_gas_used();
        }
        let gas = if spec >= SpecId::AMSTERDAM { state_gas.max(other) } else { paid };
        let changed = self.evm.finalize();
        self.evm.commit(changed);
        if spec >= SpecId::PRAGUE {
            self.system_call(WITHDRAWAL_REQUESTS, Bytes::new())?;
            self.system_call(CONSOLIDATION_REQUESTS, Bytes::new())?;
        }
        if spec >= SpecId::AMSTERDAM {
            self.system_call(BUILDER_DEPOSITS, Bytes::new())?;
            self.system_call(BUILDER_EXITS, Bytes::new())?;
        }
        for withdrawal in block.body.withdrawals.iter().flat_map(|list| list.iter()) {
            let state = &mut self.evm.ctx.journaled_state.database;
            let account = state.load_account(withdrawal.address)?;
            account.info.balance += U256::from(withdrawal.amount) * U256::from(GWEI);
            account.account_state = AccountState::None;
        }
        match gas == header.gas_used {
            true => Ok(()),
            false => Err(format!("block {}: another gas, {gas}", header.number).into()),
        }
    }

    /// Makes the terms of a block those of the machine; its rules.
    fn begin(&mut self, header: &Header) -> SpecId {
        let (spec, fraction) = self.schedule.at(header.timestamp);
        if self.spec != Some(spec) {
            self.spec = Some(spec);
            self.evm.ctx.modify_cfg(|cfg| cfg.set_spec_and_mainnet_gas_params(spec));
            // the gas of instructions does not follow by itself
            self.evm.instruction = EthInstructions::new_mainnet_with_spec(spec);
        }
        let hashes = &mut self.evm.ctx.journaled_state.database.cache.block_hashes;
        hashes.insert(U256::from(header.number.saturating_sub(1)), header.parent_hash);
        self.evm.set_block(BlockEnv {
            number: U256::from(header.number),
            beneficiary: header.beneficiary,
            timestamp: U256::from(header.timestamp),
            gas_limit: header.gas_limit,
            basefee: header.base_fee_per_gas.unwrap_or_default(),
            difficulty: header.difficulty,
            prevrandao: Some(header.mix_hash),
            slot_num: header.slot_number.unwrap_or_default(),
            blob_excess_gas_and_price: header
                .excess_blob_gas
                .map(|excess| BlobExcessGasAndPrice::new(excess, fraction)),
            ..BlockEnv::default()
        });
        spec
    }

    fn system_call(&mut self, contract: Address, input: Bytes) -> Result<(), Failure> {
        let done = self.evm.system_call(contract, input)?;
        self.evm.commit(done.state);
        Ok(())
    }

    /// The state root, from the whole state.
    pub fn root(&self) -> B256 {
        let accounts = &self.evm.ctx.journaled_state.database.cache.accounts;
        let alive = accounts.iter().filter(|(_, account)| {
            account.account_state != AccountState::NotExisting && !account.info.is_empty()
        });
        state_root_unhashed(alive.map(|(address, account)| {
            let slots = account.storage.iter().filter(|(_, value)| !value.is_zero());
            let slots = slots.map(|(slot, value)| (B256::from(*slot), *value));
            let leaf = TrieAccount {
                nonce: account.info.nonce,
                balance: account.info.balance,
                storage_root: storage_root_unhashed(slots),
                code_hash: account.info.code_hash,
                ..TrieAccount::default()
            };
            (*address, leaf)
        }))
    }
}

/// A transaction as the machine takes it.
fn environment(tx: &TxEnvelope, caller: Address) -> TxEnv {
    let authorizations = tx.authorization_list().unwrap_or_default();
    TxEnv {
        tx_type: tx.ty(),
        caller,
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.kind(),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        blob_hashes: tx.blob_versioned_hashes().unwrap_or_default().to_vec(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: authorizations.iter().cloned().map(Either::Left).collect(),
    }
}
