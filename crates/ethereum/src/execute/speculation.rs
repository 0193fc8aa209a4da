//! Which transactions are executed speculatively, and the budget for speculations that abort.

use super::evm::{DryRuns, MachineOptions, Progress, Speculation, Speculator, Tally};
use super::history::{PrefetchedSlots, Slot};
use super::{PreparedBlock, PreparedTransaction};
use crate::params::ChainSpec;
use crate::state::{SharedState, State};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::usage::thread_cpu_time;
use blockmill_rlp::ethereum::TransactionType;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Gas limit from which on a transaction is heavy enough for speculation.
const HEAVY: u64 = 1_000_000;
/// Credit for aborted gas, for each thread. The first blocks are tried on a state that
/// has none of their contracts' storage, and all in-flight speculations may abort together: that
/// alone must not end speculation.
const CREDIT: i64 = 128_000_000;
/// A committed speculation earns this fraction of its gas.
const GAIN: u64 = 4;
/// In-order execution earns this fraction of its gas, so that speculation is tried again later.
const REGAIN: u64 = 128;
/// Gas that is executed in the time of a single read of a slot from disk.
const GAS_OF_READ: i64 = 20_000;
/// Limit of the slots that dry runs of a chunk return: about three blocks of nothing but reads, and
/// some twenty megabytes.
const MOST_SLOTS: usize = 1 << 16;

/// Transactions that are executed concurrently on a thread: the lanes of the widest permutation.
pub const LANES: usize = 8;
/// Keccak permutations from which on a transaction counts as hashing: a millisecond of them.
const MUCH: u64 = 4_000;

blockmill_pipeline::named_option! {
    /// Which transactions are executed speculatively, with at least two threads.
    ///
    /// The result is committed at the transaction's turn if everything that it read is unchanged.
    pub enum Speculate: "speculate", level Execution {
        /// None.
        Off = "off",
        /// All.
        All = "all",
        /// Those that may use 1,000,000 gas or more.
        Heavy = "heavy",
    }
}

impl Speculate {
    fn wants(self, tx: &PreparedTransaction) -> bool {
        // speculation does not validate blob fees and delegations
        let is_plain = tx.kind <= TransactionType::DynamicFee;
        let least = match self {
            Self::Off => return false,
            Self::Heavy => HEAVY,
            Self::All => 0,
        };
        is_plain && tx.gas_limit >= least
    }
}

/// Bounds the gas of aborted speculations by the gas of committed ones and a share of all gas.
///
/// In-flight speculations can abort after the credit is used up. The debt is limited to the size of
/// the credit; a larger one would never be paid back.
#[derive(Debug)]
pub struct GasBudget {
    credit: AtomicI64,
    most: i64,
}

impl GasBudget {
    /// A full budget for this number of threads.
    pub fn new(threads: usize) -> Self {
        let most = CREDIT.saturating_mul(i64::try_from(threads.max(1)).unwrap_or(i64::MAX));
        Self { credit: AtomicI64::new(most), most }
    }

    /// Returns whether another transaction may be executed speculatively. In-flight speculations
    /// are not counted; the number of blocks in the pipeline bounds them.
    fn allows(&self) -> bool {
        self.credit.load(Ordering::Relaxed) > 0
    }

    /// Charges the gas of a speculation that cannot be committed.
    fn charge(&self, gas: u64) {
        self.add(-i64::try_from(gas).unwrap_or(i64::MAX));
    }

    /// Accounts for the speculations of a block that used this much gas.
    pub fn record(&self, tally: &Tally, gas: u64) {
        self.charge(tally.aborted_gas);
        let gain = tally.committed_gas / GAIN + gas.saturating_sub(tally.committed_gas) / REGAIN;
        self.add(i64::try_from(gain).unwrap_or(i64::MAX));
    }

    fn add(&self, gas: i64) {
        let sum = |credit: i64| Some(credit.saturating_add(gas).clamp(-self.most, self.most));
        let _ = self.credit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }
}

/// The speculations of consecutive blocks.
#[derive(Debug, Default)]
pub struct Speculations {
    /// For each block an entry for each transaction; empty for a block without speculations.
    pub blocks: Vec<Vec<Option<Box<Speculation>>>>,
    /// Number of transactions that hash a lot.
    pub hashing: usize,
    /// For each block its part of the CPU time, by gas: lanes execute many blocks together.
    pub busy: Vec<Duration>,
    /// Gas of the speculations of each block.
    gas: Vec<u64>,
    /// Gas of speculations that cannot be committed and was not charged yet.
    lost: u64,
}

impl Speculations {
    /// Divides the CPU time among the blocks.
    fn divide(&mut self, time: Duration) {
        let all = self.gas.iter().sum::<u64>().max(1) as f64;
        self.busy = self.gas.iter().map(|gas| time.mul_f64(*gas as f64 / all)).collect();
    }
}

/// One of the machines of a group. `waits` names the block and the transaction that wait for a
/// digest.
struct Lane<'s> {
    speculator: Speculator<'s>,
    block: Option<usize>,
    waits: Option<(usize, usize)>,
}

/// Executes transactions of blocks within the budget, those of block `i` on `state_of(i)`; without
/// it, none of that block. Prefetched slots of a state on disk are not read again. Up to [`LANES`]
/// transactions run concurrently and hash together.
pub fn speculate<'s>(
    (which, budget): (Speculate, &GasBudget),
    spec: &ChainSpec,
    (state_of, prefetched): (impl Fn(usize) -> Option<&'s RwLock<State>>, &PrefetchedSlots),
    (options, hasher): (MachineOptions, ManyKeccak),
    blocks: &[PreparedBlock],
) -> Speculations {
    let wanted = |(_, tx): &(usize, &PreparedTransaction)| which.wants(tx);
    let count = |(i, block): (usize, &PreparedBlock)| match state_of(i) {
        Some(_) => block.transactions.iter().enumerate().filter(wanted).count(),
        None => 0,
    };
    let counts: Vec<usize> = blocks.iter().enumerate().map(count).collect();
    let places = |(count, block): (&usize, &PreparedBlock)| match count {
        0 => vec![],
        _ => block.transactions.iter().map(|_| None).collect(),
    };
    let places = counts.iter().zip(blocks).map(places).collect();
    let gas = vec![0; blocks.len()];
    let mut results = Speculations { blocks: places, gas, ..Speculations::default() };
    let clock = thread_cpu_time();
    let machines = counts.iter().sum::<usize>().min(LANES);
    let Some(first) = (0..blocks.len()).find_map(&state_of).filter(|_| machines > 0) else {
        return results;
    };
    let known = blocks.iter().enumerate().filter_map(|(i, block)| Some((i, block, state_of(i)?)));
    let mut jobs = known.flat_map(|(i, block, state)| {
        let all = block.transactions.iter().enumerate().filter(wanted);
        all.map(move |(j, tx)| (i, j, tx, state))
    });
    let prefetched = prefetched.index();
    let speculator = || Speculator::new((first, &prefetched), spec.chain_id, options);
    let lane = || Lane { speculator: speculator(), block: None, waits: None };
    let mut lanes: Vec<Lane<'_>> = (0..machines).map(|_| lane()).collect();
    // the slots that they read are useful even if they abort
    let always = options.keeps_reads && is_on_disk(first);
    loop {
        for lane in lanes.iter_mut().filter(|lane| lane.waits.is_none()) {
            lane.speculator.hashes_together(machines > 1);
            for (i, j, tx, state) in jobs.by_ref() {
                if (always || budget.allows()) && lane.begin(i, &blocks[i], state) {
                    let progress = lane.speculator.start(tx);
                    lane.advance(progress, (i, j), &mut results);
                    budget.charge(std::mem::take(&mut results.lost));
                }
                if lane.waits.is_some() {
                    break;
                }
            }
        }
        if !hash_together(hasher, &mut lanes, &mut results) {
            results.divide(thread_cpu_time().saturating_sub(clock));
            return results;
        }
        budget.charge(std::mem::take(&mut results.lost));
    }
}

/// Returns the slots that heavy transactions access in dry runs, within the budget: gas is charged,
/// and slots are credited. A slot can be returned several times.
pub fn dry_runs(
    budget: &GasBudget,
    spec: &ChainSpec,
    disk: &SharedState,
    options: MachineOptions,
    blocks: &[&PreparedBlock],
) -> Vec<Slot> {
    let mut found = vec![];
    let is_heavy = |tx: &&PreparedTransaction| tx.gas_limit >= HEAVY;
    if !blocks.iter().flat_map(|block| &block.transactions).any(|tx| is_heavy(&tx)) {
        return found;
    }
    let mut runs = DryRuns::new(disk.clone(), spec.chain_id, options);
    for block in blocks {
        let begun = runs.begin(&block.terms).is_some();
        for tx in block.transactions.iter().filter(is_heavy).filter(|_| begun) {
            if found.len() >= MOST_SLOTS {
                return found;
            }
            if !budget.allows() {
                budget.add((tx.gas_limit / REGAIN) as i64);
                continue;
            }
            let (slots, gas) = runs.slots(tx);
            budget.charge(gas);
            budget.add((slots.len() as i64).saturating_mul(GAS_OF_READ));
            found.extend(slots);
        }
    }
    found
}

/// Returns whether reads may go to disk.
fn is_on_disk(state: &RwLock<State>) -> bool {
    // a panic ends the run elsewhere
    state.read().unwrap_or_else(PoisonError::into_inner).is_on_disk()
}

/// Hashes the messages of all waiting machines and resumes them. Returns whether any waited.
fn hash_together(hasher: ManyKeccak, lanes: &mut [Lane<'_>], results: &mut Speculations) -> bool {
    let mut messages = [&[][..]; LANES];
    let mut digests = [[0; 32]; LANES];
    let mut count = 0;
    for lane in lanes.iter().filter(|lane| lane.waits.is_some()) {
        messages[count] = lane.speculator.message();
        count += 1;
    }
    hasher.keccak256(&messages[..count], &mut digests[..count]);
    let waiting = lanes.iter_mut().filter(|lane| lane.waits.is_some());
    for (lane, digest) in waiting.zip(&digests) {
        // a single machine does not stop at hashes
        lane.speculator.hashes_together(count > 1);
        if let Some(place) = lane.waits.take() {
            let progress = lane.speculator.resume(digest);
            lane.advance(progress, place, results);
        }
    }
    count > 0
}

impl<'s> Lane<'s> {
    /// Begins block `i` on a state, unless the last transaction was of the same one. Returns
    /// whether the machine knows its rules.
    fn begin(&mut self, i: usize, block: &PreparedBlock, state: &'s RwLock<State>) -> bool {
        if self.block != Some(i) {
            self.block = self.speculator.begin(&block.terms, state).map(|()| i);
        }
        self.block.is_some()
    }

    /// Records the progress of a transaction.
    fn advance(
        &mut self,
        progress: Progress,
        (block, tx): (usize, usize),
        results: &mut Speculations,
    ) {
        match progress {
            Progress::Hashes => self.waits = Some((block, tx)),
            Progress::Ends(result) => {
                results.hashing += usize::from(self.speculator.permutations() >= MUCH);
                let limit = self.speculator.gas_limit();
                results.lost += if result.is_none() { limit } else { 0 };
                results.gas[block] += result.as_ref().map_or(limit, |result| result.gas_used());
                results.blocks[block][tx] = result;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_divided_among_the_blocks_by_gas() {
        let mut some = Speculations { gas: vec![10, 0, 30], ..Speculations::default() };
        some.divide(Duration::from_millis(4));
        assert_eq!(some.busy, [1, 0, 3].map(Duration::from_millis));
        let mut none = Speculations { gas: vec![0, 0], ..Speculations::default() };
        none.divide(Duration::from_millis(4));
        assert_eq!(none.busy, [Duration::ZERO; 2]);
    }

    #[test]
    fn aborted_gas_is_bounded_by_committed_gas_and_a_share_of_the_rest() {
        let budget = GasBudget::new(1);
        let gas = 14_000_000;
        let mut wasted = 0;
        for _ in 0..10_000 {
            let aborted = u64::from(budget.allows());
            let aborted_gas = aborted * gas;
            wasted += aborted_gas;
            budget.record(&Tally { aborted, aborted_gas, ..Tally::default() }, gas);
        }
        let all = 10_000 * gas;
        assert!(wasted <= CREDIT as u64 + gas + all / REGAIN, "{wasted}");
        assert!(wasted >= all / REGAIN / 2, "{wasted}: it is tried again");
        // committed gas pays for aborted gas
        for _ in 0..100 {
            budget.record(&Tally { committed: 1, committed_gas: gas, ..Tally::default() }, gas);
        }
        assert_eq!(budget.credit.load(Ordering::Relaxed), CREDIT);
        // a speculation that cannot be committed is charged before its block executes
        budget.charge(CREDIT as u64);
        assert!(!budget.allows());
        // whatever was in flight, in-order execution pays back the limited debt
        budget.charge(100 * CREDIT as u64);
        budget.record(&Tally::default(), REGAIN * (CREDIT as u64 + 1));
        assert!(budget.allows());
        assert!(GasBudget::new(16).credit.load(Ordering::Relaxed) == 16 * CREDIT);
    }
}
