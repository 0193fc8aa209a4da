//! A machine over the accounts of the programs, which leaves them as they were.

use super::accounts::{BENEFICIARY, SENDER};
use anyhow::{Context, Result, anyhow};
use blockmill_ethereum::execute::{BlockTerms, Code, Evm, Outcome, PreparedTransaction, Refusal};
use blockmill_ethereum::params::genesis::GenesisAccount;
use blockmill_ethereum::params::{CodeLimits, Fork};
use blockmill_ethereum::state::{Account, State};
use blockmill_ethereum::transactions::{Transaction, TransactionType};
use blockmill_ethereum::{Address, Hash, U256};
use blockmill_generate::ethereum::executable::{CHAIN_ID, FIRST_TIME, GAS_LIMIT};
use blockmill_rlp::List;
use std::time::{Duration, Instant};

/// Number of the block in which programs run.
pub const NUMBER: u64 = 1_000;
/// Gas of every transaction: less than the most of EIP-7825.
pub const GAS: u64 = 16_000_000;

/// What is called.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The program.
    pub to: Address,
    /// Call data.
    pub input: &'a [u8],
    /// Blobs of the transaction.
    pub blobs: u8,
}

impl Call<'_> {
    /// The transaction, which costs nothing.
    pub fn transaction(&self) -> PreparedTransaction {
        let kind = if self.blobs > 0 { TransactionType::Blob } else { TransactionType::Legacy };
        let hashes: Vec<Hash> = (0..self.blobs).map(blob_hash).collect();
        let tx = Transaction {
            chain_id: U256::from(CHAIN_ID),
            gas_limit: GAS,
            to: Some(&self.to),
            input: self.input,
            max_blob_fee: U256::from(u64::from(self.blobs.min(1))),
            blob_hashes: List::Values(&hashes),
            ..Transaction::new(kind)
        };
        PreparedTransaction::new(&tx, SENDER, None)
    }
}

/// The versioned hash of a blob that nobody has.
fn blob_hash(at: u8) -> Hash {
    let mut hash = blockmill_hashes::keccak256(&[at]);
    hash[0] = 1;
    hash
}

/// See the module's text.
pub struct Machine {
    state: State,
    terms: BlockTerms,
}

impl Machine {
    /// Over these accounts, under the rules of a fork.
    ///
    /// # Errors
    /// More accounts than a state can have.
    pub fn new(fork: Fork, accounts: &[GenesisAccount]) -> Result<Self> {
        let mut state = State::from_accounts(accounts)?;
        for number in NUMBER - 256..NUMBER {
            state.ancestors.push(number, blockmill_hashes::keccak256(&number.to_be_bytes()));
        }
        state.take_changes();
        Ok(Self { state, terms: terms(fork) })
    }

    /// Replaces the code of an account.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn put(&mut self, account: &GenesisAccount) -> Result<()> {
        let code = Code::new(account.code.clone());
        let (nonce, balance, code_hash) = (account.nonce, account.balance, code.hash());
        let put = Account { nonce, balance, code_hash };
        let id = self.state.set_account(&account.address, Some(put), Some(code))?;
        for (slot, value) in &account.storage {
            self.state.set_slot(id, U256::from_be_bytes(*slot), U256::from_be_bytes(*value));
        }
        self.state.take_changes();
        Ok(())
    }

    /// Executes a transaction; returns its result and its time.
    ///
    /// # Errors
    /// When it cannot be executed.
    pub fn execute(&mut self, tx: &PreparedTransaction) -> Result<(Outcome, Duration)> {
        let mut evm = Evm::new(&mut self.state, U256::from(CHAIN_ID));
        evm.begin(&self.terms).context("no machine knows this fork")?;
        let start = Instant::now();
        let outcome = evm.transact(tx).map_err(message)?;
        let took = start.elapsed();
        // what is not settled is forgotten; before Byzantium each transaction is settled
        drop(evm);
        let changes = self.state.take_changes();
        self.state.undo(&changes);
        Ok((outcome, took))
    }

    /// Counts what a transaction executes.
    ///
    /// # Errors
    /// When it cannot be executed.
    #[cfg(test)]
    pub fn census(
        &mut self,
        tx: &PreparedTransaction,
    ) -> Result<blockmill_ethereum::execute::evm::Census> {
        blockmill_ethereum::execute::evm::census(
            &mut self.state,
            U256::from(CHAIN_ID),
            &self.terms,
            tx,
        )
        .map_err(message)
    }
}

fn message(refusal: Refusal) -> anyhow::Error {
    anyhow!("the transaction cannot be executed: {refusal:?}")
}

/// The block in which programs run.
pub fn terms(fork: Fork) -> BlockTerms {
    let proof_of_work = fork < Fork::Paris;
    BlockTerms {
        fork,
        number: NUMBER,
        beneficiary: BENEFICIARY,
        timestamp: FIRST_TIME,
        gas_limit: GAS_LIMIT,
        base_fee: U256::ZERO,
        difficulty: if proof_of_work { U256::from(131_072) } else { U256::ZERO },
        mix_hash: [0x3a; 32],
        blob_fee: (fork >= Fork::Cancun).then_some((0, U256::ONE)),
        code: CodeLimits::of(fork),
        slot: 1,
    }
}
