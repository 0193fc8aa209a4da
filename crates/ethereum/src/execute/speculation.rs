//! Which transactions are executed before their turn, and how much of that may be in vain.

use super::evm::{Ahead, MachineOptions, Speculator, Tally};
use super::{PreparedBlock, PreparedTransaction};
use crate::params::ChainSpec;
use crate::state::State;
use rlp::ethereum::TransactionType;
use std::sync::RwLock;
use std::sync::atomic::{AtomicI64, Ordering};

/// Gas from which on a transaction is worth it.
const HEAVY: u64 = 1_000_000;
/// Gas that may be executed in vain before there was any success, and at most.
const CREDIT: i64 = 50_000_000;
/// What was taken over counts for so much less than what was in vain.
const GAIN: u64 = 4;
/// And what was executed at its turn for so much less: once in a while it is tried again.
const REGAIN: u64 = 64;

/// Which transactions are executed before their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speculate {
    /// None.
    Off,
    /// Those that may use much gas.
    Heavy,
    /// All.
    All,
}

impl Speculate {
    fn wants(self, tx: &PreparedTransaction) -> bool {
        // what blobs cost and whom delegations change is compared at the turn only
        let is_plain = tx.kind <= TransactionType::DynamicFee;
        let least = match self {
            Self::Off => return false,
            Self::Heavy => HEAVY,
            Self::All => 0,
        };
        is_plain && tx.gas_limit >= least
    }
}

/// Bounds the gas that is executed in vain: by what was of use, and by a share of the rest.
#[derive(Debug)]
pub struct Account {
    credit: AtomicI64,
}

impl Default for Account {
    fn default() -> Self {
        Self { credit: AtomicI64::new(CREDIT) }
    }
}

impl Account {
    /// Whether more may be tried.
    pub fn allows(&self) -> bool {
        self.credit.load(Ordering::Relaxed) > 0
    }

    /// Takes in what became of the speculations of some blocks that used so much gas.
    pub fn settle(&self, tally: &Tally, gas: u64) {
        let gain = tally.taken_gas / GAIN + gas.saturating_sub(tally.taken_gas) / REGAIN;
        let change = i64::try_from(gain).unwrap_or(i64::MAX)
            - i64::try_from(tally.refused_gas).unwrap_or(i64::MAX);
        let _ = self.credit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |credit| {
            Some(credit.saturating_add(change).min(CREDIT))
        });
    }
}

/// Executes transactions of blocks on whatever the state is now; for each transaction of each
/// block what it led to, where that was tried.
pub fn speculate(
    which: Speculate,
    spec: &ChainSpec,
    state: &RwLock<State>,
    options: MachineOptions,
    blocks: &[PreparedBlock],
) -> Vec<Vec<Option<Box<Ahead>>>> {
    let mut machine = None;
    let mut all = vec![];
    for block in blocks {
        all.push(vec![]);
        if !block.transactions.iter().any(|tx| which.wants(tx)) {
            continue;
        }
        let machine = machine.get_or_insert_with(|| Speculator::new(state, spec.chain_id, options));
        if machine.begin(&block.terms).is_none() {
            continue;
        }
        let results = block.transactions.iter().map(|tx| match which.wants(tx) {
            true => machine.execute(tx),
            false => None,
        });
        if let Some(last) = all.last_mut() {
            last.extend(results);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_vain_is_bounded_by_what_is_of_use_and_a_share_of_the_rest() {
        let account = Account::default();
        let in_vain = |gas| Tally { refused: 1, refused_gas: gas, ..Tally::default() };
        let mut wasted = 0;
        for _ in 0..10_000 {
            let gas = 15_000_000;
            let tally = if account.allows() { in_vain(gas) } else { Tally::default() };
            wasted += tally.refused_gas;
            account.settle(&tally, gas);
        }
        let all = 10_000 * 15_000_000u64;
        assert!(wasted <= CREDIT as u64 + 15_000_000 + all / REGAIN, "{wasted}");
        assert!(wasted >= all / REGAIN / 2, "{wasted}: it is tried again");
        let of_use = Tally { taken: 1, taken_gas: 1 << 40, ..Tally::default() };
        account.settle(&of_use, 1 << 40);
        assert_eq!(account.credit.load(Ordering::Relaxed), CREDIT);
    }
}
