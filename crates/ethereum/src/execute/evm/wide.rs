//! Fees and chain ids that exceed the machine's integers: private chains may have any number of 256
//! bits.
//!
//! The machine executes such transactions with fees of 0. The fees are charged to the sender before
//! the transaction, and refunded and paid to the beneficiary after it. Instructions that return
//! fees or the chain id read them from [`Wide`].

use super::rules::Surroundings;
use super::values::Environment;
use super::{Evm, Outcome, refusal};
use crate::execute::block::BlockTerms;
use crate::execute::transaction::{PreparedTransaction, Refusal};
use crate::params::Fork;
use crate::state;
use crate::{Address, U256};
use blockmill_rlp::ethereum::Transaction;
use revm::ExecuteEvm;
use revm::bytecode::opcode;
use revm::context::transaction::{RecoveredAuthorization, TransactionType as MachineType};
use revm::context::{ContextTr, TxEnv};
use revm::context_interface::either::Either;
use revm::database_interface::Database;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{
    Instruction, InstructionContext, InstructionExecResult, InstructionResult,
};

/// The machine's id for a chain whose id exceeds 64 bits.
pub(super) const OWN: u64 = 1;
/// The machine's id for any other chain.
const OTHER: u64 = 2;
/// Gas of the instructions.
const GAS: u16 = 2;
/// Blob gas of a blob (EIP-4844).
const BLOB_GAS: u64 = 131_072;

/// The numbers of the block and of the current transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wide {
    /// The chain id, whether or not it is wide.
    pub(super) chain_id: U256,
    base_fee: U256,
    blob_fee: U256,
    gas_price: U256,
}

/// A transaction with its fees outside of the machine's environment.
#[derive(Clone, Debug)]
pub struct WideTransaction {
    environment: Environment,
    fees: Fees,
}

/// The most that a transaction pays, in wei for each unit of gas.
#[derive(Clone, Copy, Debug)]
struct Fees {
    max: U256,
    /// `None` for types without a priority fee: these pay `max`.
    priority: Option<U256>,
    blob: U256,
}

impl WideTransaction {
    /// Converts a transaction with a verified form; `protected` is the chain of a legacy signature.
    pub fn new(tx: &Transaction<'_>, sender: &Address, protected: Option<U256>) -> Self {
        let environment = Environment::with_fees(tx, sender, protected, [0; 3]);
        let dynamic = tx.kind >= blockmill_rlp::ethereum::TransactionType::DynamicFee;
        let priority = dynamic.then_some(tx.max_priority_fee);
        Self { environment, fees: Fees { max: tx.max_fee, priority, blob: tx.max_blob_fee } }
    }
}

impl Fees {
    /// The fees in a machine's environment.
    fn from_environment(tx: &TxEnv) -> Self {
        let dynamic = tx.tx_type >= MachineType::Eip1559 as u8;
        let priority = dynamic.then(|| U256::from(tx.gas_priority_fee.unwrap_or_default()));
        Self { max: U256::from(tx.gas_price), priority, blob: U256::from(tx.max_fee_per_blob_gas) }
    }

    /// The price of a unit of gas at this base fee (EIP-1559).
    fn price(&self, base_fee: U256) -> U256 {
        let with = |priority| base_fee.saturating_add(priority).min(self.max);
        self.priority.map_or(self.max, with)
    }
}

/// Returns whether the fees of a block or the chain id exceed the machine's integers.
pub(super) fn is_wide(terms: &BlockTerms, chain_id: &U256) -> bool {
    let blob_fee = terms.blob_fee.map_or(U256::ZERO, |(_, fee)| fee);
    let narrow = |number: &U256| u64::try_from(*number).is_ok();
    !narrow(&terms.base_fee) || u128::try_from(blob_fee).is_err() || !narrow(chain_id)
}

impl Evm<'_> {
    /// Begins a block with numbers of any width. `None` if its blob fee exceeds 256 bits.
    pub(super) fn begin_wide(&mut self, terms: &BlockTerms) -> Option<()> {
        let blob_fee = terms.blob_fee.map_or(U256::ZERO, |(_, fee)| fee);
        if blob_fee == U256::MAX {
            return None;
        }
        let chain_id = self.machine.ctx.chain.chain_id;
        if std::mem::take(&mut self.wide) {
            // rebuilds the table of instructions
            self.rules.fork = None;
        }
        self.rules.set(&mut self.machine, terms);
        let (base_fee, gas_price) = (terms.base_fee, U256::ZERO);
        self.machine.ctx.chain = Wide { chain_id, base_fee, blob_fee, gas_price };
        Some(())
    }

    /// Executes the rest of the block with wide numbers.
    pub(super) fn widen(&mut self) {
        if std::mem::replace(&mut self.wide, true) {
            return;
        }
        let fork = self.rules.fork.unwrap_or(Fork::Frontier);
        let table = &mut self.machine.instruction;
        table.insert_instruction(opcode::GASPRICE, Instruction::new(gas_price), GAS);
        if fork >= Fork::Istanbul {
            table.insert_instruction(opcode::CHAINID, Instruction::new(chain_id), GAS);
        }
        if fork >= Fork::London {
            table.insert_instruction(opcode::BASEFEE, Instruction::new(base_fee), GAS);
        }
        if fork >= Fork::Cancun {
            table.insert_instruction(opcode::BLOBBASEFEE, Instruction::new(blob_fee), GAS);
        }
        self.machine.ctx.block.basefee = 0;
        if let Some(blobs) = &mut self.machine.ctx.block.blob_excess_gas_and_price {
            blobs.blob_gasprice = 0;
        }
    }

    /// Executes a transaction with wide numbers; its result is in the state.
    pub(super) fn transact_wide(&mut self, tx: &PreparedTransaction) -> Result<Outcome, Refusal> {
        self.commit_block()?;
        self.widen();
        let (mut environment, fees) = match (&tx.wide, &tx.environment) {
            (Some(wide), _) => (wide.environment.0.clone(), wide.fees),
            (None, Some(environment)) => {
                (environment.0.clone(), Fees::from_environment(&environment.0))
            }
            (None, None) => return Err(Refusal::Other("it has no fees".into())),
        };
        let price = self.charge(&environment, &fees)?;
        self.machine.ctx.chain.gas_price = price;
        self.make_narrow(&mut environment);
        let (sender, gas_limit) = (environment.caller.0.0, environment.gas_limit);
        let result = self.machine.transact_one(environment).map_err(refusal);
        let changed = self.machine.finalize();
        self.machine.ctx.chain.gas_price = U256::ZERO;
        let result = result?;
        let beneficiary = self.machine.ctx.block().beneficiary;
        // a beneficiary that self-destructs loses its fee, too
        let ends = changed.get(&beneficiary).is_some_and(|account| account.is_selfdestructed());
        self.commit(changed)?;
        let used = result.tx_gas_used();
        let left = U256::from(gas_limit.saturating_sub(used));
        self.credit(&sender, price.saturating_mul(left))?;
        if !ends {
            let tip = price.saturating_sub(self.machine.ctx.chain.base_fee);
            let fee = tip.saturating_mul(U256::from(used));
            self.credit(&beneficiary.0.0, fee)?;
        }
        Ok(Outcome::new(result, self.rules.fork))
    }

    /// Charges the sender for all gas and blobs, and returns the price of a unit of gas. The sender
    /// must own the maximum cost and the value.
    fn charge(&mut self, tx: &TxEnv, fees: &Fees) -> Result<U256, Refusal> {
        let Wide { base_fee, blob_fee, .. } = self.machine.ctx.chain;
        let gas = U256::from(tx.gas_limit);
        let blob_gas = U256::from(tx.blob_hashes.len()) * U256::from(BLOB_GAS);
        let cost = |fee: U256, blob_fee: U256| {
            let blobs = blob_fee.checked_mul(blob_gas);
            fee.checked_mul(gas).zip(blobs).and_then(|(fee, blobs)| fee.checked_add(blobs))
        };
        let address = tx.caller.0.0;
        let account = self.state().account(&address)?.map(|found| found.1).unwrap_or_default();
        let needed = cost(fees.max, fees.blob).and_then(|cost| cost.checked_add(tx.value));
        let price = fees.price(base_fee);
        let paid = cost(price, blob_fee);
        let left = paid.and_then(|paid| account.balance.checked_sub(paid));
        match (needed.filter(|needed| *needed <= account.balance), left) {
            (Some(_), Some(balance)) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.set_balance(&address, account, balance);
                }
                let account = state::Account { balance, ..account };
                self.state().set_account(&address, Some(account), None)?;
                Ok(price)
            }
            _ => {
                let needed = needed.unwrap_or(U256::MAX);
                Err(Refusal::Balance { needed, found: account.balance })
            }
        }
    }

    /// Replaces numbers of a transaction that exceed the machine's integers.
    fn make_narrow(&self, tx: &mut TxEnv) {
        (tx.gas_price, tx.max_fee_per_blob_gas) = (0, 0);
        tx.gas_priority_fee = tx.gas_priority_fee.map(|_| 0);
        let own = self.machine.ctx.chain.chain_id;
        if u64::try_from(own).is_ok() {
            return;
        }
        for delegation in &mut tx.authorization_list {
            let recovered = match delegation {
                Either::Left(signed) => signed.clone().into_recovered(),
                Either::Right(recovered) => recovered.clone(),
            };
            let (mut inner, authority) = recovered.into_parts();
            inner.chain_id = match inner.chain_id {
                id if id.is_zero() => id,
                id if id == own => U256::from(OWN),
                _ => U256::from(OTHER),
            };
            *delegation = Either::Right(RecoveredAuthorization::new_unchecked(inner, authority));
        }
    }
}

/// The arguments of an instruction.
type Call<'a, D> = InstructionContext<'a, Surroundings<D>, EthInterpreter>;

fn push<D: Database>(call: Call<'_, D>, word: U256) -> InstructionExecResult {
    match call.interpreter.stack.push(word) {
        true => Ok(()),
        false => Err(InstructionResult::StackOverflow),
    }
}

fn gas_price<D: Database>(call: Call<'_, D>) -> InstructionExecResult {
    let word = call.host.chain.gas_price;
    push(call, word)
}

fn base_fee<D: Database>(call: Call<'_, D>) -> InstructionExecResult {
    let word = call.host.chain.base_fee;
    push(call, word)
}

fn blob_fee<D: Database>(call: Call<'_, D>) -> InstructionExecResult {
    let word = call.host.chain.blob_fee;
    push(call, word)
}

fn chain_id<D: Database>(call: Call<'_, D>) -> InstructionExecResult {
    let word = call.host.chain.chain_id;
    push(call, word)
}
