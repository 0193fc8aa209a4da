//! Dry runs predict which slots a transaction will access.
//!
//! The transaction is executed without the slots of the state: each slot reads as a large number.
//! The result is wrong, but a transaction that iterates over an array or computes its slots
//! accesses the same ones, and these can be prefetched together. Only the slots are used.

use super::rules::{Machine, Rules, machine};
use super::speculator::SPECULATIVE_BALANCE;
use super::{EMPTY_CODE, MachineOptions, PreparedTransaction};
use crate::U256;
use crate::execute::block::BlockTerms;
use crate::execute::history::Slot;
use crate::state::{SharedState, StateError};
use hashbrown::HashMap;
use revm::ExecuteEvm;
use revm::bytecode::Bytecode;
use revm::context::ContextTr;
use revm::database_interface::Database;
use revm::primitives::{self, B256};
use revm::state::AccountInfo;

/// The value of every slot: not 0, over which a store costs four times as much, and sufficient as a
/// token balance.
const LARGE: U256 = U256::ONE.wrapping_shl(64);

/// Executes transactions without the slots of the state.
pub struct DryRuns {
    machine: Machine<Guess>,
    rules: Rules,
}

/// The state that a dry run sees.
struct Guess {
    /// It lags some blocks, which does not matter here.
    disk: SharedState,
    sender: primitives::Address,
    nonce: u64,
    accounts: HashMap<primitives::Address, Option<AccountInfo>>,
    slots: Vec<Slot>,
}

impl DryRuns {
    /// Dry runs for the chain with this id, on the accounts and codes of `disk`.
    pub fn new(disk: SharedState, chain_id: U256, options: MachineOptions) -> Self {
        let (sender, nonce) = (primitives::Address::ZERO, 0);
        let (accounts, slots) = (HashMap::new(), vec![]);
        let guess = Guess { disk, sender, nonce, accounts, slots };
        let rules = Rules { options, ..Rules::default() };
        Self { machine: machine(guess, chain_id), rules }
    }

    /// Begins a block. `None` if its fees exceed the machine's integers.
    pub fn begin(&mut self, terms: &BlockTerms) -> Option<()> {
        self.rules.begin(&mut self.machine, terms)
    }

    /// Returns the slots that a transaction accesses, and the gas that it uses.
    pub fn slots(&mut self, tx: &PreparedTransaction) -> (Vec<Slot>, u64) {
        let Some(environment) = &tx.environment else { return (vec![], 0) };
        let guess = self.machine.ctx.db_mut();
        (guess.sender, guess.nonce) = (environment.0.caller, environment.0.nonce);
        let result = self.machine.transact_one(environment.0.clone());
        // a failed transaction has accessed slots, too
        let gas = result.map_or(0, |result| result.tx_gas_used());
        let _ = self.machine.finalize();
        (std::mem::take(&mut self.machine.ctx.db_mut().slots), gas)
    }
}

impl Database for Guess {
    type Error = StateError;

    fn basic(&mut self, address: primitives::Address) -> Result<Option<AccountInfo>, StateError> {
        if address == self.sender {
            let (balance, nonce) = (SPECULATIVE_BALANCE, self.nonce);
            return Ok(Some(AccountInfo { balance, nonce, ..Default::default() }));
        }
        if let Some(known) = self.accounts.get(&address) {
            return Ok(known.clone());
        }
        let found = self.disk.account(&blockmill_hashes::keccak256(&address.0.0))?;
        let info = match found {
            None => None,
            Some((account, _)) => {
                let code_hash = B256::from(account.code_hash);
                let code = Some(self.code_by_hash(code_hash)?);
                let (balance, nonce) = (account.balance, account.nonce);
                Some(AccountInfo { balance, nonce, code_hash, code, account_id: None })
            }
        };
        self.accounts.insert(address, info.clone());
        Ok(info)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, StateError> {
        if hash.0 == EMPTY_CODE {
            return Ok(Bytecode::default());
        }
        Ok(self.disk.code(&hash.0)?.unwrap_or_default().0)
    }

    fn storage(&mut self, address: primitives::Address, slot: U256) -> Result<U256, StateError> {
        self.slots.push((address.0.0, slot));
        Ok(LARGE)
    }

    fn block_hash(&mut self, _: u64) -> Result<B256, StateError> {
        Ok(B256::ZERO)
    }
}
