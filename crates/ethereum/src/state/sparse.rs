//! A trie of pointers that is changed key by key. Each node caches its hash until something below
//! it changes.
//!
//! A part of the nodes may be unread: they are read when a change reaches them, and a missing node
//! is an error. It is the trie of stateless witnesses, and the oracle of the trie in an arena.

mod hash;
mod read;

pub use hash::HashedNode;

use super::StateError;
use super::nodes::NodeRef;
use crate::Hash;
use blockmill_trie::EMPTY_ROOT;
use hash::{NodeReference, positions, reference};
use read::read;

/// Half-bytes of a key.
const HALVES: usize = 64;

/// A source of unread nodes.
pub trait Nodes {
    /// The encoding of the node with this hash, to which the first `depth` half-bytes of `key`
    /// lead.
    ///
    /// # Errors
    /// [`StateError::MissingNode`] if it is missing.
    fn node(&self, hash: &Hash, key: &Hash, depth: usize) -> Result<NodeRef<'_>, StateError>;
}

/// A trie under 32-byte keys.
#[derive(Clone, Debug, Default)]
pub struct SparseTrie {
    root: Node,
}

#[derive(Clone, Debug, Default)]
enum Node {
    #[default]
    Empty,
    /// Not read yet.
    Unread(Hash),
    Leaf(Box<Leaf>),
    Extension(Box<Extension>),
    Branch(Box<Branch>),
}

#[derive(Clone, Debug)]
struct Leaf {
    /// The whole key; the position of the leaf determines which part of it is its path.
    key: Hash,
    value: Vec<u8>,
    reference: Option<NodeReference>,
}

#[derive(Clone, Debug)]
struct Extension {
    /// A key below it.
    key: Hash,
    /// Half-bytes of the key up to the branch.
    end: usize,
    child: Node,
    reference: Option<NodeReference>,
}

#[derive(Clone, Debug)]
struct Branch {
    children: [Node; 16],
    reference: Option<NodeReference>,
}

impl SparseTrie {
    /// The trie with this root, without any node read.
    pub fn unread(root: Hash) -> Self {
        Self { root: if root == EMPTY_ROOT { Node::Empty } else { Node::Unread(root) } }
    }

    /// Sets the value of a key, or removes it.
    ///
    /// # Errors
    /// [`StateError`] if `nodes` lacks a node. The trie must not be used any more then.
    pub fn set(
        &mut self,
        key: &Hash,
        value: Option<Vec<u8>>,
        nodes: &dyn Nodes,
    ) -> Result<(), StateError> {
        let root = std::mem::take(&mut self.root);
        self.root = match value {
            Some(value) => insert(root, 0, key, value, nodes)?,
            None => remove(root, 0, key, nodes)?,
        };
        Ok(())
    }

    /// The root.
    pub fn root(&mut self) -> Hash {
        self.root_with(&mut |_| {})
    }

    /// The root. Calls `made` with each node that is hashed, the root node always included.
    pub fn root_with(&mut self, made: &mut dyn FnMut(HashedNode<'_>)) -> Hash {
        match reference(&mut self.root, &mut [0; 32], 0, made) {
            None => EMPTY_ROOT,
            Some(NodeReference::Hash(hash)) => hash,
            Some(NodeReference::Embedded(encoding)) => {
                let hash = blockmill_hashes::keccak256(&encoding);
                made(HashedNode { key: &[0; 32], depth: 0, hash: &hash, encoding });
                hash
            }
        }
    }

    /// The hash of the node `depth` half-bytes below the root, if all keys share that prefix.
    /// `None` if there is no node, or an embedded one.
    pub fn hash_at(&mut self, depth: usize, made: &mut dyn FnMut(HashedNode<'_>)) -> Option<Hash> {
        let mut path = [0; 32];
        let node = match &mut self.root {
            Node::Extension(extension) if extension.end == depth => {
                path = extension.key;
                &mut extension.child
            }
            Node::Extension(extension) if extension.end < depth => return None,
            Node::Branch(_) if depth > 0 => return None,
            node => node,
        };
        match reference(node, &mut path, depth, made) {
            Some(NodeReference::Hash(hash)) => Some(hash),
            _ => None,
        }
    }

    /// Calls `visit` with the positions of all read or built nodes with a hash: a key that leads
    /// there, and the depth. The trie must be hashed.
    pub fn positions(&self, visit: &mut dyn FnMut(&Hash, usize)) {
        positions(&self.root, &mut [0; 32], 0, visit);
    }
}

/// Sets a half-byte of a key.
pub(super) fn set_half(key: &mut Hash, at: usize, value: u8) {
    let shift = 4 * (1 - at % 2);
    key[at / 2] = key[at / 2] & !(15 << shift) | value << shift;
}

fn half(key: &Hash, at: usize) -> u8 {
    key[at / 2] >> (4 * (1 - at % 2)) & 15
}

/// The first half-byte from `from` on, before `end`, in which two keys differ.
fn differs(a: &Hash, b: &Hash, from: usize, end: usize) -> usize {
    (from..end).find(|at| half(a, *at) != half(b, *at)).unwrap_or(end)
}

fn leaf(key: &Hash, value: Vec<u8>) -> Node {
    Node::Leaf(Box::new(Leaf { key: *key, value, reference: None }))
}

/// An extension from `from` to `end`, or the child itself where there is nothing between.
fn extension(key: &Hash, from: usize, end: usize, child: Node) -> Node {
    if from == end {
        return child;
    }
    Node::Extension(Box::new(Extension { key: *key, end, child, reference: None }))
}

/// A branch at `at` with two nodes below it.
fn fork(at: usize, (key, node): (&Hash, Node), (other, other_node): (&Hash, Node)) -> Node {
    let mut children: [Node; 16] = Default::default();
    children[usize::from(half(key, at))] = node;
    children[usize::from(half(other, at))] = other_node;
    Node::Branch(Box::new(Branch { children, reference: None }))
}

/// Sets `key` in the subtrie of a node, which is `depth` half-bytes below the root.
fn insert(
    node: Node,
    depth: usize,
    key: &Hash,
    value: Vec<u8>,
    nodes: &dyn Nodes,
) -> Result<Node, StateError> {
    Ok(match node {
        Node::Empty => leaf(key, value),
        Node::Unread(hash) => insert(read(&hash, depth, key, nodes)?, depth, key, value, nodes)?,
        Node::Leaf(mut old) => {
            let at = differs(&old.key, key, depth, HALVES);
            if at == HALVES {
                if old.value != value {
                    (old.value, old.reference) = (value, None);
                }
                return Ok(Node::Leaf(old));
            }
            let old_key = old.key;
            old.reference = None;
            let branch = fork(at, (&old_key, Node::Leaf(old)), (key, leaf(key, value)));
            extension(key, depth, at, branch)
        }
        Node::Extension(mut old) => {
            let at = differs(&old.key, key, depth, old.end);
            old.reference = None;
            if at == old.end {
                old.child = insert(old.child, at, key, value, nodes)?;
                return Ok(Node::Extension(old));
            }
            let below = extension(&old.key, at + 1, old.end, old.child);
            extension(key, depth, at, fork(at, (&old.key, below), (key, leaf(key, value))))
        }
        Node::Branch(mut branch) => {
            branch.reference = None;
            let child = &mut branch.children[usize::from(half(key, depth))];
            *child = insert(std::mem::take(child), depth + 1, key, value, nodes)?;
            Node::Branch(branch)
        }
    })
}

/// The node without `key`.
fn remove(node: Node, depth: usize, key: &Hash, nodes: &dyn Nodes) -> Result<Node, StateError> {
    Ok(match node {
        Node::Empty => Node::Empty,
        Node::Unread(hash) => remove(read(&hash, depth, key, nodes)?, depth, key, nodes)?,
        Node::Leaf(old) if old.key == *key => Node::Empty,
        Node::Leaf(old) => Node::Leaf(old),
        Node::Extension(mut old) => {
            if differs(&old.key, key, depth, old.end) < old.end {
                return Ok(Node::Extension(old));
            }
            old.reference = None;
            match remove(old.child, old.end, key, nodes)? {
                Node::Branch(branch) => {
                    old.child = Node::Branch(branch);
                    Node::Extension(old)
                }
                below => join(&old.key, depth, old.end, below, nodes)?,
            }
        }
        Node::Branch(mut branch) => {
            branch.reference = None;
            let own = usize::from(half(key, depth));
            let child = std::mem::take(&mut branch.children[own]);
            branch.children[own] = remove(child, depth + 1, key, nodes)?;
            let mut left = (0..16).filter(|i| !matches!(branch.children[*i], Node::Empty));
            match (left.next(), left.next()) {
                (None, _) => Node::Empty,
                (Some(last), None) => {
                    let child = std::mem::take(&mut branch.children[last]);
                    let mut path = *key;
                    set_half(&mut path, depth, last as u8);
                    join(&path, depth, depth + 1, child, nodes)?
                }
                _ => Node::Branch(branch),
            }
        }
    })
}

/// Replaces a node at `from` whose only child, at `end`, is left: a leaf or an extension takes over
/// the path in between.
fn join(
    key: &Hash,
    from: usize,
    end: usize,
    child: Node,
    nodes: &dyn Nodes,
) -> Result<Node, StateError> {
    Ok(match child {
        Node::Empty => Node::Empty,
        Node::Unread(hash) => join(key, from, end, read(&hash, end, key, nodes)?, nodes)?,
        Node::Leaf(mut leaf) => {
            leaf.reference = None;
            Node::Leaf(leaf)
        }
        Node::Extension(mut extension) => {
            extension.reference = None;
            Node::Extension(extension)
        }
        Node::Branch(branch) => extension(key, from, end, Node::Branch(branch)),
    })
}

#[cfg(test)]
mod tests;
