//! A trie of pointers that is changed key by key, with the hash of each node kept until something
//! below it changes.
//!
//! It may know only a part of its nodes: the others are read when a change comes to them, and what
//! is not there is an error. So it is the trie of a stateless witness, and the oracle of the one in
//! the arena.

mod hash;
mod read;

pub use hash::HashedNode;

use super::StateError;
use super::nodes::NodeBytes;
use crate::Hash;
use blockmill_trie::EMPTY_ROOT;
use hash::{Name, name, places};
use read::read;

/// Half-bytes of a key.
const HALVES: usize = 64;

/// Where nodes are that were not read yet.
pub trait Nodes {
    /// The encoding of the node with this hash, to which the first `depth` half-bytes of `key`
    /// lead.
    ///
    /// # Errors
    /// It is not there.
    fn node(&self, hash: &Hash, key: &Hash, depth: usize) -> Result<NodeBytes, StateError>;
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
    /// The whole key: where the leaf stands tells which part of it is its path.
    key: Hash,
    value: Vec<u8>,
    name: Option<Name>,
}

#[derive(Clone, Debug)]
struct Extension {
    /// A key below it.
    key: Hash,
    /// Half-bytes of the key up to the branch.
    end: usize,
    child: Node,
    name: Option<Name>,
}

#[derive(Clone, Debug)]
struct Branch {
    children: [Node; 16],
    name: Option<Name>,
}

impl SparseTrie {
    /// The trie with this root, of which no node has been read.
    pub fn unread(root: Hash) -> Self {
        Self { root: if root == EMPTY_ROOT { Node::Empty } else { Node::Unread(root) } }
    }

    /// Sets the value of a key, or removes it.
    ///
    /// # Errors
    /// A node that `nodes` lacks; the trie must not be used any more then.
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

    /// The root; `made` is shown each node that is hashed for it, the one of the root among them
    /// however short it is.
    pub fn root_with(&mut self, made: &mut dyn FnMut(HashedNode<'_>)) -> Hash {
        match name(&mut self.root, &mut [0; 32], 0, made) {
            None => EMPTY_ROOT,
            Some(Name::Hash(hash)) => hash,
            Some(Name::Embedded(encoding)) => {
                let hash = blockmill_hashes::keccak256(&encoding);
                made(HashedNode { key: &[0; 32], depth: 0, hash: &hash, encoding });
                hash
            }
        }
    }

    /// The hash of what stands `depth` half-bytes below the root, to where all keys lead; none
    /// where nothing does, or something shorter than a hash.
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
        match name(node, &mut path, depth, made) {
            Some(Name::Hash(hash)) => Some(hash),
            _ => None,
        }
    }

    /// Where nodes stand that were read or made and have a hash: a key that leads there, and how
    /// many of its half-bytes do. The trie must have been hashed.
    pub fn places(&self, visit: &mut dyn FnMut(&Hash, usize)) {
        places(&self.root, &mut [0; 32], 0, visit);
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
    Node::Leaf(Box::new(Leaf { key: *key, value, name: None }))
}

/// An extension from `from` to `end`, or the child itself where there is nothing between.
fn extension(key: &Hash, from: usize, end: usize, child: Node) -> Node {
    if from == end {
        return child;
    }
    Node::Extension(Box::new(Extension { key: *key, end, child, name: None }))
}

/// A branch at `at` with two nodes below it.
fn fork(at: usize, (key, node): (&Hash, Node), (other, other_node): (&Hash, Node)) -> Node {
    let mut children: [Node; 16] = Default::default();
    children[usize::from(half(key, at))] = node;
    children[usize::from(half(other, at))] = other_node;
    Node::Branch(Box::new(Branch { children, name: None }))
}

/// The node with `key` set, which stands `depth` half-bytes below the root.
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
                    (old.value, old.name) = (value, None);
                }
                return Ok(Node::Leaf(old));
            }
            let old_key = old.key;
            old.name = None;
            let branch = fork(at, (&old_key, Node::Leaf(old)), (key, leaf(key, value)));
            extension(key, depth, at, branch)
        }
        Node::Extension(mut old) => {
            let at = differs(&old.key, key, depth, old.end);
            old.name = None;
            if at == old.end {
                old.child = insert(old.child, at, key, value, nodes)?;
                return Ok(Node::Extension(old));
            }
            let below = extension(&old.key, at + 1, old.end, old.child);
            extension(key, depth, at, fork(at, (&old.key, below), (key, leaf(key, value))))
        }
        Node::Branch(mut branch) => {
            branch.name = None;
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
            old.name = None;
            match remove(old.child, old.end, key, nodes)? {
                Node::Branch(branch) => {
                    old.child = Node::Branch(branch);
                    Node::Extension(old)
                }
                below => join(&old.key, depth, old.end, below, nodes)?,
            }
        }
        Node::Branch(mut branch) => {
            branch.name = None;
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

/// What stands at `from` when nothing but `child`, which stands at `end`, is left below: a leaf or
/// an extension takes the path in between for itself.
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
            leaf.name = None;
            Node::Leaf(leaf)
        }
        Node::Extension(mut extension) => {
            extension.name = None;
            Node::Extension(extension)
        }
        Node::Branch(branch) => extension(key, from, end, Node::Branch(branch)),
    })
}

#[cfg(test)]
mod tests;
