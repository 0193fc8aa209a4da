//! Proofs of an account and of its slots (EIP-1186).

use super::{Account, NodeBytes, NodeRef, NodeSet, StateError};
use crate::{Address, Hash, U256};
use blockmill_trie::EMPTY_ROOT;

/// An account with the nodes on the path from the state root to it, or to its absence.
#[derive(Clone, Debug)]
pub struct AccountProof {
    /// The address.
    pub address: Address,
    /// The account; empty if it does not exist.
    pub account: Account,
    /// The root of its storage.
    pub storage_root: Hash,
    /// Nodes of the trie of accounts, the root first.
    pub nodes: Vec<NodeBytes>,
    /// Slots, in the requested order.
    pub slots: Vec<SlotProof>,
}

/// A slot with the nodes on the path from the storage root to it, or to its absence.
#[derive(Clone, Debug)]
pub struct SlotProof {
    /// The slot.
    pub slot: U256,
    /// Its value; 0 if there is none.
    pub value: U256,
    /// Nodes of the storage trie, the root first.
    pub nodes: Vec<NodeBytes>,
}

impl AccountProof {
    /// Proves an account and some of its slots in the state with this root.
    ///
    /// # Errors
    /// [`StateError`] if a node of a path is not known or cannot be read.
    pub fn new(
        nodes: &NodeSet,
        root: &Hash,
        address: &Address,
        slots: &[U256],
    ) -> Result<Self, StateError> {
        let mut path = vec![];
        let found = nodes.account_along(root, address, &mut |node| path.push(node.to_shared()))?;
        let (account, storage_root) = found.unwrap_or((Account::default(), EMPTY_ROOT));
        let slot_proof = |slot: &U256| {
            let mut path = vec![];
            let visit = &mut |node: &NodeRef<'_>| path.push(node.to_shared());
            let value = nodes.slot_along(&storage_root, slot, visit)?;
            Ok(SlotProof { slot: *slot, value, nodes: path })
        };
        let slots = slots.iter().map(slot_proof).collect::<Result<_, StateError>>()?;
        Ok(Self { address: *address, account, storage_root, nodes: path, slots })
    }
}
