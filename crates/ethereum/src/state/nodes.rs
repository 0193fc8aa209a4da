//! Trie nodes by their hashes: a part of a state, as a stateless witness carries it.

use super::{Account, StateError};
use crate::{Address, Hash, U256};
use hashbrown::HashMap;
use rlp::Decode;
use rlp::ethereum::{Account as Leaf, Child, TrieNode};

/// Trie nodes by the Keccak-256 of their encodings.
#[derive(Debug, Default)]
pub struct NodeSet(HashMap<Hash, Vec<u8>>);

impl FromIterator<Vec<u8>> for NodeSet {
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(nodes: I) -> Self {
        Self(nodes.into_iter().map(|node| (crypto::keccak256(&node), node)).collect())
    }
}

impl NodeSet {
    /// The encoding of a node that stands `depth` half-bytes below the root.
    pub(super) fn node(&self, hash: &Hash, depth: usize) -> Result<&[u8], StateError> {
        let missing = StateError::MissingNode { hash: *hash, depth };
        self.0.get(hash).map(|node| &node[..]).ok_or(missing)
    }

    /// An account and the root of its storage; none where the state does not have it.
    ///
    /// # Errors
    /// A node on the way that is not known, or that is none.
    pub fn account(
        &self,
        root: &Hash,
        address: &Address,
    ) -> Result<Option<(Account, Hash)>, StateError> {
        let Some(value) = self.value(root, &crypto::keccak256(address))? else { return Ok(None) };
        let leaf = Leaf::decode(value).map_err(|error| bad(root, error))?;
        let (nonce, balance, code_hash) = (leaf.nonce, leaf.balance, *leaf.code_hash);
        Ok(Some((Account { nonce, balance, code_hash }, *leaf.storage_root)))
    }

    /// The value of a slot in the storage with this root, 0 where it has none.
    ///
    /// # Errors
    /// A node on the way that is not known, or that is none.
    pub fn slot(&self, root: &Hash, slot: &U256) -> Result<U256, StateError> {
        let key = crypto::keccak256(&slot.to_be_bytes::<32>());
        match self.value(root, &key)? {
            Some(value) => U256::decode(value).map_err(|error| bad(root, error)),
            None => Ok(U256::ZERO),
        }
    }

    /// The value under a key of the trie with this root.
    fn value(&self, root: &Hash, key: &Hash) -> Result<Option<&[u8]>, StateError> {
        if *root == trie::EMPTY_ROOT {
            return Ok(None);
        }
        let mut key = halves(key);
        let (mut hash, mut raw) = (*root, self.node(root, 0)?);
        // every node takes a piece of the key or is the last one, so this ends
        loop {
            let node = TrieNode::decode(raw).map_err(|error| bad(&hash, error))?;
            let child = match node {
                TrieNode::Leaf { path, value } => {
                    return Ok(path.nibbles().eq(key).then_some(value));
                }
                TrieNode::Extension { path, child } => {
                    if !path.nibbles().eq(key.by_ref().take(path.len())) || path.is_empty() {
                        return Ok(None);
                    }
                    child
                }
                TrieNode::Branch { children, .. } => match key.next() {
                    Some(half) => children[usize::from(half)],
                    None => return Ok(None),
                },
            };
            match child {
                Child::Empty => return Ok(None),
                Child::Embedded(node) => raw = node,
                Child::Hash(next) => {
                    hash = *next;
                    raw = self.node(next, 64 - key.len())?;
                }
            }
        }
    }
}

/// The half-bytes of a key.
fn halves(key: &Hash) -> impl ExactSizeIterator<Item = u8> {
    let key = *key;
    (0..64).map(move |at| key[at / 2] >> (4 * (1 - at % 2)) & 15)
}

/// Bytes that stand for a node and are none.
pub(super) fn bad(hash: &Hash, error: rlp::Error) -> StateError {
    StateError::BadNode { hash: *hash, error: error.to_string() }
}
