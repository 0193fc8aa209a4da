//! What blocks name of a state on disk is read together before they are executed: a disk does a
//! hundred reads in the time of a few.

use crate::execute::PreparedBlock;
use crate::state::SharedState;
use crate::{Address, Hash};
use crypto::ManyKeccak;
use hashbrown::HashMap;
use store::StateKey;

/// Reads the accounts and slots that blocks name: senders, receivers, what access lists have
/// (EIP-2930), who earns something. What cannot be read is asked for again, and told then.
pub(super) fn prefetch(disk: &SharedState, hasher: ManyKeccak, blocks: &[PreparedBlock]) {
    let mut slots: Vec<(Address, Hash)> = vec![];
    let mut addresses: Vec<Address> = vec![];
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
