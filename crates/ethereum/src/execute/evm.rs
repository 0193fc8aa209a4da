//! The virtual machine: the only module that names `revm`.
//!
//! Traps of it, each of which cost somebody a day: the gas that an instruction costs whatever it
//! does lies in a table that does not follow the configuration, so a new table is made where the
//! fork changes; an `Evm` cannot be sent to another thread, so one is made for each stretch of
//! blocks; a slot's original value is that of the transaction, not of the block; and what EIP-161
//! removes is removed by whoever takes the result over, which is `Evm::commit`.

mod keccak;
mod reads;
mod values;

pub use reads::Reads;
pub use values::{Code, Environment, Log, Outcome};

use super::block::BlockTerms;
use super::transaction::{PreparedTransaction, Refusal};
use crate::params::Fork;
use crate::state::{Account, AccountId, State, StateError};
use crate::{Address, U256};
use revm::bytecode::{Bytecode, opcode};
use revm::context::result::{EVMError, ExecutionResult, InvalidTransaction};
use revm::context::{BlockEnv, Context, ContextSetters, ContextTr, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::cfg::gas_params::GasId;
use revm::database_interface::{DBErrorMarker, Database};
use revm::handler::instructions::EthInstructions;
use revm::handler::{Handler, MainnetHandler};
use revm::interpreter::instructions::host::sstore_with_gas_accounting;
use revm::interpreter::{Host, Instruction, InstructionExecResult, InstructionResult};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{self, B256, Bytes, TxKind};
use revm::state::{self, AccountInfo, EvmState};
use revm::{ExecuteEvm, MainBuilder, MainContext, MainnetEvm};

/// Who makes system calls (EIP-4788).
const SYSTEM: primitives::Address =
    primitives::address!("0xfffffffffffffffffffffffffffffffffffffffe");
/// Gas of a system call (EIP-4788, EIP-2935, EIP-7002, EIP-7251).
const SYSTEM_GAS: u64 = 30_000_000;

impl DBErrorMarker for StateError {}

/// The state as the machine reads it.
struct View<'s> {
    state: &'s mut State,
    /// Accounts that own storage and nothing else, seen in this transaction. No contract may be
    /// created there (EIP-7610), which the machine does not know: it is told of a nonce of 1, which
    /// keeps it from that, and which [`Evm::commit`] takes off again. So the machine does not see
    /// such an account as empty, even where its balance is 0.
    storage_only: Vec<Address>,
    reads: Reads,
}

impl Database for View<'_> {
    type Error = StateError;

    #[inline]
    fn basic(&mut self, address: primitives::Address) -> Result<Option<AccountInfo>, StateError> {
        self.reads.accounts += 1;
        let Some((id, mut account, code)) = self.state.account(&address.0.0)? else {
            return Ok(None);
        };
        let code = match code {
            Some(code) => Some(code.0.clone()),
            None if account.code_hash == crate::state::EMPTY_CODE => Some(Bytecode::default()),
            None => None,
        };
        let no_contract = account.nonce == 0 && account.code_hash == crate::state::EMPTY_CODE;
        if no_contract && self.state.has_slots(id) {
            account.nonce = 1;
            self.storage_only.push(address.0.0);
        }
        Ok(Some(AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash.into(),
            account_id: state::AccountId::new(id as usize),
            code,
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        self.state.code(&hash.0).map(|code| code.0)
    }

    fn storage(&mut self, address: primitives::Address, slot: U256) -> Result<U256, StateError> {
        self.reads.slots += 1;
        match self.state.account(&address.0.0)? {
            Some((id, ..)) => self.state.slot(id, &slot),
            None => Ok(U256::ZERO),
        }
    }

    #[inline]
    fn storage_by_account_id(
        &mut self,
        _: primitives::Address,
        id: state::AccountId,
        slot: U256,
    ) -> Result<U256, StateError> {
        self.reads.slots += 1;
        self.state.slot(id.get() as AccountId, &slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        let hash = self.state.ancestors.hash_of(number);
        hash.map(B256::from).ok_or(StateError::MissingBlockHash { number })
    }
}

type Machine<'s> = MainnetEvm<reads::Ground<'s>>;

/// A virtual machine over a state, for blocks one after the other.
pub struct Evm<'s> {
    machine: Machine<'s>,
    fork: Option<Fork>,
    options: MachineOptions,
}

/// What a machine may do in the plain way or in a fast one; all fast by default, so that the public
/// suites judge what imports use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineOptions {
    /// KECCAK256 takes our hash, not that of the machine's library.
    pub our_keccak: bool,
    /// What transactions change is taken over into the state at the end of their block, not after
    /// each of them; from Byzantium on, when no receipt has a state root any more.
    pub journal_of_block: bool,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self { our_keccak: true, journal_of_block: true }
    }
}

impl<'s> Evm<'s> {
    /// A machine of the chain with this id.
    pub fn new(state: &'s mut State, chain_id: u64) -> Self {
        let mut machine = {
            let view = View { state, storage_only: vec![], reads: Reads::default() };
            Context::mainnet().with_db(view).build_mainnet()
        };
        machine.ctx.modify_cfg(|cfg| {
            cfg.chain_id = chain_id;
            // transactions from before EIP-155 name no chain; the others were verified
            cfg.tx_chain_id_check = false;
        });
        Self { machine, fork: None, options: MachineOptions::default() }
    }

    /// The same in another way.
    #[must_use]
    pub fn with(mut self, options: MachineOptions) -> Self {
        self.options = options;
        self
    }

    /// The state.
    pub fn state(&mut self) -> &mut State {
        self.machine.ctx.db_mut().state
    }

    /// What was read of the state since the last call.
    pub fn take_reads(&mut self) -> Reads {
        std::mem::take(&mut self.machine.ctx.db_mut().reads)
    }

    /// Whether empty accounts are removed when they are touched (EIP-161).
    pub fn clears_empty(&self) -> bool {
        self.fork.is_some_and(|fork| fork >= Fork::SpuriousDragon)
    }

    /// Begins a block. None where its fork is one that the machine does not know, or a fee exceeds
    /// what the machine can count.
    pub fn begin(&mut self, terms: &BlockTerms) -> Option<()> {
        let spec = spec_of(terms.fork)?;
        if self.fork != Some(terms.fork) {
            self.fork = Some(terms.fork);
            self.machine.ctx.modify_cfg(|cfg| cfg.set_spec_and_mainnet_gas_params(spec));
            self.machine.instruction = EthInstructions::new_mainnet_with_spec(spec);
            reads::count(&mut self.machine.instruction);
            if terms.fork == Fork::Constantinople {
                self.meter_net_changes();
            }
            if self.options.our_keccak {
                let keccak = Instruction::new(keccak::keccak256);
                self.machine.instruction.insert_instruction(opcode::KECCAK256, keccak, 30);
            }
        }
        let blobs = match terms.blob_fee {
            Some((excess_blob_gas, fee)) => {
                let blob_gasprice = fee.try_into().ok()?;
                Some(BlobExcessGasAndPrice { excess_blob_gas, blob_gasprice })
            }
            None => None,
        };
        self.machine.ctx.set_block(BlockEnv {
            number: U256::from(terms.number),
            beneficiary: terms.beneficiary.into(),
            timestamp: U256::from(terms.timestamp),
            gas_limit: terms.gas_limit,
            basefee: terms.base_fee.try_into().ok()?,
            difficulty: terms.difficulty,
            prevrandao: (spec >= SpecId::MERGE).then_some(terms.mix_hash.into()),
            blob_excess_gas_and_price: blobs,
            slot_num: 0,
        });
        Some(())
    }

    /// The gas of SSTORE by EIP-1283, which Constantinople had and Petersburg took back: that of
    /// EIP-2200 with SLOAD at 200 and without the check of the gas that is left.
    fn meter_net_changes(&mut self) {
        const SLOAD: u64 = 200;
        let gas = [
            (GasId::sstore_static(), SLOAD),
            (GasId::sstore_set_without_load_cost(), 20_000 - SLOAD),
            (GasId::sstore_reset_without_cold_load_cost(), 5_000 - SLOAD),
            (GasId::sstore_set_refund(), 20_000 - SLOAD),
            (GasId::sstore_reset_refund(), 5_000 - SLOAD),
        ];
        self.machine.ctx.modify_cfg(|cfg| cfg.gas_params.override_gas(gas));
        let sstore = Instruction::new(sstore_of_net_changes);
        self.machine.instruction.insert_instruction(opcode::SSTORE, sstore, 0);
    }

    /// Whether changes wait for the end of the block.
    fn waits(&self) -> bool {
        self.options.journal_of_block && self.fork.is_some_and(|fork| fork >= Fork::Byzantium)
    }

    /// Executes a transaction; its result is in the state at [`Evm::settle`] at the latest.
    pub fn transact(&mut self, tx: &PreparedTransaction) -> Result<Outcome, Refusal> {
        let environment = tx.environment.as_ref().ok_or(Refusal::Fee)?;
        let result = self.machine.transact_one(environment.0.clone()).map_err(refusal);
        let result = if self.waits() {
            result?
        } else {
            let changed = self.machine.finalize();
            let result = result?;
            self.commit(changed)?;
            result
        };
        Ok(Outcome {
            success: result.is_success(),
            gas_used: result.tx_gas_used(),
            logs: result.into_logs().into_iter().map(Log).collect(),
        })
    }

    /// Takes over what the transactions of a block changed, where that waits.
    ///
    /// # Errors
    /// What is not known of the state.
    pub fn settle(&mut self) -> Result<(), StateError> {
        if !self.waits() {
            return Ok(());
        }
        let changed = self.machine.finalize();
        self.commit(changed)
    }

    /// Calls a system contract; its output where it succeeded.
    pub fn system_call(
        &mut self,
        contract: &Address,
        input: &[u8],
    ) -> Result<Option<Vec<u8>>, StateError> {
        self.machine.ctx.set_tx(TxEnv {
            caller: SYSTEM,
            data: Bytes::copy_from_slice(input),
            kind: TxKind::Call((*contract).into()),
            gas_limit: SYSTEM_GAS,
            ..TxEnv::default()
        });
        let result: Result<_, EVMError<StateError>> =
            MainnetHandler::default().run_system_call(&mut self.machine);
        let changed = self.machine.finalize();
        let result = match result {
            Ok(result) => result,
            Err(EVMError::Database(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        self.commit(changed)?;
        Ok(match result {
            ExecutionResult::Success { output, .. } => Some(output.into_data().to_vec()),
            _ => None,
        })
    }

    /// Takes over what a transaction changed.
    fn commit(&mut self, changed: EvmState) -> Result<(), StateError> {
        let clear_empty = self.clears_empty();
        // a slot's original value is that of the last transaction that came to it
        let all_slots = self.waits();
        let View { state, storage_only, .. } = self.machine.ctx.db_mut();
        for (address, account) in changed {
            if !account.is_touched() {
                continue;
            }
            let address = &address.0.0;
            let info = account.info;
            let (mut nonce, balance, code_hash) = (info.nonce, info.balance, info.code_hash.0);
            if storage_only.contains(address) {
                nonce = nonce.saturating_sub(1);
            }
            let after = Account { nonce, balance, code_hash };
            // one that another transaction of the block came to after it ended began anew
            let ended = account.status.contains(state::AccountStatus::SelfDestructedLocal);
            if ended || clear_empty && after.is_empty() {
                let id = state.set_account(address, None, None)?;
                state.clear_slots(id);
                continue;
            }
            let id = state.set_account(address, Some(after), info.code.map(Code))?;
            let anew = state::AccountStatus::Created | state::AccountStatus::SelfDestructed;
            if account.status.intersects(anew) {
                // whatever stood at this address before is no part of the new contract
                state.clear_slots(id);
            }
            for (slot, value) in account.storage {
                if all_slots || value.present_value != value.original_value {
                    state.set_slot(id, slot, value.present_value);
                }
            }
        }
        storage_only.clear();
        Ok(())
    }
}

/// SSTORE with the gas of net changes: see [`Evm::meter_net_changes`].
fn sstore_of_net_changes(mut context: reads::Call<'_, '_>) -> InstructionExecResult {
    reads::asked(&mut context);
    sstore_with_gas_accounting(context, |context, _, change| {
        let gas = context.host.gas_params();
        let (cost, refund) = (
            gas.sstore_dynamic_gas(true, &change.data, false),
            gas.sstore_refund(true, &change.data),
        );
        if !context.interpreter.gas.record_regular_cost(cost) {
            return Err(InstructionResult::OutOfGas);
        }
        context.interpreter.gas.record_refund(refund);
        Ok(())
    })
}

/// The machine's name of a fork; none of one that it does not know as it was.
fn spec_of(fork: Fork) -> Option<SpecId> {
    Some(match fork {
        Fork::Frontier => SpecId::FRONTIER,
        Fork::Homestead => SpecId::HOMESTEAD,
        Fork::TangerineWhistle => SpecId::TANGERINE,
        Fork::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
        Fork::Byzantium => SpecId::BYZANTIUM,
        Fork::Constantinople | Fork::Petersburg => SpecId::PETERSBURG,
        Fork::Istanbul | Fork::MuirGlacier => SpecId::ISTANBUL,
        Fork::Berlin => SpecId::BERLIN,
        Fork::London | Fork::ArrowGlacier | Fork::GrayGlacier => SpecId::LONDON,
        Fork::Paris => SpecId::MERGE,
        Fork::Shanghai => SpecId::SHANGHAI,
        Fork::Cancun => SpecId::CANCUN,
        Fork::Prague => SpecId::PRAGUE,
        Fork::Osaka => SpecId::OSAKA,
        Fork::Amsterdam => return None,
    })
}

/// The machine's reason for not executing a transaction. Those that need no state were verified
/// before, so that few are left.
fn refusal(error: EVMError<StateError>) -> Refusal {
    match error {
        EVMError::Database(error) => Refusal::State(error),
        EVMError::Transaction(InvalidTransaction::NonceTooHigh { tx, state })
        | EVMError::Transaction(InvalidTransaction::NonceTooLow { tx, state }) => {
            Refusal::Nonce { expected: state, found: tx }
        }
        EVMError::Transaction(InvalidTransaction::LackOfFundForMaxFee { fee, balance }) => {
            Refusal::Balance { needed: *fee, found: *balance }
        }
        EVMError::Transaction(InvalidTransaction::RejectCallerWithCode) => Refusal::SenderCode,
        other => Refusal::Other(other.to_string()),
    }
}
