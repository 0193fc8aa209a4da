//! Contract storage as of every block, for nodes that keep all state tries
//! (`KeepOnlyLatestState: false` of neo-go).
//!
//! The table holds changes instead of tries: each change of a key, under the key and its height.
//! The value at a height is the last change up to it. The trie of any height is rebuilt from a scan
//! and checked against its root.

use crate::error::Error;
use crate::state::{Change, StateTrie, StorageKey};
use blockmill_hashes::ManySha256;
use blockmill_store::{Runs, Table};
use std::ops::Bound;

/// Name of the table in a store.
pub const HISTORY: &str = "history";

/// Bytes of a height at the end of a key.
const HEIGHT: usize = 4;
/// Number of changes that are applied to the trie at once.
const LEAVES: usize = 1 << 16;

/// Length and bytes of a storage key, and the height in big endian. The length separates keys that
/// are prefixes of each other.
fn key_at(key: &StorageKey, height: u32) -> Vec<u8> {
    let key = key.as_slice();
    [&[key.len() as u8][..], key, &height.to_be_bytes()].concat()
}

/// Puts the changes of a block.
pub(crate) fn put(
    table: &mut Table,
    height: u32,
    changes: &[Change],
) -> blockmill_store::Result<()> {
    let mut live = vec![];
    for (key, value) in changes {
        live.clear();
        // a deleted key has an empty entry, a live one begins with 1
        if let Some(value) = value {
            live.push(1);
            live.extend_from_slice(value);
        }
        table.put(&key_at(key, height), &live)?;
    }
    Ok(())
}

/// Removes the change of a key in a block.
pub(crate) fn remove(
    table: &mut Table,
    key: &StorageKey,
    height: u32,
) -> blockmill_store::Result<()> {
    table.delete(&key_at(key, height))
}

fn value_of(entry: &[u8]) -> Option<&[u8]> {
    entry.split_first().map(|(_, value)| value)
}

/// The value under a key after a block.
pub(crate) fn value_at(
    runs: &Runs,
    key: &StorageKey,
    height: u32,
) -> blockmill_store::Result<Option<Vec<u8>>> {
    let (first, last) = (key_at(key, 0), key_at(key, height));
    let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    let found = runs.last(range, 1)?;
    Ok(found.first().and_then(|(_, entry)| value_of(entry)).map(<[u8]>::to_vec))
}

/// The state trie after a block.
pub(crate) fn trie_at(runs: &Runs, height: u32, hasher: ManySha256) -> Result<StateTrie, Error> {
    let mut trie = StateTrie::new(hasher)?;
    let mut leaves: Vec<Change> = vec![];
    let mut scan = runs.scan((Bound::Unbounded, Bound::Unbounded))?;
    // the last change of a key up to the height
    let mut newest: Option<Change> = None;
    while let Some((key, entry)) = scan.next()? {
        let at = key.len().saturating_sub(HEIGHT);
        let (Some(own), Some(since)) = (key.get(1..at), key[at..].first_chunk()) else { continue };
        let Some(own) = StorageKey::from_slice(own) else { continue };
        if newest.as_ref().is_some_and(|(key, _)| *key != own) {
            leaves.extend(newest.take().filter(|(_, value)| value.is_some()));
        }
        if u32::from_be_bytes(*since) <= height {
            newest = Some((own, value_of(entry).map(Into::into)));
        }
        if leaves.len() >= LEAVES {
            trie.apply(&leaves)?;
            leaves.clear();
        }
    }
    leaves.extend(newest.filter(|(_, value)| value.is_some()));
    if !leaves.is_empty() {
        trie.apply(&leaves)?;
    }
    Ok(trie)
}
