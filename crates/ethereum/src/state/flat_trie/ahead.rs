//! Nodes that are read ahead of the roots that need them, as Besu preloads them
//! (`BonsaiMerkleTriePreLoader`): when a value is read, so are the nodes that lead to it, while
//! others go on.

use super::{FlatTrie, FlatTrieError, Reader, storage_root};
use crate::Hash;
use blockmill_state_store::StateKey;
use hashbrown::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a node takes besides its bytes and its key.
const OVERHEAD: usize = 64;

/// Nodes by key, with their hashes. One may be another by now.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Bytes that they take at most; with 0 none is read ahead.
    most: usize,
    nodes: Mutex<Kept>,
}

/// Those that came since the last turn, and those of the turn before.
#[derive(Debug, Default)]
struct Kept {
    now: HashMap<Vec<u8>, (Hash, Vec<u8>)>,
    before: HashMap<Vec<u8>, (Hash, Vec<u8>)>,
    /// Bytes of the former.
    bytes: usize,
}

impl Ahead {
    pub fn within(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // a panic ends the run elsewhere
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node that was read ahead, if it has this hash.
    pub fn get(&self, key: &[u8], hash: &Hash) -> Option<Vec<u8>> {
        if self.most == 0 {
            return None;
        }
        let kept = self.kept();
        let found = kept.now.get(key).or_else(|| kept.before.get(key));
        found.filter(|(own, _)| own == hash).map(|(_, node)| node.clone())
    }

    pub fn keep(&self, key: Vec<u8>, hash: &Hash, node: &[u8]) {
        let mut kept = self.kept();
        if kept.bytes >= self.most / 2 {
            kept.before = std::mem::take(&mut kept.now);
            kept.bytes = 0;
        }
        kept.bytes += key.len() + node.len() + OVERHEAD;
        kept.now.insert(key, (*hash, node.to_vec()));
    }

    /// A node is another one now.
    pub fn change(&self, key: &[u8], hash: &Hash, node: &[u8]) {
        let mut kept = self.kept();
        let Kept { now, before, .. } = &mut *kept;
        for (own, bytes) in [now.get_mut(key), before.get_mut(key)].into_iter().flatten() {
            *own = *hash;
            node.clone_into(bytes);
        }
    }

    pub fn is_on(&self) -> bool {
        self.most > 0
    }
}

impl FlatTrie {
    /// The same, which keeps the nodes that lead to what is read by [`FlatTrie::get_many`], within
    /// so many bytes, for the roots that need them.
    #[must_use]
    pub fn preloading(self, bytes: usize) -> Self {
        Self { ahead: Ahead::within(bytes), ..self }
    }

    /// Reads the nodes that lead to some keys. What is not there is told when a root needs it.
    pub(super) fn preload(&self, keys: &[StateKey]) -> Result<(), FlatTrieError> {
        let mut leaf = vec![];
        for keys in keys.chunk_by(|a, b| a.account == b.account) {
            let account = keys[0].account;
            let _ = Reader::ahead(self, None).value(&self.root, &account);
            leaf.clear();
            if !self.accounts.get(&account, &mut leaf)? {
                continue;
            }
            let (root, reader) = (storage_root(&leaf)?, Reader::ahead(self, Some(account)));
            for slot in keys.iter().filter_map(|key| key.slot.as_ref()) {
                let _ = reader.value(&root, slot);
            }
        }
        Ok(())
    }
}
