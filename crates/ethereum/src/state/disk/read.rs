//! Reads of a state on disk: accounts, slots, trie nodes and codes.

use super::{DiskError, DiskState, Layout};
use crate::execute::Code;
use crate::state::nodes::NoNodes;
use crate::state::sparse::HashedNode;
use crate::state::{Account, NodeBytes, SparseTrie, StateError};
use crate::{Hash, U256};
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_state_store::{NodeAt, StateKey};

impl DiskState {
    /// An account and the root of its storage, by its hashed address.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn account(&self, account: &Hash) -> Result<Option<(Account, Hash)>, StateError> {
        let mut value = vec![];
        if !self.get(&StateKey::account(*account), &mut value)? {
            return Ok(None);
        }
        let leaf = Leaf::decode(&value).map_err(|error| self.bad("account", error))?;
        let (nonce, balance, code_hash) = (leaf.nonce, leaf.balance, *leaf.code_hash);
        Ok(Some((Account { nonce, balance, code_hash }, *leaf.storage_root)))
    }

    /// The value of a slot, by hashed address and hashed slot; 0 if there is none.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn slot(&self, account: &Hash, slot: &Hash) -> Result<U256, StateError> {
        let mut value = vec![];
        match self.get(&StateKey::slot(*account, *slot), &mut value)? {
            true => U256::decode(&value).map_err(|error| self.bad("slot", error)),
            false => Ok(U256::ZERO),
        }
    }

    fn get(&self, key: &StateKey, value: &mut Vec<u8>) -> Result<bool, StateError> {
        match &self.layout {
            Layout::Pages(pages) => Ok(pages.get(key, value).map_err(DiskError::from)?),
            Layout::FlatTrie(state) => state.get(key, value).map_err(|e| self.flat_error(e)),
        }
    }

    /// The values of slots in the order of their keys, which are read together; 0 where there is
    /// none.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn slots(&self, keys: &[StateKey]) -> Result<Vec<U256>, StateError> {
        let mut found = vec![Ok(U256::ZERO); keys.len()];
        self.get_many(keys, |at, value| {
            if let Some(value) = value {
                found[at] = U256::decode(value);
            }
        })?;
        let value =
            |value: Result<U256, blockmill_rlp::Error>| value.map_err(|e| self.bad("slot", e));
        found.into_iter().map(value).collect()
    }

    /// Prefetches keys into the caches.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn touch(&self, keys: &[StateKey]) -> Result<(), StateError> {
        self.get_many(keys, |_, _| {})
    }

    fn get_many(
        &self,
        keys: &[StateKey],
        each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), StateError> {
        match &self.layout {
            Layout::Pages(pages) => Ok(pages.get_many(keys, each).map_err(DiskError::from)?),
            Layout::FlatTrie(state) => {
                state.get_many(keys, each).map_err(|error| self.flat_error(error))
            }
        }
    }

    /// All slots of an account by their hashes, in their order.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn storage(&self, account: &Hash) -> Result<Vec<(Hash, U256)>, StateError> {
        let mut found = vec![];
        self.each_slot(account, &mut |slot, value| found.push((*slot, U256::decode(value))))?;
        let value = |(slot, value): (Hash, Result<U256, blockmill_rlp::Error>)| {
            value.map(|value| (slot, value)).map_err(|error| self.bad("slot", error))
        };
        found.into_iter().map(value).collect()
    }

    /// Calls `each` with the slots of an account by their hashes, in their order, and their values
    /// as the leaves of the trie have them.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn each_slot(
        &self,
        account: &Hash,
        each: &mut dyn FnMut(&Hash, &[u8]),
    ) -> Result<(), StateError> {
        match &self.layout {
            Layout::Pages(pages) => Ok(pages.storage(account, each).map_err(DiskError::from)?),
            Layout::FlatTrie(state) => {
                state.storage(account, each).map_err(|error| self.flat_error(error))
            }
        }
    }

    /// Calls `each` with the hashed addresses of accounts, in their order, the accounts and the
    /// roots of their storage, until it returns false.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn each_account(
        &self,
        each: &mut dyn FnMut(&Hash, &Account, &Hash) -> bool,
    ) -> Result<(), StateError> {
        let mut malformed = None;
        let mut each = |key: &Hash, value: &[u8]| match Leaf::decode(value) {
            Ok(leaf) => {
                let (nonce, balance, code_hash) = (leaf.nonce, leaf.balance, *leaf.code_hash);
                each(key, &Account { nonce, balance, code_hash }, leaf.storage_root)
            }
            Err(error) => {
                malformed = Some(error);
                false
            }
        };
        match &self.layout {
            Layout::Pages(pages) => pages.accounts(&mut each).map_err(DiskError::from)?,
            Layout::FlatTrie(state) => {
                state.each_account(&mut each).map_err(|error| self.flat_error(error))?;
            }
        }
        match malformed {
            Some(error) => Err(self.bad("account", error)),
            None => Ok(()),
        }
    }

    /// The nodes at and around a position: the first `depth` half-bytes of `key` in the trie of
    /// accounts or of an account's storage. The node with this hash is among them if it exists.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub(in crate::state) fn nodes_at(
        &self,
        account: Option<&Hash>,
        hash: &Hash,
        (key, depth): (&Hash, usize),
    ) -> Result<Vec<(Hash, NodeBytes)>, StateError> {
        let pages = match &self.layout {
            Layout::FlatTrie(state) => {
                let node = state.node(account, hash, (key, depth));
                return Ok(vec![(*hash, node.map_err(|error| self.flat_error(error))?)]);
            }
            Layout::Pages(pages) => pages,
        };
        let found = pages.node(account, key, depth).map_err(DiskError::from)?;
        let mut nodes = vec![];
        match found {
            None => {}
            Some(NodeAt::Node(node)) => {
                nodes.push((blockmill_hashes::keccak256(&node), node.into()))
            }
            Some(NodeAt::Leaves { depth, leaves }) => {
                let (mut trie, none) = (SparseTrie::default(), NoNodes);
                for (key, value) in leaves {
                    trie.set(&key, Some(value), &none)?;
                }
                let mut keep = |node: HashedNode<'_>| {
                    nodes.push((*node.hash, node.encoding.into()));
                };
                match depth {
                    0 => _ = trie.root_with(&mut keep),
                    _ => _ = trie.hash_at(depth, &mut keep),
                }
            }
        }
        Ok(nodes)
    }

    /// The code with this hash, which an account has.
    ///
    /// # Errors
    /// Corruption: it is not stored, for example; those of the system.
    pub fn code_of(&self, hash: &Hash) -> Result<Code, StateError> {
        self.code(hash)?.ok_or_else(|| self.bad("code", "none under the hash of an account"))
    }

    /// The code with this hash; `None` if it is not stored.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn code(&self, hash: &Hash) -> Result<Option<Code>, StateError> {
        let mut code = vec![];
        let is_there = self.codes.get(hash, &mut code).map_err(DiskError::from)?;
        let code = is_there.then(|| Code::new(code));
        match code.as_ref().is_some_and(|code| code.hash() != *hash) {
            true => Err(self.bad("code", "another under the hash")),
            false => Ok(code),
        }
    }
}
