//! The tries of a stateless witness: each node of it is decoded once, and both the state, which
//! reads accounts and slots, and the state root are computed from the same arena.
//!
//! They only accept. A node that is unknown, or that an arena cannot hold, is an error here; tries
//! of pointers ([`super::super::Tries::from_nodes`]) then say what it is.

use super::{ArenaTries, TrieHashers};
use crate::state::nodes::bad;
use crate::state::{Account, Changes, NodeSet, StateError};
use crate::{Address, Hash, U256};
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::EMPTY_ROOT;
use blockmill_trie::codec::Ethereum;
use blockmill_trie::update::{Error, Forest, TrieId};
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Nodes that are built for each node of a witness. Tries with the same node have a copy each, so
/// a small witness could describe tries that do not fit in memory.
const COPIES: usize = 8;
/// Nodes that are built whatever the size of the witness.
const FEW_NODES: usize = 1 << 12;

/// The tries that are known from the nodes of a witness, before the changes of its block and, once
/// these are applied, after them. A clone is the same tries.
#[derive(Clone, Debug)]
pub struct PlantedTries(Arc<Mutex<ArenaTries>>);

/// An account before the block.
pub struct PlantedAccount {
    /// Keccak-256 of the address.
    pub key: Hash,
    /// The account.
    pub account: Account,
    /// The root of its storage.
    pub storage_root: Hash,
}

impl PlantedTries {
    /// Builds the trie of accounts. Storage tries are built when they are read or changed.
    ///
    /// # Errors
    /// [`StateError::Trie`] for a node that an arena cannot hold.
    pub fn new(root: &Hash, nodes: NodeSet) -> Result<Self, StateError> {
        let mut tries = ArenaTries::new(TrieHashers::default())?;
        let count = nodes.columns().map_or(0, |(nodes, _)| nodes.len());
        let left = FEW_NODES + COPIES * count;
        let mut source = Source { nodes, left, storage: HashMap::new(), is_changed: false };
        tries.state = source.plant(&mut tries.accounts, root)?;
        tries.source = Some(source);
        Ok(Self(Arc::new(Mutex::new(tries))))
    }

    fn tries(&self) -> MutexGuard<'_, ArenaTries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state root after `changes`.
    ///
    /// # Errors
    /// [`StateError::Trie`] for a node that is unknown.
    pub fn apply(&self, changes: &Changes) -> Result<Hash, StateError> {
        self.tries().apply(changes)
    }

    /// The state root.
    ///
    /// # Errors
    /// None, as long as no error came before.
    pub fn root(&self) -> Result<Hash, StateError> {
        self.tries().root()
    }

    /// An account before the block; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StateError::Trie`] if a node is unknown, or after changes: the account may be another one
    /// then. [`StateError::BadNode`] for a leaf that is not an account.
    pub fn account(&self, address: &Address) -> Result<Option<PlantedAccount>, StateError> {
        let key = blockmill_hashes::keccak256(address);
        let tries = &*self.tries();
        if let Some(source) = &tries.source {
            source.check_unchanged(&key)?;
        }
        let Some(leaf) = tries.accounts.get(tries.state, &key)? else { return Ok(None) };
        let leaf = Leaf::decode(&leaf).map_err(|error| bad(&key, error))?;
        let (nonce, balance, code_hash) = (leaf.nonce, leaf.balance, *leaf.code_hash);
        let account = Account { nonce, balance, code_hash };
        Ok(Some(PlantedAccount { key, account, storage_root: *leaf.storage_root }))
    }

    /// A slot before the block of the account with this key and this storage; 0 if there is none.
    ///
    /// # Errors
    /// See [`Self::account`].
    pub fn slot(&self, key: &Hash, root: &Hash, slot: &U256) -> Result<U256, StateError> {
        if *root == EMPTY_ROOT {
            return Ok(U256::ZERO);
        }
        let ArenaTries { storage, source, .. } = &mut *self.tries();
        let Some(source) = source else { return Ok(U256::ZERO) };
        source.check_unchanged(key)?;
        let trie = source.storage_trie(storage, key, root)?;
        match storage.get(trie, &blockmill_hashes::keccak256(&slot.to_be_bytes::<32>()))? {
            Some(value) => U256::decode(&value).map_err(|error| bad(root, error)),
            None => Ok(U256::ZERO),
        }
    }
}

/// The nodes from which tries are built.
#[derive(Debug)]
pub(super) struct Source {
    nodes: NodeSet,
    /// Nodes that may still be built.
    left: usize,
    /// The storage tries that are built, by the hashed addresses of their accounts.
    storage: HashMap<Hash, TrieId>,
    /// Whether the tries have changed, so that they are no longer those before the block.
    pub is_changed: bool,
}

impl Source {
    /// Builds the part of a trie that is known.
    fn plant(&mut self, forest: &mut Forest<Ethereum>, root: &Hash) -> Result<TrieId, StateError> {
        let Self { nodes, left, .. } = self;
        Ok(forest.plant_found(*root, &|hash| nodes.given_node(hash), left)?)
    }

    /// The storage trie of an account, which is built if need be.
    pub fn storage_trie(
        &mut self,
        forest: &mut Forest<Ethereum>,
        key: &Hash,
        root: &Hash,
    ) -> Result<TrieId, StateError> {
        if let Some(trie) = self.storage.get(key) {
            return Ok(*trie);
        }
        let trie = self.plant(forest, root)?;
        self.storage.insert(*key, trie);
        Ok(trie)
    }

    fn check_unchanged(&self, key: &Hash) -> Result<(), StateError> {
        match self.is_changed {
            true => Err(Error::Unknown(*key).into()),
            false => Ok(()),
        }
    }
}

/// The root of an account's storage; `None` if it has none.
pub(super) fn storage_root(
    accounts: &Forest<Ethereum>,
    state: TrieId,
    key: &Hash,
) -> Result<Option<Hash>, StateError> {
    let Some(leaf) = accounts.get(state, key)? else { return Ok(None) };
    let leaf = Leaf::decode(&leaf).map_err(|error| bad(key, error))?;
    Ok(Some(*leaf.storage_root).filter(|root| *root != EMPTY_ROOT))
}
