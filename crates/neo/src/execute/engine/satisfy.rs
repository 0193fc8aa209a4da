//! Runs witnesses of contracts, and of scripts of other than standard form
//! (`Blockchain.verifyHashAgainstScript`).

use super::{Engine, calls::LoadOptions, flags};
use crate::{
    execute::{
        contract::{ParamType, check_script},
        vm::Fault,
    },
    types::{UInt160, Witness},
};
use hashbrown::HashMap;

/// The context that the witnesses of a transaction share (`Blockchain.verifyTxWitnesses`).
#[derive(Debug, Default)]
pub struct SharedContext {
    invocations: HashMap<[u8; 20], u32>,
    random_count: u32,
    nonce: Option<[u8; 16]>,
}

/// Why a witness is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// A script with the hash of a native contract (`ErrNativeContractWitness`).
    #[error("a script of a native contract")]
    Native,
    /// An invalid script (`ErrInvalidVerificationScript`, `ErrInvalidInvocationScript`).
    #[error("a script that is not correct: {0}")]
    Script(String),
    /// No contract with this hash (`ErrUnknownVerificationContract`).
    #[error("no contract")]
    NoContract,
    /// The contract has no method `verify` that returns a boolean
    /// (`ErrInvalidVerificationContract`).
    #[error("a contract that does not verify")]
    NoMethod,
    /// The scripts fault (`ErrVerificationFailed`).
    #[error("a failure, {0}")]
    Failed(String),
    /// The scripts do not leave a single boolean.
    #[error("no single answer")]
    NoAnswer,
    /// The scripts return false (`ErrInvalidSignature`).
    #[error("the answer no")]
    No,
}

impl Engine<'_> {
    /// Runs the witness of `account` and discards its changes. Returns the consumed gas in units of
    /// 10^-8.
    ///
    /// # Errors
    ///
    /// Returns [`WitnessError`] if the witness is invalid.
    pub fn satisfy(
        mut self,
        account: UInt160,
        witness: Witness<'_>,
        context: &mut SharedContext,
    ) -> Result<u64, WitnessError> {
        self.invocations = std::mem::take(&mut context.invocations);
        self.random_count = context.random_count;
        self.nonce = context.nonce.unwrap_or(self.nonce);
        let answer = self.load_witness(account, witness).and_then(|()| self.answer());
        for _ in 0..self.layers {
            self.state.rollback();
        }
        let Self { invocations, random_count, nonce, .. } = self;
        *context = SharedContext { invocations, random_count, nonce: Some(nonce) };
        answer
    }

    /// `Blockchain.InitVerificationContext`.
    fn load_witness(&mut self, account: UInt160, witness: Witness<'_>) -> Result<(), WitnessError> {
        let failed = |fault: Fault| WitnessError::Failed(fault.to_string());
        match witness.verification {
            [] => self.load_verify(account)?,
            script => {
                if self.chain.natives.get(&account.0).is_some() {
                    return Err(WitnessError::Native);
                }
                correct(script)?;
                self.load_script(script, account.0, flags::READ_ONLY, -1, false).map_err(failed)?;
            }
        }
        match witness.invocation {
            [] => Ok(()),
            script => {
                correct(script)?;
                let hash = UInt160::of_script(script).0;
                self.load_script(script, hash, flags::NONE, -1, false).map_err(failed)
            }
        }
    }

    /// Loads the method `verify` of the account's contract.
    fn load_verify(&mut self, account: UInt160) -> Result<(), WitnessError> {
        let contract = self.contract(&account.0).ok_or(WitnessError::NoContract)?;
        let method = contract.manifest.method("verify", None);
        let method = method.filter(|method| method.returns == ParamType::Boolean);
        let method = method.ok_or(WitnessError::NoMethod)?;
        *self.invocations.entry(account.0).or_insert(0) += 1;
        let options = LoadOptions {
            flags: flags::READ_ONLY,
            results: 1,
            whitelisted: false,
            dynamic: false,
            tag: None,
        };
        self.load_contract([0; 20], &contract, method, options)
            .map_err(|fault| WitnessError::Failed(fault.to_string()))
    }

    /// Runs the loaded scripts. They must leave exactly one item, which is true.
    fn answer(&mut self) -> Result<u64, WitnessError> {
        if let Some(fault) = self.run_machine() {
            return Err(WitnessError::Failed(fault));
        }
        let [item] = self.vm.stack() else { return Err(WitnessError::NoAnswer) };
        match item.to_bool() {
            Ok(true) => Ok(self.vm.gas_consumed()),
            Ok(false) => Err(WitnessError::No),
            Err(_) => Err(WitnessError::NoAnswer),
        }
    }
}

fn correct(script: &[u8]) -> Result<(), WitnessError> {
    check_script(script).map_err(|error| WitnessError::Script(error.to_string()))
}
