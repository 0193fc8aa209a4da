//! The trie nodes of a state on disk by their hashes. They are found by their paths, and recorded:
//! the nodes that a block reads are its witness.

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
    /// Nodes that were built with others and not read yet.
    built: HashMap<Hash, NodeBytes>,
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

    /// Records the account of a storage root.
    pub fn owns(&self, address: &Address, storage_root: &Hash) {
        self.tables().owners.insert(*storage_root, blockmill_hashes::keccak256(address));
    }

    /// Reads and records a node of the trie with this root.
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
        if !tables.built.contains_key(hash) {
            let owner = tables.owners.get(root).copied();
            let found = self.state.read().nodes_at(owner.as_ref(), hash, place)?;
            tables.built.extend(found);
        }
        let node = tables.built.remove(hash);
        if let Some(node) = &node {
            tables.asked.insert(*hash, node.clone());
        }
        Ok(node)
    }

    /// Reads and records a code.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        let code = self.state.code(hash)?;
        if let Some(code) = &code {
            self.tables().codes.insert(*hash, code.clone());
        }
        Ok(code)
    }

    /// The recorded nodes and codes, in the order of their hashes.
    pub fn asked(&self) -> (Vec<NodeBytes>, Vec<Code>) {
        let tables = self.tables();
        (tables.asked.values().cloned().collect(), tables.codes.values().cloned().collect())
    }
}
