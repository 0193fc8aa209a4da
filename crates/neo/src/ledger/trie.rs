//! The state trie, built from contract storage.

use crate::fault::Error;
use crate::state::{Change, StateTrie, StorageKey};
use blockmill_hashes::ManySha256;
use blockmill_store::{Scan, TableReader};
use std::ops::Bound;

/// Changes that are applied at once when a trie is built from the table.
const LEAVES: usize = 1 << 16;

/// The state trie, built from contract storage.
///
/// # Errors
/// Those of reading.
pub(crate) fn trie_of(storage: &TableReader, hasher: ManySha256) -> Result<StateTrie, Error> {
    trie_over(storage.snapshot().scan((Bound::Unbounded, Bound::Unbounded))?, hasher)
}

/// The state trie of all pairs that a scan of contract storage has.
pub(super) fn trie_over(mut scan: Scan<'_>, hasher: ManySha256) -> Result<StateTrie, Error> {
    let mut trie = StateTrie::new(hasher)?;
    let mut leaves: Vec<Change> = Vec::with_capacity(LEAVES);
    while let Some((key, value)) = scan.next()? {
        // nothing else is put into this table
        let Some(key) = StorageKey::from_slice(key) else { continue };
        leaves.push((key, Some(value.into())));
        if leaves.len() == LEAVES {
            trie.apply(&leaves)?;
            leaves.clear();
        }
    }
    if !leaves.is_empty() {
        trie.apply(&leaves)?;
    }
    Ok(trie)
}
