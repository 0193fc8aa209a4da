//! Transactions prepared for the virtual machine, and the reasons why it refuses one.

use super::evm::{Environment, WideTransaction};
use super::history::Call;
use crate::rule::{Rule, Violation};
use crate::state::StateError;
use crate::{Address, Hash, U256};
use blockmill_rlp::ethereum::{Transaction, TransactionType};
use blockmill_verdict::Hex;

/// A transaction that satisfies every rule that needs no state, with its sender.
#[derive(Clone, Debug)]
pub struct PreparedTransaction {
    /// Its type.
    pub kind: TransactionType,
    /// Who signed it.
    pub sender: Address,
    /// Its gas limit.
    pub gas_limit: u64,
    /// The machine's environment; `None` if a fee exceeds the machine's integers.
    pub(super) environment: Option<Environment>,
    /// The environment with wide fees; `None` if `environment` is there.
    pub(super) wide: Option<Box<WideTransaction>>,
}

impl PreparedTransaction {
    /// Prepares a transaction with a verified form; `protected` is the chain of a legacy signature.
    pub fn new(tx: &Transaction<'_>, sender: Address, protected: Option<U256>) -> Self {
        let environment = Environment::new(tx, &sender, protected);
        let apart = || Box::new(WideTransaction::new(tx, &sender, protected));
        let wide = environment.is_none().then(apart);
        Self { kind: tx.kind, sender, gas_limit: tx.gas_limit, environment, wide }
    }

    /// The call; `None` if it creates a contract.
    pub fn call(&self) -> Option<Call<'_>> {
        self.environment.as_ref()?.call()
    }

    /// Calls `each` with the accounts, and the slots of accounts, that it names.
    pub fn names(&self, each: impl FnMut(&Address, Option<&Hash>)) {
        if let Some(environment) = &self.environment {
            environment.names(each);
        }
    }
}

/// The reason why a transaction is not executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its nonce is not the sender's.
    Nonce {
        /// The sender's.
        expected: u64,
        /// The transaction's.
        found: u64,
    },
    /// The sender owns less than the transaction can cost.
    Balance {
        /// The most that it can cost, in wei.
        needed: U256,
        /// What the sender owns.
        found: U256,
    },
    /// The sender is a contract.
    SenderCode,
    /// Another reason of the machine.
    Other(String),
    /// A part of the state is not known or cannot be read.
    State(StateError),
}

impl From<StateError> for Refusal {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl Refusal {
    /// The rule that transaction `index` breaks.
    ///
    /// # Errors
    /// [`StateError`] if the transaction is not at fault.
    pub(crate) fn violation(self, index: usize, sender: &Address) -> Result<Violation, StateError> {
        let of = |rule, expected: String, found: String| {
            Ok(Violation::of_transaction(rule, index, expected, found))
        };
        let sender = Hex(sender);
        match self {
            Self::Nonce { expected, found } => {
                of(Rule::SenderNonce, format!("{expected}, that of {sender}"), found.to_string())
            }
            Self::Balance { needed, found } => {
                of(Rule::SenderBalance, format!("{needed} wei of {sender}"), found.to_string())
            }
            Self::SenderCode => {
                of(Rule::SenderCode, "a sender without code".into(), format!("code at {sender}"))
            }
            Self::Other(reason) => of(Rule::Transaction, "a valid transaction".into(), reason),
            Self::State(error) => Err(error),
        }
    }
}
