//! Hashes headers and transactions in SHA-256 lanes.

use super::{Block, BlockHash, Transaction};
use crate::Hash;
use crate::header::HEADER_BYTES;
use blockmill_hashes::ManySha256;

/// Number of length classes of messages, in steps of 64 bytes.
const LENGTHS: usize = 256;

/// Maximum size of a group of blocks that is hashed in one call: large blocks fill the lanes alone,
/// and bytes are read twice, so a group should fit in the cache.
const GROUP_BYTES: usize = 1 << 18;

/// Hashes the headers and the transactions of all parsed `blocks`, without and with witnesses.
/// Short blocks share the lanes.
///
/// # Panics
/// Panics if the bytes of a block have changed since it was parsed.
pub fn hash_blocks(mut blocks: &mut [Block], hasher: &ManySha256) {
    while !blocks.is_empty() {
        let mut bytes = 0;
        let full = blocks.iter().position(|block| {
            bytes += block.raw.len();
            bytes >= GROUP_BYTES
        });
        let count = full.map_or(blocks.len(), |last| last + 1);
        let (group, rest) = blocks.split_at_mut(count);
        hash_group(group, hasher);
        blocks = rest;
    }
}

fn hash_group(blocks: &mut [Block], hasher: &ManySha256) {
    let headers = blocks.iter().map(|block| &block.raw[..HEADER_BYTES]);
    let digests = hash_each(&headers.collect::<Vec<_>>(), hasher);
    blocks.iter_mut().zip(digests).for_each(|(block, digest)| block.hash = BlockHash(digest));
    hash_with_witnesses(blocks, hasher);
    hash_without_witnesses(blocks, hasher);
    for Block { transactions, txids, wtxids, .. } in blocks {
        // the coinbase, and transactions without witnesses, have no separate witness id
        for (i, each) in transactions.iter().enumerate().skip(1) {
            if !each.has_witness {
                wtxids[i] = txids[i];
            }
        }
    }
}

/// Hashes the transactions with witnesses, except coinbases.
fn hash_with_witnesses(blocks: &mut [Block], hasher: &ManySha256) {
    let messages: Vec<_> = blocks
        .iter()
        .flat_map(|Block { raw, transactions, .. }| {
            let others = transactions.iter().skip(1).filter(|each| each.has_witness);
            others.map(|each| each.span.slice(raw))
        })
        .collect();
    let digests = hash_each(&messages, hasher);
    let slots = blocks.iter_mut().flat_map(|Block { transactions, wtxids, .. }| {
        wtxids.clear();
        wtxids.resize(transactions.len(), Hash::default());
        let others = wtxids.iter_mut().zip(transactions).skip(1);
        others.filter(|(_, each)| each.has_witness).map(|(slot, _)| slot)
    });
    slots.zip(digests).for_each(|(slot, digest)| *slot = digest);
}

/// Hashes all transactions without marker, flag and witnesses, in place.
///
/// The hashed bytes are in three pieces. While a transaction is hashed, its version is moved next
/// to the inputs, over marker and flag, and its lock time next to the outputs, over the first bytes
/// of the witnesses. So one piece is hashed without a copy.
fn hash_without_witnesses(blocks: &mut [Block], hasher: &ManySha256) {
    let mut covered = Vec::new();
    for Block { raw, transactions, .. } in &mut *blocks {
        let others = transactions.iter().filter(|each| each.has_witness);
        covered.extend(others.map(|each| close_up(raw, each)));
    }
    let messages: Vec<_> = blocks
        .iter()
        .flat_map(|Block { raw, transactions, .. }| {
            transactions.iter().map(|each| {
                let (start, end) = (each.inputs_span.start, each.outputs_span.end);
                &raw[start as usize - 4..end as usize + 4]
            })
        })
        .collect();
    let mut digests = hash_each(&messages, hasher);
    let mut covered = covered.into_iter();
    for Block { raw, transactions, txids, .. } in blocks {
        txids.clear();
        txids.extend(digests.by_ref().take(transactions.len()));
        let others = transactions.iter().filter(|each| each.has_witness);
        others.zip(covered.by_ref()).for_each(|(each, covered)| open(raw, each, covered));
    }
}

/// Moves the three pieces together. Returns the four overwritten bytes after the outputs.
fn close_up(raw: &mut [u8], transaction: &Transaction) -> [u8; 4] {
    let start = transaction.inputs_span.start as usize;
    let end = transaction.outputs_span.end as usize;
    let mut covered = [0; 4];
    covered.copy_from_slice(&raw[end..end + 4]);
    raw[start - 4..start].copy_from_slice(&transaction.version.to_le_bytes());
    raw[end..end + 4].copy_from_slice(&transaction.lock_time.to_le_bytes());
    covered
}

/// Restores the bytes that [`close_up`] overwrote.
fn open(raw: &mut [u8], transaction: &Transaction, covered: [u8; 4]) {
    let start = transaction.inputs_span.start as usize;
    let end = transaction.outputs_span.end as usize;
    let [_, _, a, b] = transaction.version.to_le_bytes();
    // the version's last half, marker, flag
    raw[start - 4..start].copy_from_slice(&[a, b, 0, 1]);
    raw[end..end + 4].copy_from_slice(&covered);
}

/// The SHA-256d of each message, in order.
fn hash_each(messages: &[&[u8]], hasher: &ManySha256) -> impl Iterator<Item = Hash> + use<> {
    let mut digests = vec![Hash::default(); messages.len()];
    let mut indexes = Vec::new();
    if messages.len() <= hasher.lanes() {
        hasher.sha256d(messages, &mut digests);
        indexes.extend(0..messages.len());
    } else {
        indexes = long_first(messages);
        let mut ordered = vec![&[][..]; messages.len()];
        indexes.iter().zip(messages).for_each(|(index, message)| ordered[*index] = message);
        hasher.sha256d(&ordered, &mut digests);
    }
    indexes.into_iter().map(move |index| digests[index])
}

/// The order of messages by decreasing length: then lanes end at the same time, and no long message
/// is left for a single lane.
fn long_first(messages: &[&[u8]]) -> Vec<usize> {
    // the padding of a message takes at least 9 bytes
    let step = |message: &[u8]| (LENGTHS - 1).saturating_sub((message.len() + 8) / 64);
    let mut next = [0; LENGTHS + 1];
    messages.iter().for_each(|message| next[step(message) + 1] += 1);
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let index = |message: &&[u8]| {
        let next = &mut next[step(message)];
        *next += 1;
        *next - 1
    };
    messages.iter().map(index).collect()
}
