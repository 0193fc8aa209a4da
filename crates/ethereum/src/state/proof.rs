//! Proofs of an account and of its slots (EIP-1186).

use super::{Account, NodeBytes, NodeSet, StateError};
use crate::{Address, Hash, U256};
use blockmill_trie::EMPTY_ROOT;

/// An account, and the nodes from the state root to it or to where it would be.
#[derive(Clone, Debug)]
pub struct AccountProof {
    /// Whose.
    pub address: Address,
    /// What it owns; nothing where the state does not have it.
    pub account: Account,
    /// The root of its storage.
    pub storage_root: Hash,
    /// Nodes of the trie of accounts, that of the root first.
    pub nodes: Vec<NodeBytes>,
    /// Its slots, in the order in which they were asked for.
    pub slots: Vec<SlotProof>,
}

/// A slot, and the nodes from the root of its storage to it or to where it would be.
#[derive(Clone, Debug)]
pub struct SlotProof {
    /// Which.
    pub slot: U256,
    /// Its value; 0 where it has none.
    pub value: U256,
    /// Nodes of the trie of its account's storage, that of the root first.
    pub nodes: Vec<NodeBytes>,
}

impl AccountProof {
    /// Proves an account and some of its slots in the state with this root.
    ///
    /// # Errors
    /// A node on the way that is not known.
    pub fn new(
        nodes: &NodeSet,
        root: &Hash,
        address: &Address,
        slots: &[U256],
    ) -> Result<Self, StateError> {
        let mut path = vec![];
        let found = nodes.account_along(root, address, &mut |node| path.push(node.clone()))?;
        let (account, storage_root) = found.unwrap_or((Account::default(), EMPTY_ROOT));
        let slot_proof = |slot: &U256| {
            let mut path = vec![];
            let visit = &mut |node: &NodeBytes| path.push(node.clone());
            let value = nodes.slot_along(&storage_root, slot, visit)?;
            Ok(SlotProof { slot: *slot, value, nodes: path })
        };
        let slots = slots.iter().map(slot_proof).collect::<Result<_, StateError>>()?;
        Ok(Self { address: *address, account, storage_root, nodes: path, slots })
    }
}
