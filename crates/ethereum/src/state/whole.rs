//! The trie nodes of a state that is in memory as a whole.
//!
//! The trie of accounts is built first, a storage trie when its root is read: a proof of one slot
//! does not wait for the tries of other accounts. Reads are recorded: the nodes that a block reads
//! are its stateless witness.

use super::nodes::{NoNodes, NodeBytes};
use super::{AccountId, SparseTrie, State, StateError};
use crate::Hash;
use crate::execute::Code;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::EMPTY_ROOT;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A state, and the trie nodes that were built.
#[derive(Debug)]
pub(super) struct WholeState {
    state: State,
    /// Accounts with storage by their storage roots. Any of several with the same storage will do.
    owners: HashMap<Hash, AccountId>,
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    built: HashMap<Hash, NodeBytes>,
    asked: BTreeMap<Hash, NodeBytes>,
    codes: BTreeMap<Hash, Code>,
}

impl WholeState {
    /// The nodes of `state`, and its root.
    pub fn new(state: State) -> Result<(Self, Hash), StateError> {
        let mut owners = HashMap::default();
        let mut leaves = vec![];
        for (id, address, account) in state.accounts() {
            let storage_root = blockmill_trie::root_of_sorted(slots(&state, id));
            if storage_root != EMPTY_ROOT {
                owners.insert(storage_root, id);
            }
            let leaf = Leaf {
                nonce: account.nonce,
                balance: account.balance,
                storage_root: &storage_root,
                code_hash: &account.code_hash,
            };
            leaves.push((blockmill_hashes::keccak256(address), leaf.encode()));
        }
        let mut tables = Tables::default();
        let root = tables.make(leaves)?;
        Ok((Self { state, owners, tables: Mutex::new(tables) }, root))
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and records a node.
    pub fn node(&self, hash: &Hash) -> Result<Option<NodeBytes>, StateError> {
        let mut tables = self.tables();
        if !tables.built.contains_key(hash)
            && let Some(id) = self.owners.get(hash)
        {
            tables.make(slots(&self.state, *id))?;
        }
        let node = tables.built.get(hash).cloned();
        if let Some(node) = &node {
            tables.asked.insert(*hash, node.clone());
        }
        Ok(node)
    }

    /// Reads and records a code.
    pub fn code(&self, hash: &Hash) -> Option<Code> {
        let code = self.state.code(hash).ok()?;
        self.tables().codes.insert(*hash, code.clone());
        Some(code)
    }

    /// The recorded nodes and codes, sorted by hash.
    pub fn asked(&self) -> (Vec<NodeBytes>, Vec<Code>) {
        let tables = self.tables();
        (tables.asked.values().cloned().collect(), tables.codes.values().cloned().collect())
    }
}

impl Tables {
    /// Builds the nodes of a trie, and returns its root.
    fn make(&mut self, leaves: Vec<(Hash, Vec<u8>)>) -> Result<Hash, StateError> {
        let none = NoNodes;
        let mut trie = SparseTrie::default();
        for (key, value) in leaves {
            trie.set(&key, Some(value), &none)?;
        }
        Ok(trie.root_with(&mut |node| {
            self.built.insert(*node.hash, node.encoding.into());
        }))
    }
}

/// The leaves of an account's storage, in the order of their keys.
fn slots(state: &State, id: AccountId) -> Vec<(Hash, Vec<u8>)> {
    let leaf = |(slot, value): (&crate::U256, &crate::U256)| {
        (blockmill_hashes::keccak256(&slot.to_be_bytes::<32>()), value.encode())
    };
    let mut leaves: Vec<_> = state.slots(id).map(leaf).collect();
    leaves.sort_unstable();
    leaves
}
