//! Which transactions are executed before their turn, and how much of that may be in vain.

use super::evm::{Ahead, DryRuns, MachineOptions, Progress, Speculator, Tally};
use super::history::{Foreseen, Slot};
use super::{PreparedBlock, PreparedTransaction};
use crate::params::ChainSpec;
use crate::state::{SharedState, State};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::ethereum::TransactionType;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Gas from which on a transaction is worth it.
const HEAVY: u64 = 1_000_000;
/// Gas that may be in vain at a time, for each thread. The first blocks are tried on a state that
/// knows nothing of them, and as many blocks as the stages have between them may be refused
/// together: that alone must not end it.
const CREDIT: i64 = 128_000_000;
/// What was taken over earns this part of its gas.
const GAIN: u64 = 4;
/// And what was executed at its turn this part: once in a while it is tried again.
const REGAIN: u64 = 128;
/// Gas that is executed in the time that it takes to read a slot of a state on disk by itself.
const GAS_OF_READ: i64 = 20_000;
/// Slots that dry runs of a chunk find at most: about those of three blocks of nothing but reads,
/// and some twenty megabytes.
const MOST_SLOTS: usize = 1 << 16;

/// Transactions that are executed side by side: as many as the widest permutation has lanes.
pub const LANES: usize = 8;
/// Permutations from which on a transaction hashes much: a millisecond of them.
const MUCH: u64 = 4_000;

blockmill_pipeline::named_option! {
    /// Which transactions are executed before their turn, with at least two threads.
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

/// Bounds the gas that is executed in vain: by what was of use, and by a share of the rest. What is
/// refused when the credit is at its end was on its way already; a debt of more than the credit is
/// forgiven, as it would take the rest of many chains to be paid.
#[derive(Debug)]
pub struct Account {
    credit: AtomicI64,
    most: i64,
}

impl Account {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        let most = CREDIT.saturating_mul(i64::try_from(threads.max(1)).unwrap_or(i64::MAX));
        Self { credit: AtomicI64::new(most), most }
    }

    /// Whether a transaction may be tried. What is on its way is not counted, of which there are as
    /// many blocks as the stages have between them.
    fn allows(&self) -> bool {
        self.credit.load(Ordering::Relaxed) > 0
    }

    /// Takes in that a try was of no use, which might have used so much gas.
    fn lose(&self, gas: u64) {
        self.add(-i64::try_from(gas).unwrap_or(i64::MAX));
    }

    /// Takes in what became of the tries in a block that used so much gas.
    pub fn settle(&self, tally: &Tally, gas: u64) {
        self.lose(tally.refused_gas);
        let gain = tally.taken_gas / GAIN + gas.saturating_sub(tally.taken_gas) / REGAIN;
        self.add(i64::try_from(gain).unwrap_or(i64::MAX));
    }

    fn add(&self, gas: i64) {
        let sum = |credit: i64| Some(credit.saturating_add(gas).clamp(-self.most, self.most));
        let _ = self.credit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }
}

/// What transactions led to before their turn.
#[derive(Debug, Default)]
pub struct Tried {
    /// For each block, and each transaction of it where one was wanted.
    pub ahead: Vec<Vec<Option<Box<Ahead>>>>,
    /// Transactions that hash much.
    pub hashing: usize,
    /// Gas of those that led to nothing of use, until the account knows.
    lost: u64,
}

/// A machine of a group, and the transaction it is at: of which block, and which of it.
struct Lane<'s> {
    speculator: Speculator<'s>,
    block: Option<usize>,
    waits: Option<(usize, usize)>,
}

/// Executes transactions of blocks on whatever the state is now, as far as the account goes; of a
/// state on disk, slots that were read ahead are not read again. Several are under way side by
/// side: where they hash, they wait for each other.
pub fn speculate(
    (which, account): (Speculate, &Account),
    spec: &ChainSpec,
    (state, foreseen): (&RwLock<State>, &Foreseen),
    (options, hasher): (MachineOptions, ManyKeccak),
    blocks: &[PreparedBlock],
) -> Tried {
    let wanted = |(_, tx): &(usize, &PreparedTransaction)| which.wants(tx);
    let count =
        |block: &PreparedBlock| block.transactions.iter().enumerate().filter(wanted).count();
    let counts: Vec<usize> = blocks.iter().map(count).collect();
    let places = |(count, block): (&usize, &PreparedBlock)| match count {
        0 => vec![],
        _ => block.transactions.iter().map(|_| None).collect(),
    };
    let ahead = counts.iter().zip(blocks).map(places).collect();
    let mut tried = Tried { ahead, ..Tried::default() };
    let machines = counts.iter().sum::<usize>().min(LANES);
    if machines == 0 {
        return tried;
    }
    let mut jobs = blocks.iter().enumerate().flat_map(|(i, block)| {
        block.transactions.iter().enumerate().filter(wanted).map(move |(j, tx)| (i, j, tx))
    });
    let foreseen = foreseen.by_slot();
    let speculator = || Speculator::new((state, &foreseen), spec.chain_id, options);
    let lane = || Lane { speculator: speculator(), block: None, waits: None };
    let mut lanes: Vec<Lane<'_>> = (0..machines).map(|_| lane()).collect();
    // what they read is of use in any case
    let always = options.keeps_reads && is_on_disk(state);
    loop {
        for lane in lanes.iter_mut().filter(|lane| lane.waits.is_none()) {
            lane.speculator.hashes_together(machines > 1);
            for (i, j, tx) in jobs.by_ref() {
                if (always || account.allows()) && lane.begin(i, blocks) {
                    let progress = lane.speculator.start(tx);
                    lane.note(progress, (i, j), &mut tried);
                    account.lose(std::mem::take(&mut tried.lost));
                }
                if lane.waits.is_some() {
                    break;
                }
            }
        }
        if !hash_together(hasher, &mut lanes, &mut tried) {
            return tried;
        }
        account.lose(std::mem::take(&mut tried.lost));
    }
}

/// The slots that heavy transactions come to in dry runs, as far as the account goes: what they use
/// of gas is in vain unless they come to many slots. Several may come to one slot.
pub fn dry_runs(
    account: &Account,
    spec: &ChainSpec,
    disk: &SharedState,
    options: MachineOptions,
    blocks: &[PreparedBlock],
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
            if !account.allows() {
                account.add((tx.gas_limit / REGAIN) as i64);
                continue;
            }
            let (slots, gas) = runs.slots(tx);
            account.lose(gas);
            account.add((slots.len() as i64).saturating_mul(GAS_OF_READ));
            found.extend(slots);
        }
    }
    found
}

/// Whether reads are dear.
fn is_on_disk(state: &RwLock<State>) -> bool {
    // a panic ends the run elsewhere
    state.read().unwrap_or_else(PoisonError::into_inner).is_on_disk()
}

/// Gives all machines that wait their digests; false where none waits.
fn hash_together(hasher: ManyKeccak, lanes: &mut [Lane<'_>], tried: &mut Tried) -> bool {
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
        // the last one does not wait for itself
        lane.speculator.hashes_together(count > 1);
        if let Some(place) = lane.waits.take() {
            let progress = lane.speculator.resume(digest);
            lane.note(progress, place, tried);
        }
    }
    count > 0
}

impl Lane<'_> {
    /// Begins a block, if it is not that of the last transaction. False where that is not possible.
    fn begin(&mut self, block: usize, blocks: &[PreparedBlock]) -> bool {
        if self.block != Some(block) {
            self.block = self.speculator.begin(&blocks[block].terms).map(|()| block);
        }
        self.block.is_some()
    }

    /// Takes in how far a transaction came.
    fn note(&mut self, progress: Progress, (block, tx): (usize, usize), tried: &mut Tried) {
        match progress {
            Progress::Hashes => self.waits = Some((block, tx)),
            Progress::Ends(result) => {
                tried.hashing += usize::from(self.speculator.permutations() >= MUCH);
                tried.lost += if result.is_none() { self.speculator.gas_limit() } else { 0 };
                tried.ahead[block][tx] = result;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_vain_is_bounded_by_what_is_of_use_and_a_share_of_the_rest() {
        let account = Account::new(1);
        let gas = 14_000_000;
        let mut wasted = 0;
        for _ in 0..10_000 {
            let refused = u64::from(account.allows());
            let refused_gas = refused * gas;
            wasted += refused_gas;
            account.settle(&Tally { refused, refused_gas, ..Tally::default() }, gas);
        }
        let all = 10_000 * gas;
        assert!(wasted <= CREDIT as u64 + gas + all / REGAIN, "{wasted}");
        assert!(wasted >= all / REGAIN / 2, "{wasted}: it is tried again");
        // what is of use pays for what was not
        for _ in 0..100 {
            account.settle(&Tally { taken: 1, taken_gas: gas, ..Tally::default() }, gas);
        }
        assert_eq!(account.credit.load(Ordering::Relaxed), CREDIT);
        // and what cannot be of use is lost whatever becomes of its block
        account.lose(CREDIT as u64);
        assert!(!account.allows());
        // however much was on its way, it is tried again when as much was executed as pays the most
        account.lose(100 * CREDIT as u64);
        account.settle(&Tally::default(), REGAIN * (CREDIT as u64 + 1));
        assert!(account.allows());
        assert!(Account::new(16).credit.load(Ordering::Relaxed) == 16 * CREDIT);
    }
}
