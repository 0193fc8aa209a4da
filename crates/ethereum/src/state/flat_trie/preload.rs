//! Preloaded trie nodes, as in Besu (`BonsaiMerkleTriePreLoader`): when a value is prefetched, so
//! are the nodes that lead to it, concurrently with other stages.

use super::{FlatTrie, FlatTrieError, Reader, storage_root};
use crate::Hash;
use blockmill_state_store::StateKey;
use hashbrown::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Estimated bytes of a node besides its encoding and its key.
const OVERHEAD: usize = 64;

/// Nodes by key, with their hashes. A node may be stale.
#[derive(Debug, Default)]
pub(super) struct PreloadedNodes {
    /// Limit of their bytes; 0 turns preloading off.
    most: usize,
    nodes: Mutex<Nodes>,
}

/// Two generations of nodes.
#[derive(Debug, Default)]
struct Nodes {
    current: HashMap<Vec<u8>, (Hash, Vec<u8>)>,
    previous: HashMap<Vec<u8>, (Hash, Vec<u8>)>,
    /// Bytes of the current generation.
    bytes: usize,
}

impl PreloadedNodes {
    pub fn within(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        // a panic ends the run elsewhere
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A preloaded node, if it has this hash.
    pub fn get(&self, key: &[u8], hash: &Hash) -> Option<Vec<u8>> {
        if self.most == 0 {
            return None;
        }
        let nodes = self.nodes();
        let found = nodes.current.get(key).or_else(|| nodes.previous.get(key));
        found.filter(|(own, _)| own == hash).map(|(_, node)| node.clone())
    }

    pub fn keep(&self, key: Vec<u8>, hash: &Hash, node: &[u8]) {
        let mut nodes = self.nodes();
        if nodes.bytes >= self.most / 2 {
            nodes.previous = std::mem::take(&mut nodes.current);
            nodes.bytes = 0;
        }
        nodes.bytes += key.len() + node.len() + OVERHEAD;
        nodes.current.insert(key, (*hash, node.to_vec()));
    }

    /// Replaces a node that changed.
    pub fn change(&self, key: &[u8], hash: &Hash, node: &[u8]) {
        let mut nodes = self.nodes();
        let Nodes { current, previous, .. } = &mut *nodes;
        for (own, bytes) in [current.get_mut(key), previous.get_mut(key)].into_iter().flatten() {
            *own = *hash;
            node.clone_into(bytes);
        }
    }

    pub fn is_on(&self) -> bool {
        self.most > 0
    }
}

impl FlatTrie {
    /// Preloads the nodes that lead to the keys of [`FlatTrie::get_many`], within a limit of bytes.
    #[must_use]
    pub fn preloading(self, bytes: usize) -> Self {
        Self { preloaded: PreloadedNodes::within(bytes), ..self }
    }

    /// Reads the nodes that lead to keys. The next root reports nodes that are missing.
    pub(super) fn preload(&self, keys: &[StateKey]) -> Result<(), FlatTrieError> {
        let mut leaf = vec![];
        for keys in keys.chunk_by(|a, b| a.account == b.account) {
            let account = keys[0].account;
            let _ = Reader::preloading(self, None).value(&self.root, &account);
            leaf.clear();
            if !self.accounts.get(&account, &mut leaf)? {
                continue;
            }
            let (root, reader) = (storage_root(&leaf)?, Reader::preloading(self, Some(account)));
            for slot in keys.iter().filter_map(|key| key.slot.as_ref()) {
                let _ = reader.value(&root, slot);
            }
        }
        Ok(())
    }
}
