//! The rules of transactions that need the state, one function each.
//!
//! All use the state after the parent block, as in neo-go, which verifies a block's transactions as
//! if they entered the pool one by one (`Blockchain.verifyAndPoolTx`). `body::rules` has the rules
//! that need no state.

mod pool;
mod rules;

use super::{
    block::Executor,
    engine::{Chain, SharedContext},
    vm::Vm,
};
use crate::{
    rule::{Rule, Violation},
    state::State,
    types::{Block, Transaction},
    witness::{Checked, Verdict},
};
use pool::Pool;

/// Gas limit of a verification, in units of 10^-8 GAS (`defaultMaxVerificationGas`).
pub(crate) const MAX_VERIFICATION_GAS: u64 = 1_5000_0000;

/// Verifies the transactions of a block.
pub struct TransactionVerifier<'a> {
    /// The chain.
    pub chain: &'a Chain,
    /// The last block; only its header is used.
    pub before: &'a Block,
    /// The state after it. Verification leaves it unchanged.
    pub state: &'a mut State,
    /// Runs witnesses of other than standard form.
    pub executor: &'a mut Executor,
    /// The machine that they run on.
    pub vm: &'a mut Vm,
}

impl TransactionVerifier<'_> {
    /// Verifies the transactions of a block. `checked` has the witnesses of all of them in order,
    /// as the check stage verified them.
    ///
    /// # Errors
    /// Returns the first broken rule of the first invalid transaction.
    pub fn verify(&mut self, block: &Block, checked: &[Checked]) -> Result<(), Violation> {
        let mut pool = Pool::new(block);
        let mut checked = checked;
        for (index, transaction) in block.transactions().enumerate() {
            let count = transaction.witnesses().len().min(checked.len());
            let (own, others) = checked.split_at(count);
            checked = others;
            self.one(transaction, own)
                .and_then(|()| pool.add(self.state, index))
                .map_err(|violation| violation.in_transaction(index))?;
        }
        Ok(())
    }

    /// Checks the rules in the order of neo-go, so that both report the same one.
    fn one(&mut self, transaction: Transaction<'_>, checked: &[Checked]) -> Result<(), Violation> {
        rules::script(transaction)?;
        rules::valid_until_increment(self, transaction)?;
        rules::blocked(self, transaction)?;
        let left = rules::network_fee(self, transaction)?;
        rules::new(self, transaction)?;
        self.witnesses(transaction, checked, left)?;
        rules::attributes(self, transaction)
    }

    /// Checks that every witness is satisfied and that `gas` pays for all of them
    /// (`verifyTxWitnesses`).
    fn witnesses(
        &mut self,
        transaction: Transaction<'_>,
        checked: &[Checked],
        mut gas: u64,
    ) -> Result<(), Violation> {
        let factor = super::native::policy::exec_fee_factor(self.state, false);
        let signers = transaction.signers().zip(transaction.witnesses()).zip(checked);
        let mut context = SharedContext::default();
        for ((signer, witness), checked) in signers {
            let limit = gas.min(MAX_VERIFICATION_GAS);
            let account = signer.account();
            let cost = match checked.verdict {
                Verdict::Valid { units } => {
                    let cost = u128::from(units) * u128::from(factor);
                    let cost = u64::try_from(cost.div_ceil(super::vm::PICO)).unwrap_or(u64::MAX);
                    if cost > limit {
                        let expected = format!("at most {limit}");
                        return Err(Violation::new(Rule::WitnessFee, expected, cost));
                    }
                    cost
                }
                Verdict::Invalid => {
                    let expected = format!("the signatures of {}", account.address());
                    return Err(Violation::new(Rule::Witness, expected, "a missing or wrong one"));
                }
                Verdict::Machine => {
                    let ground = (self.chain, self.before);
                    let signed = (Some(transaction), account, witness);
                    let vm = &mut *self.vm;
                    let limit = (limit, &mut context);
                    let outcome = self.executor.satisfies(vm, ground, self.state, signed, limit);
                    outcome.map_err(|why| {
                        let expected = format!("the agreement of {}", account.address());
                        Violation::new(Rule::Witness, expected, why)
                    })?
                }
            };
            gas -= cost.min(gas);
        }
        Ok(())
    }
}
