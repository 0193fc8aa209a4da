//! What blocks name of a state on disk is read together before they are executed: a disk does a
//! hundred reads in the time of a few.

use crate::batch::Batch;
use crate::execute::evm::Foresight;
use crate::execute::history::{History, Slot};
use crate::execute::{PreparedBlock, PreparedTransaction};
use crate::fault::Error;
use crate::state::SharedState;
use crate::{Address, Hash};
use crypto::ManyKeccak;
use hashbrown::{HashMap, HashSet};
use pipeline::Stages;
use store::StateKey;

/// Adds the stage that does, where the state is on disk.
pub(super) fn prefetching<'a>(
    stages: Stages<'a, Batch, Error>,
    disk: Option<SharedState>,
    history: Option<&'a History>,
    hasher: ManyKeccak,
) -> Stages<'a, Batch, Error> {
    let Some(disk) = disk else { return stages };
    stages.parallel("prefetch", move |batch| {
        let blocks = &batch.prepared[batch.verified().range()];
        let calls = blocks.iter().flat_map(|block| &block.transactions);
        let calls = calls.filter_map(PreparedTransaction::call);
        let foreseen = history.map(|history| history.foresee(hasher, calls)).unwrap_or_default();
        prefetch(&disk, hasher, blocks, &foreseen);
        (batch.foreseen, batch.foresight) = (foreseen, Foresight::default());
    })
}

/// Reads the accounts and slots that blocks name: senders, receivers, what access lists have
/// (EIP-2930), who earns something; and the slots that a history of calls expects, with their
/// accounts. What cannot be read is asked for again, and told then.
fn prefetch(
    disk: &SharedState,
    hasher: ManyKeccak,
    blocks: &[PreparedBlock],
    foreseen: &HashSet<Slot>,
) {
    let mut slots: Vec<(Address, Hash)> = vec![];
    let mut addresses: Vec<Address> = vec![];
    for (address, slot) in foreseen {
        addresses.push(*address);
        slots.push((*address, slot.to_be_bytes()));
    }
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
    // most are named again and again
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
