//! Trie nodes by their hashes: those of a stateless witness, or all nodes of a state, built on
//! demand.

mod given;

use super::disk::DiskNodes;
use super::sparse::Nodes;
use super::whole::WholeState;
use super::{Account, SharedState, State, StateError};
use crate::execute::{Code, CodeCache};
use crate::{Address, Hash, U256};
use blockmill_archive::Column;
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::{Account as Leaf, Child, TrieNode};
use given::Given;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// The encoding of a node.
pub type NodeBytes = Arc<[u8]>;

/// A node that was read: a part of its set, or bytes of its own.
#[derive(Clone, Debug)]
pub enum NodeRef<'a> {
    /// A part of a given set.
    Given(&'a [u8]),
    /// Bytes that others may share.
    Shared(NodeBytes),
}

impl NodeRef<'_> {
    /// Bytes that others may share.
    #[must_use]
    pub fn to_shared(&self) -> NodeBytes {
        match self {
            Self::Given(bytes) => (*bytes).into(),
            Self::Shared(bytes) => bytes.clone(),
        }
    }
}

impl Deref for NodeRef<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Given(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Trie nodes by the Keccak-256 of their encodings. A clone is the same set.
#[derive(Clone, Debug)]
pub struct NodeSet {
    origin: Arc<Origin>,
    /// The nodes that were missing, if reads then find nothing.
    forgiven: Option<Arc<Mutex<BTreeSet<Hash>>>>,
}

#[derive(Debug)]
enum Origin {
    /// A given set, with codes.
    Given(Box<Given>),
    /// All nodes of a state in memory.
    Whole(Box<WholeState>),
    /// All nodes of a state on disk.
    Disk(Box<DiskNodes>),
}

impl Default for NodeSet {
    fn default() -> Self {
        Self::given(Column::new(), Column::new())
    }
}

impl FromIterator<Vec<u8>> for NodeSet {
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(nodes: I) -> Self {
        let mut column = Column::new();
        nodes.into_iter().for_each(|node| column.push(&node));
        Self::given(column, Column::new())
    }
}

impl NodeSet {
    fn of(origin: Origin) -> Self {
        Self { origin: Arc::new(origin), forgiven: None }
    }

    /// The same nodes, where a read that needs a missing one finds nothing: no account, or 0.
    /// go-ethereum reads so, which ignores the error of such a read (`core/state`, `setError`).
    #[must_use]
    pub fn forgiving(&self) -> Self {
        Self { origin: self.origin.clone(), forgiven: Some(Arc::default()) }
    }

    /// The missing nodes that were forgiven.
    #[must_use]
    pub fn forgiven(&self) -> BTreeSet<Hash> {
        let all = self.forgiven.as_ref();
        // a panic of another thread leaves the set whole
        all.map_or_else(BTreeSet::new, |all| {
            all.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// What was read; nothing where a missing node is forgiven.
    fn or_forgiven<T>(&self, read: Result<Option<T>, StateError>) -> Result<Option<T>, StateError> {
        match (read, &self.forgiven) {
            (Err(StateError::MissingNode { hash, .. }), Some(all)) => {
                all.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
                Ok(None)
            }
            (read, _) => read,
        }
    }

    /// The nodes and codes of a witness, which are hashed in the lanes of the CPU.
    #[must_use]
    pub fn given(nodes: Column, codes: Column) -> Self {
        Self::of(Origin::Given(Box::new(Given::new(nodes, codes))))
    }

    /// The nodes and codes of a given set, in order; `None` for the set of a state.
    #[must_use]
    pub fn columns(&self) -> Option<(&Column, &Column)> {
        match &*self.origin {
            Origin::Given(given) => Some(given.columns()),
            Origin::Whole(_) | Origin::Disk(_) => None,
        }
    }

    /// The node with this hash, if the set was given and has it.
    pub(super) fn given_node(&self, hash: &Hash) -> Option<&[u8]> {
        match &*self.origin {
            Origin::Given(given) => given.node(hash),
            Origin::Whole(_) | Origin::Disk(_) => None,
        }
    }

    /// All nodes of a state that is in memory as a whole, and its root. The set records what is
    /// read.
    ///
    /// # Errors
    /// [`StateError`] if a part of the state is not in memory.
    pub fn from_state(state: State) -> Result<(Self, Hash), StateError> {
        let (whole, root) = WholeState::new(state)?;
        Ok((Self::of(Origin::Whole(Box::new(whole))), root))
    }

    /// All nodes of a state on disk. The set records what is read.
    #[must_use]
    pub fn from_disk(state: SharedState) -> Self {
        Self::of(Origin::Disk(Box::new(DiskNodes::new(state))))
    }

    /// The nodes and codes that were read; none for a given set.
    #[must_use]
    pub fn asked(&self) -> (Vec<NodeBytes>, Vec<Code>) {
        match &*self.origin {
            Origin::Given(_) => Default::default(),
            Origin::Whole(whole) => whole.asked(),
            Origin::Disk(nodes) => nodes.asked(),
        }
    }

    /// The nodes of the trie with this root, of accounts or of storage.
    pub(super) fn below(&self, root: Hash) -> Below<'_> {
        Below { set: self, root }
    }

    /// The code with this hash, if the set has codes.
    pub(super) fn code(&self, hash: &Hash, known: &CodeCache) -> Result<Option<Code>, StateError> {
        match &*self.origin {
            Origin::Given(given) => Ok(given.code(hash).map(|code| known.analysed(hash, code))),
            Origin::Whole(whole) => Ok(whole.code(hash)),
            Origin::Disk(nodes) => nodes.code(hash),
        }
    }

    /// An account and the root of its storage; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StateError::MissingNode`] or [`StateError::BadNode`] on the path to it.
    pub fn account(
        &self,
        root: &Hash,
        address: &Address,
    ) -> Result<Option<(Account, Hash)>, StateError> {
        self.account_along(root, address, &mut |_| {})
    }

    /// The same; calls `visit` with the nodes of the path, the root first.
    ///
    /// # Errors
    /// [`StateError::MissingNode`] or [`StateError::BadNode`] on the path to it.
    pub fn account_along(
        &self,
        root: &Hash,
        address: &Address,
        visit: &mut dyn FnMut(&NodeRef<'_>),
    ) -> Result<Option<(Account, Hash)>, StateError> {
        let key = blockmill_hashes::keccak256(address);
        let found = self.or_forgiven(value(&self.below(*root), root, &key, visit))?;
        let Some(value) = found else { return Ok(None) };
        let leaf = Leaf::decode(&value).map_err(|error| bad(root, error))?;
        let (nonce, balance, code_hash) = (leaf.nonce, leaf.balance, *leaf.code_hash);
        if let Origin::Disk(nodes) = &*self.origin {
            nodes.owns(address, leaf.storage_root);
        }
        Ok(Some((Account { nonce, balance, code_hash }, *leaf.storage_root)))
    }

    /// The value of a slot in the storage with this root; 0 if there is none.
    ///
    /// # Errors
    /// [`StateError::MissingNode`] or [`StateError::BadNode`] on the path to it.
    pub fn slot(&self, root: &Hash, slot: &U256) -> Result<U256, StateError> {
        self.slot_along(root, slot, &mut |_| {})
    }

    /// The same; calls `visit` with the nodes of the path, the root first.
    ///
    /// # Errors
    /// [`StateError::MissingNode`] or [`StateError::BadNode`] on the path to it.
    pub fn slot_along(
        &self,
        root: &Hash,
        slot: &U256,
        visit: &mut dyn FnMut(&NodeRef<'_>),
    ) -> Result<U256, StateError> {
        let key = blockmill_hashes::keccak256(&slot.to_be_bytes::<32>());
        match self.or_forgiven(value(&self.below(*root), root, &key, visit))? {
            Some(value) => U256::decode(&value).map_err(|error| bad(root, error)),
            None => Ok(U256::ZERO),
        }
    }
}

/// The nodes of one trie.
pub(super) struct Below<'a> {
    set: &'a NodeSet,
    root: Hash,
}

impl Nodes for Below<'_> {
    fn node(&self, hash: &Hash, key: &Hash, depth: usize) -> Result<NodeRef<'_>, StateError> {
        let node = match &*self.set.origin {
            Origin::Given(given) => given.node(hash).map(NodeRef::Given),
            Origin::Whole(whole) => whole.node(hash)?.map(NodeRef::Shared),
            Origin::Disk(nodes) => nodes.node(&self.root, hash, (key, depth))?.map(NodeRef::Shared),
        };
        node.ok_or(StateError::MissingNode { hash: *hash, depth })
    }
}

/// An empty source, for tries whose nodes are all in memory.
pub(super) struct NoNodes;

impl Nodes for NoNodes {
    fn node(&self, hash: &Hash, _: &Hash, depth: usize) -> Result<NodeRef<'_>, StateError> {
        Err(StateError::MissingNode { hash: *hash, depth })
    }
}

/// The value of a key in the trie with this root. Calls `visit` with the nodes of the path.
pub(super) fn value(
    nodes: &dyn Nodes,
    root: &Hash,
    key: &Hash,
    visit: &mut dyn FnMut(&NodeRef<'_>),
) -> Result<Option<Vec<u8>>, StateError> {
    if *root == blockmill_trie::EMPTY_ROOT {
        return Ok(None);
    }
    let mut rest = halves(key);
    let (mut hash, mut node) = (*root, nodes.node(root, key, 0)?);
    // terminates: each node consumes a part of the key or is the last one
    loop {
        visit(&node);
        match step(&node, &mut rest).map_err(|error| bad(&hash, error))? {
            Step::End(value) => return Ok(value),
            Step::Below(next) => {
                node = nodes.node(&next, key, 64 - rest.len())?;
                hash = next;
            }
        }
    }
}

/// Where a key leads from a node, embedded nodes included.
enum Step {
    /// To its value, or nowhere.
    End(Option<Vec<u8>>),
    /// To another node.
    Below(Hash),
}

fn step(
    node: &[u8],
    key: &mut impl ExactSizeIterator<Item = u8>,
) -> Result<Step, blockmill_rlp::Error> {
    let mut raw = node;
    loop {
        let child = match TrieNode::decode(raw)? {
            TrieNode::Leaf { path, value } => {
                return Ok(Step::End(path.nibbles().eq(key).then(|| value.to_vec())));
            }
            TrieNode::Extension { path, child } => {
                if !path.nibbles().eq(key.by_ref().take(path.len())) || path.is_empty() {
                    return Ok(Step::End(None));
                }
                child
            }
            TrieNode::Branch { children, .. } => match key.next() {
                Some(half) => children[usize::from(half)],
                None => return Ok(Step::End(None)),
            },
        };
        match child {
            Child::Empty => return Ok(Step::End(None)),
            Child::Embedded(node) => raw = node,
            Child::Hash(next) => return Ok(Step::Below(*next)),
        }
    }
}

/// The half-bytes of a key.
fn halves(key: &Hash) -> impl ExactSizeIterator<Item = u8> {
    let key = *key;
    (0..64).map(move |at| key[at / 2] >> (4 * (1 - at % 2)) & 15)
}

/// The error for a malformed node.
pub(super) fn bad(hash: &Hash, error: blockmill_rlp::Error) -> StateError {
    StateError::BadNode { hash: *hash, error: error.to_string() }
}
