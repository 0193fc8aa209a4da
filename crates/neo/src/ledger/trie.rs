//! Builds the state trie from contract storage.

use crate::error::Error;
use crate::state::{Change, StateTrie, StorageKey};
use blockmill_hashes::ManySha256;
use blockmill_store::{Scan, TableReader};
use std::ops::Bound;

/// Number of changes that are applied to the trie at once.
const LEAVES: usize = 1 << 16;

/// Builds the state trie from contract storage.
///
/// # Errors
/// Returns [`Error::Store`] if the table cannot be read.
pub(crate) fn trie_of(storage: &TableReader, hasher: ManySha256) -> Result<StateTrie, Error> {
    trie_over(storage.snapshot().scan((Bound::Unbounded, Bound::Unbounded))?, hasher)
}

/// Builds the state trie from a scan of contract storage.
pub(super) fn trie_over(mut scan: Scan<'_>, hasher: ManySha256) -> Result<StateTrie, Error> {
    let mut trie = StateTrie::new(hasher)?;
    let mut leaves: Vec<Change> = Vec::with_capacity(LEAVES);
    while let Some((key, value)) = scan.next()? {
        // the table holds storage keys only
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
