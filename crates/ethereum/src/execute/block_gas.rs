//! Gas of a block.

use super::evm::Outcome;
use crate::params::Fork;
use crate::rule::{Rule, Violation};
use crate::transaction_rules::MAX_GAS_LIMIT;

/// The gas that the transactions of a block have used. From Amsterdam on, gas for a larger state
/// and other gas are counted apart, each up to the limit of the block (EIP-8037).
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockGas {
    limit: u64,
    /// Whether the two are counted apart.
    is_split: bool,
    regular: u64,
    state: u64,
}

impl BlockGas {
    /// The gas of a block with this limit before its first transaction.
    pub fn new(fork: Fork, limit: u64) -> Self {
        Self { limit, is_split: fork >= Fork::Amsterdam, regular: 0, state: 0 }
    }

    /// Compares the gas limit of the next transaction with what is left (Yellow Paper, section 6.2;
    /// EIP-8037).
    ///
    /// # Errors
    /// [`Rule::BlockGasLimit`].
    pub fn verify(&self, gas_limit: u64) -> Result<(), Violation> {
        let left = |used: u64, asked: u64| {
            let left = self.limit.saturating_sub(used);
            let expected = || format!("at most {left}, which earlier transactions left");
            match asked <= left {
                true => Ok(()),
                false => Err(Violation::new(Rule::BlockGasLimit, expected(), asked)),
            }
        };
        match self.is_split {
            true => {
                left(self.regular, gas_limit.min(MAX_GAS_LIMIT))?;
                left(self.state, gas_limit)
            }
            false => left(self.regular, gas_limit),
        }
    }

    /// Adds an executed transaction.
    pub fn add(&mut self, outcome: &Outcome) {
        self.regular = self.regular.saturating_add(outcome.regular_gas);
        self.state = self.state.saturating_add(outcome.state_gas);
    }

    /// The gas used, as the header has it: the larger of the two.
    pub fn used(&self) -> u64 {
        self.regular.max(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(gas_used: u64, regular_gas: u64, state_gas: u64) -> Outcome {
        Outcome { success: true, gas_used, regular_gas, state_gas, logs: vec![] }
    }

    #[test]
    fn a_transaction_fits_into_what_earlier_ones_left() {
        let mut gas = BlockGas::new(Fork::Osaka, 100);
        gas.add(&outcome(40, 40, 0));
        assert!(gas.verify(60).is_ok() && gas.verify(61).is_err());
        assert_eq!(gas.used(), 40);
    }

    #[test]
    fn amsterdam_has_room_for_state_and_for_the_rest_apart() {
        let limit = MAX_GAS_LIMIT + 50;
        let mut gas = BlockGas::new(Fork::Amsterdam, limit);
        // what the sender pays does not count
        gas.add(&outcome(1, 40, 7));
        assert_eq!(gas.used(), 40);
        assert!(gas.verify(limit - 7).is_ok() && gas.verify(limit - 6).is_err());
        gas.add(&outcome(1, 11, 0));
        // 2^24 of other gas have no room any more, less have
        assert!(gas.verify(MAX_GAS_LIMIT - 1).is_ok() && gas.verify(MAX_GAS_LIMIT).is_err());
        gas.add(&outcome(1, 0, 60));
        assert_eq!(gas.used(), 67);
    }
}
