//! Ether that a block creates: mining rewards, and withdrawals from the beacon chain.

use super::block::PreparedBlock;
use super::evm::Evm;
use crate::params::Fork;
use crate::state::StateError;
use crate::{Address, U256};

/// Wei of an ether.
const ETHER: u64 = 1_000_000_000_000_000_000;
/// Wei of a gwei.
const GWEI: u64 = 1_000_000_000;

/// The block reward in wei (Yellow Paper 11.3, EIP-649, EIP-1234); 0 under proof of stake
/// (EIP-3675).
pub(crate) fn block_reward(fork: Fork) -> U256 {
    let ether = match fork {
        fork if fork >= Fork::Paris => 0,
        fork if fork >= Fork::Constantinople => 2,
        fork if fork >= Fork::Byzantium => 3,
        _ => 5,
    };
    U256::from(ether) * U256::from(ETHER)
}

/// The rewards of a block under proof of work (Yellow Paper 11.3): an ommer's reward is reduced by
/// an eighth for each generation, the block's own is increased by 1/32 for each ommer.
fn mining_rewards(block: &PreparedBlock) -> Vec<(Address, U256)> {
    let reward = block.reward;
    if reward.is_zero() {
        return vec![];
    }
    let mut rewards = Vec::with_capacity(block.ommers.len() + 1);
    for (number, miner) in &block.ommers {
        // an ommer of a verified block is at most seven generations older
        let generations = block.terms.number.saturating_sub(*number).min(8);
        rewards.push((*miner, reward * U256::from(8 - generations) / U256::from(8)));
    }
    let more = reward / U256::from(32) * U256::from(block.ommers.len());
    rewards.push((block.terms.beneficiary, reward + more));
    rewards
}

/// Credits the mining rewards.
pub(super) fn pay_rewards(evm: &mut Evm<'_>, block: &PreparedBlock) -> Result<(), StateError> {
    let rewards = mining_rewards(block);
    rewards.iter().try_for_each(|(miner, wei)| evm.credit(miner, *wei))
}

/// Credits withdrawals from the beacon chain (EIP-4895), whose unit is gwei.
pub(super) fn pay_withdrawals(evm: &mut Evm<'_>, block: &PreparedBlock) -> Result<(), StateError> {
    block
        .withdrawals
        .iter()
        .try_for_each(|(address, gwei)| evm.credit(address, U256::from(*gwei) * U256::from(GWEI)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_reward_falls_twice_and_ends_with_the_merge() {
        let ether = |fork| block_reward(fork) / U256::from(ETHER);
        let forks = [
            (Fork::Frontier, 5),
            (Fork::SpuriousDragon, 5),
            (Fork::Byzantium, 3),
            (Fork::Petersburg, 2),
            (Fork::GrayGlacier, 2),
            (Fork::Paris, 0),
            (Fork::Osaka, 0),
        ];
        for (fork, expected) in forks {
            assert_eq!(ether(fork), U256::from(expected), "{fork:?}");
        }
    }
}
