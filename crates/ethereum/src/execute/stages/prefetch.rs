//! Prefetch: accounts and slots of a state on disk are read together before blocks are executed. A
//! disk does a hundred concurrent reads in the time of a few.

use super::{AccessLists, Speculated};
use crate::error::Error;
use crate::execute::evm::{MachineOptions, PrefetchStats};
use crate::execute::history::{History, PrefetchedSlots, Slot};
use crate::execute::speculation::{GasBudget, dry_runs};
use crate::execute::{PreparedBlock, PreparedTransaction};
use crate::import::batch::Batch;
use crate::params::ChainSpec;
use crate::state::{SharedState, State};
use crate::{Address, Hash};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::Stages;
use blockmill_rlp::ethereum::AccountChanges;
use blockmill_rlp::{Decode, List};
use blockmill_state_store::StateKey;
use hashbrown::HashMap;

blockmill_pipeline::named_option! {
    /// Which accounts and slots of a state on disk are read before the execution asks for them.
    ///
    /// `history` includes `access`, and `dry-runs` includes `history`. The run record counts
    /// prefetched slots that were read (`prefetched_used`) and that were not (`prefetched_unused`).
    pub enum Prefetch: "prefetch", level Execution {
        /// None: accounts and slots are read when they are asked for.
        Off = "off",
        /// Those that blocks name (senders, receivers, access lists), together. Slots that a
        /// speculative execution read (`speculate`) are kept whether or not it can be committed, so
        /// that the transaction does not read them again.
        Runs = "runs",
        /// Those that blocks name.
        Access = "access",
        /// Also slots that earlier calls of the same contract and function read: slots that stay
        /// the same, and those of mappings with the sender or an argument as their key.
        History = "history",
        /// Also slots that transactions of 1,000,000 gas or more reach when they are executed
        /// without any value of a slot, as far as that finds many.
        DryRuns = "dry-runs",
    }
}

/// How accounts and slots are found that are read before blocks are executed.
pub(super) struct Prefetching<'a> {
    /// Predicts slots from earlier calls.
    pub history: Option<&'a History>,
    /// Executes heavy transactions without values of slots.
    pub dry: Option<(&'a GasBudget, &'a ChainSpec, MachineOptions)>,
    /// For blocks with access lists, the lists alone are read, unless this is `Off`.
    pub lists: AccessLists,
    pub hasher: ManyKeccak,
}

/// Adds the stage that prefetches, if the state is on disk.
pub(super) fn prefetching<'a>(
    stages: Stages<'a, Batch, Error>,
    disk: Option<SharedState>,
    by: Prefetching<'a>,
) -> Stages<'a, Batch, Error> {
    let Some(disk) = disk else { return stages };
    stages.parallel("prefetch", move |batch| {
        let hasher = by.hasher;
        let listed = listed(&by, batch);
        let unlisted: Vec<&PreparedBlock> = batch
            .new_blocks()
            .filter(|i| by.lists == AccessLists::Off || batch.access_list(*i).is_none())
            .map(|i| &batch.content.prepared[i])
            .collect();
        let calls = unlisted.iter().flat_map(|block| &block.transactions);
        let calls = calls.filter_map(PreparedTransaction::call);
        let history = by.history;
        let mut slots = history.map(|history| history.predict(hasher, calls)).unwrap_or_default();
        if let Some((budget, spec, machine)) = by.dry {
            slots.extend(dry_runs(budget, spec, &disk, machine, &unlisted));
        }
        let accounts = addresses_of(&slots).into_iter().chain(listed.accounts);
        prefetch(&disk, hasher, &unlisted, accounts.collect());
        let (prefetched, listed) = match by.lists {
            AccessLists::Parallel => (slots, listed.slots),
            _ => ([slots, listed.slots].concat(), vec![]),
        };
        batch.speculated.prefetched = read(&disk, hasher, &prefetched);
        batch.speculated.listed = read(&disk, hasher, &listed);
        let used = batch.speculated.listed.values.len() as u64;
        batch.speculated.prefetch_stats = PrefetchStats { used, unused: 0 };
    })
}

/// What the access lists of blocks name.
#[derive(Default)]
struct Listed {
    accounts: Vec<Address>,
    /// Slots, each once for a block, neighbours of the same account.
    slots: Vec<Slot>,
}

/// Collects what the access lists of the new blocks name. Their encoding and their size, which the
/// gas limit bounds, were checked with the bodies.
fn listed(by: &Prefetching<'_>, batch: &Batch) -> Listed {
    let mut found = Listed::default();
    if by.lists == AccessLists::Off {
        return found;
    }
    let lists = batch.new_blocks().filter_map(|i| batch.access_list(i));
    for list in lists.filter_map(|list| List::<AccountChanges<'_>>::decode(list).ok()) {
        for account in list.iter() {
            found.accounts.push(*account.address);
            let written = account.storage_changes.iter().map(|written| written.slot);
            let slots = account.storage_reads.iter().chain(written);
            found.slots.extend(slots.map(|slot| (*account.address, slot)));
        }
    }
    found.slots.sort_unstable();
    found.slots.dedup();
    found
}

/// Reads slots. Execution reads those again that could not be read, and reports the error.
fn read(disk: &SharedState, hasher: ManyKeccak, slots: &[Slot]) -> PrefetchedSlots {
    let generation = disk.generation();
    let words: Vec<Hash> = slots.iter().map(|(_, slot)| slot.to_be_bytes()).collect();
    let addresses = addresses_of(slots);
    let messages = addresses.iter().map(|address| &address[..]);
    let messages: Vec<&[u8]> = messages.chain(words.iter().map(|word| &word[..])).collect();
    let mut hashes = vec![[0; 32]; messages.len()];
    hasher.keccak256(&messages, &mut hashes);
    let (accounts, words) = hashes.split_at(addresses.len());
    // neighbours share references: read by account, and by the first bytes of the slot's hash
    let mut order: Vec<(usize, u64, usize)> = Vec::with_capacity(slots.len());
    let mut account = 0;
    for (at, ((address, _), word)) in slots.iter().zip(words).enumerate() {
        if addresses.get(account) != Some(address) {
            account = addresses.binary_search(address).unwrap_or_default();
        }
        let start = word.first_chunk().copied().unwrap_or_default();
        order.push((account, u64::from_be_bytes(start), at));
    }
    order.sort_unstable();
    let keys = order.iter().map(|(account, _, at)| StateKey::slot(accounts[*account], words[*at]));
    let keys: Vec<StateKey> = keys.collect();
    let values = disk.slots(&keys).unwrap_or_default();
    let slots = order.iter().map(|(.., at)| slots[*at]);
    PrefetchedSlots { values: slots.zip(values).collect(), generation }
}

/// Returns the addresses of slots, each once: a contract can have thousands of them.
fn addresses_of(slots: &[Slot]) -> Vec<Address> {
    let mut addresses: Vec<Address> = slots.iter().map(|(address, _)| *address).collect();
    addresses.dedup();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Caches the prefetched slots of a chunk in the state. Returns those that may not be read.
pub(super) fn cache_prefetched(state: &mut State, speculated: &mut Speculated) -> Vec<Slot> {
    cache(state, std::mem::take(&mut speculated.listed));
    cache(state, std::mem::take(&mut speculated.prefetched))
}

/// Caches prefetched slots in the state, and returns the slots. A value that changed since they
/// were read is in memory during the same generation, and takes precedence.
fn cache(state: &mut State, prefetched: PrefetchedSlots) -> Vec<Slot> {
    let PrefetchedSlots { values, generation } = prefetched;
    if state.generation() == generation {
        let values = values.iter().map(|((address, slot), value)| (address, *slot, *value));
        // execution reports an account that cannot be read
        let _ = state.cache_slots(values, generation);
    }
    values.into_iter().map(|(slot, _)| slot).collect()
}

/// Reads the accounts and slots that blocks name (senders, receivers, access lists of EIP-2930,
/// beneficiaries), and further accounts. Execution reports what cannot be read.
fn prefetch(
    disk: &SharedState,
    hasher: ManyKeccak,
    blocks: &[&PreparedBlock],
    mut addresses: Vec<Address>,
) {
    let mut slots: Vec<(Address, Hash)> = vec![];
    for block in blocks {
        addresses.push(block.terms.beneficiary);
        addresses.extend(block.withdrawals.iter().map(|(receiver, _)| *receiver));
        for tx in &block.transactions {
            tx.names(|address, slot| match slot {
                None => addresses.push(*address),
                Some(slot) => slots.push((*address, *slot)),
            });
        }
    }
    // most are named many times
    let mut named: HashMap<&[u8], usize> = HashMap::default();
    let mut messages: Vec<&[u8]> = vec![];
    let all = addresses.iter().map(|address| &address[..]);
    for message in all.chain(slots.iter().map(|(_, slot)| &slot[..])) {
        named.entry(message).or_insert_with(|| {
            messages.push(message);
            messages.len() - 1
        });
    }
    let mut hashes = vec![[0; 32]; messages.len()];
    hasher.keccak256(&messages, &mut hashes);
    let hash = |message: &[u8]| named.get(message).map_or([0; 32], |at| hashes[*at]);
    let accounts = addresses.iter().map(|address| StateKey::account(hash(address)));
    let slots = slots.iter().map(|(address, slot)| StateKey::slot(hash(address), hash(slot)));
    let mut keys: Vec<StateKey> = accounts.chain(slots).collect();
    keys.sort_unstable();
    keys.dedup();
    let _ = disk.touch(&keys);
}
