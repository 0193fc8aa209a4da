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
/// Gas that may be on its way or in vain at a time.
const CREDIT: i64 = 200_000_000;
/// What was taken over earns this part of its gas again.
const GAIN: u64 = 4;
/// And what was executed at its turn this part: once in a while it is tried again.
const REGAIN: u64 = 32;

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
    /// Takes so much gas for a try, if there is some left.
    fn take(&self, gas: u64) -> bool {
        let gas = i64::try_from(gas).unwrap_or(i64::MAX);
        let take = |credit: i64| (credit > 0).then(|| credit.saturating_sub(gas));
        self.credit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Takes in what became of the tries in a block that used so much gas: those that were of use
    /// give back what they took.
    pub fn settle(&self, tally: &Tally, gas: u64) {
        let rest = gas.saturating_sub(tally.taken_gas);
        let gain = tally.taken_limit + tally.taken_gas / GAIN + rest / REGAIN;
        let gain = i64::try_from(gain).unwrap_or(i64::MAX);
        let give = |credit: i64| Some(credit.saturating_add(gain).min(CREDIT));
        let _ = self.credit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }
}

/// Executes transactions of blocks on whatever the state is now, as far as the account goes; for
/// each transaction of each block what it led to, where that was tried.
pub fn speculate(
    (which, account): (Speculate, &Account),
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
        let results = block.transactions.iter().map(|tx| {
            let is_tried = which.wants(tx) && account.take(tx.gas_limit);
            if is_tried { machine.execute(tx) } else { None }
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
        let (gas, limit) = (14_000_000, 15_000_000);
        let mut wasted = 0;
        for _ in 0..10_000 {
            let refused = u64::from(account.take(limit));
            wasted += refused * gas;
            account.settle(&Tally { refused, ..Tally::default() }, gas);
        }
        let all = 10_000 * gas;
        assert!(wasted <= CREDIT as u64 + limit + all / REGAIN, "{wasted}");
        assert!(wasted >= all / REGAIN / 2, "{wasted}: it is tried again");
        // what is of use is tried without end, and pays for what was not
        for _ in 0..100 {
            account.take(limit);
            let (taken_gas, taken_limit) = (gas, limit);
            account.settle(&Tally { taken: 1, taken_gas, taken_limit, ..Tally::default() }, gas);
        }
        assert_eq!(account.credit.load(Ordering::Relaxed), CREDIT);
    }
}
