//! Reads trie nodes from the tables; rebuilds missing ones.

use super::{FlatTrie, FlatTrieError, node_key};
use crate::Hash;
use crate::state::sparse::Nodes;
use crate::state::{NodeRef, StateError};
use hashbrown::HashMap;
use std::cell::RefCell;

/// Reads the nodes of one trie.
pub(super) struct Reader<'a> {
    pub(super) state: &'a FlatTrie,
    pub(super) account: Option<Hash>,
    /// Nodes that were read, by key and depth.
    pub(super) read: RefCell<Vec<(Hash, usize)>>,
    /// The error of a table.
    error: RefCell<Option<FlatTrieError>>,
    /// Nodes that were rebuilt.
    pub(super) rebuilt: RefCell<HashMap<Vec<u8>, Vec<u8>>>,
    /// Whether nodes are preloaded: they are cached, and missing ones are not rebuilt.
    is_preload: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(state: &'a FlatTrie, account: Option<Hash>) -> Self {
        let (read, error, rebuilt, is_preload) = Default::default();
        Self { state, account, read, error, rebuilt, is_preload }
    }

    /// A reader that preloads nodes.
    pub(super) fn preloading(state: &'a FlatTrie, account: Option<Hash>) -> Self {
        Self { is_preload: true, ..Self::new(state, account) }
    }

    /// Replaces a missing node by the table's error that caused it.
    pub(super) fn finish<T>(&self, answer: Result<T, StateError>) -> Result<T, FlatTrieError> {
        let error = self.error.borrow_mut().take();
        answer.map_err(|answer| error.unwrap_or(answer.into()))
    }

    /// The value under a key of the trie with this root.
    pub(super) fn value(&self, root: &Hash, key: &Hash) -> Result<Option<Vec<u8>>, StateError> {
        crate::state::nodes::value(self, root, key, &mut |_| {})
    }

    /// The node that is stored at a position, if it has this hash.
    fn stored(
        &self,
        hash: &Hash,
        key: &Hash,
        depth: usize,
    ) -> Result<Option<Vec<u8>>, FlatTrieError> {
        let FlatTrie { nodes, preloaded, .. } = self.state;
        let place = node_key(self.account.as_ref(), key, depth);
        if let Some(node) = preloaded.get(&place, hash) {
            return Ok(Some(node));
        }
        let mut bytes = vec![];
        nodes.get(&place, &mut bytes)?;
        let found = (blockmill_hashes::keccak256(&bytes) == *hash).then_some(bytes);
        if let Some(node) = found.as_ref().filter(|_| self.is_preload) {
            preloaded.keep(place, hash, node);
        }
        Ok(found)
    }
}

impl Nodes for Reader<'_> {
    fn node(&self, hash: &Hash, key: &Hash, depth: usize) -> Result<NodeRef<'_>, StateError> {
        if !self.is_preload {
            self.read.borrow_mut().push((*key, depth));
        }
        let found = match self.stored(hash, key, depth) {
            Ok(Some(node)) => Ok(Some(node)),
            Ok(None) if self.is_preload => Ok(None),
            Ok(None) => self.rebuild(hash, key, depth),
            Err(error) => Err(error),
        };
        match found {
            Ok(Some(node)) => Ok(NodeRef::Shared(node.into())),
            Ok(None) => Err(StateError::MissingNode { hash: *hash, depth }),
            Err(error) => {
                *self.error.borrow_mut() = Some(error);
                Err(StateError::MissingNode { hash: *hash, depth })
            }
        }
    }
}
