//! The nodes of the tries of a state on disk by their hashes: found by the paths that lead to them,
//! and noted, so that what a block asks for becomes its witness.

use super::SharedState;
use crate::execute::Code;
use crate::state::{NodeBytes, StateError};
use crate::{Address, Hash};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module's text.
#[derive(Debug)]
pub(in crate::state) struct DiskNodes {
    state: SharedState,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    /// Hashed addresses of accounts by the roots of their storage. Of several with the same storage
    /// any will do.
    owners: HashMap<Hash, Hash>,
    /// Nodes that were made with others, not asked for yet.
    made: HashMap<Hash, NodeBytes>,
    asked: BTreeMap<Hash, NodeBytes>,
    codes: BTreeMap<Hash, Code>,
}

impl DiskNodes {
    pub fn new(state: SharedState) -> Self {
        Self { state, tables: Mutex::default() }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes whose storage has a root.
    pub fn owns(&self, address: &Address, storage_root: &Hash) {
        self.tables().owners.insert(*storage_root, blockmill_hashes::keccak256(address));
    }

    /// A node, which counts as asked for. `root` is that of its trie.
    pub fn node(
        &self,
        root: &Hash,
        hash: &Hash,
        place: (&Hash, usize),
    ) -> Result<Option<NodeBytes>, StateError> {
        let mut tables = self.tables();
        if let Some(node) = tables.asked.get(hash) {
            return Ok(Some(node.clone()));
        }
        if !tables.made.contains_key(hash) {
            let owner = tables.owners.get(root).copied();
            let found = self.state.read().nodes_at(owner.as_ref(), hash, place)?;
            tables.made.extend(found);
        }
        let node = tables.made.remove(hash);
        if let Some(node) = &node {
            tables.asked.insert(*hash, node.clone());
        }
        Ok(node)
    }

    /// A code, which counts as asked for.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        let code = self.state.code(hash)?;
        if let Some(code) = &code {
            self.tables().codes.insert(*hash, code.clone());
        }
        Ok(code)
    }

    /// The nodes and the codes that were asked for, in the order of their hashes.
    pub fn asked(&self) -> (Vec<NodeBytes>, Vec<Code>) {
        let tables = self.tables();
        (tables.asked.values().cloned().collect(), tables.codes.values().cloned().collect())
    }
}
