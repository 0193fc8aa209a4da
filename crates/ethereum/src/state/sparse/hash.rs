//! Encodes and hashes nodes, and finds the positions of nodes with a hash.

use super::{Extension, HALVES, Leaf, Node, set_half};
use crate::Hash;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::{Child, PathBuffer, TrieNode};

/// A node that was hashed.
#[derive(Debug)]
pub struct HashedNode<'a> {
    /// A key whose first `depth` half-bytes lead to the node.
    pub key: &'a Hash,
    /// See [`HashedNode::key`].
    pub depth: usize,
    /// Keccak-256 of the encoding.
    pub hash: &'a Hash,
    /// The encoding.
    pub encoding: Vec<u8>,
}

/// The reference to a node in its parent: its hash, or the node itself if it is shorter.
#[derive(Clone, Debug)]
pub(super) enum NodeReference {
    Hash(Hash),
    Embedded(Vec<u8>),
}

/// A callback for each hashed node.
pub(super) type OnHashed<'a> = &'a mut dyn FnMut(HashedNode<'_>);

impl NodeReference {
    fn from_encoding(encoding: Vec<u8>, key: &Hash, depth: usize, made: OnHashed<'_>) -> Self {
        if encoding.len() < 32 {
            return Self::Embedded(encoding);
        }
        let hash = blockmill_hashes::keccak256(&encoding);
        made(HashedNode { key, depth, hash: &hash, encoding });
        Self::Hash(hash)
    }

    fn child(&self) -> Child<'_> {
        match self {
            Self::Hash(hash) => Child::Hash(hash),
            Self::Embedded(node) => Child::Embedded(node),
        }
    }
}

/// What the parent holds of a node, to which the first `depth` half-bytes of `path` lead; none of
/// one that is empty.
pub(super) fn reference(
    node: &mut Node,
    path: &mut Hash,
    depth: usize,
    made: OnHashed<'_>,
) -> Option<NodeReference> {
    let (kept, new) = match node {
        Node::Empty => return None,
        Node::Unread(hash) => return Some(NodeReference::Hash(*hash)),
        Node::Leaf(leaf) => {
            let Leaf { key, value, reference } = &mut **leaf;
            if reference.is_none() {
                let path = PathBuffer::new(key, depth..HALVES, true);
                let encoding = TrieNode::Leaf { path: path.path(), value }.encode();
                *reference = Some(NodeReference::from_encoding(encoding, key, depth, made));
            }
            return reference.clone();
        }
        Node::Extension(extension) => {
            if extension.reference.is_some() {
                return extension.reference.clone();
            }
            let Extension { key, end, child, .. } = &mut **extension;
            *path = *key;
            let child = reference(child, path, *end, made)?;
            let path = PathBuffer::new(key, depth..*end, false);
            let encoding = TrieNode::Extension { path: path.path(), child: child.child() }.encode();
            let new = NodeReference::from_encoding(encoding, key, depth, made);
            (&mut extension.reference, new)
        }
        Node::Branch(branch) => {
            if branch.reference.is_some() {
                return branch.reference.clone();
            }
            let mut references: [Option<NodeReference>; 16] = Default::default();
            for (half, (child, own)) in (0..).zip(branch.children.iter_mut().zip(&mut references)) {
                set_half(path, depth, half);
                *own = reference(child, path, depth + 1, made);
            }
            let children = references
                .each_ref()
                .map(|reference| reference.as_ref().map_or(Child::Empty, NodeReference::child));
            let encoding = TrieNode::Branch { children, value: &[] }.encode();
            (&mut branch.reference, NodeReference::from_encoding(encoding, path, depth, made))
        }
    };
    kept.insert(new).clone().into()
}

/// See [`super::SparseTrie::positions`].
pub(super) fn positions(
    node: &Node,
    key: &mut Hash,
    depth: usize,
    visit: &mut dyn FnMut(&Hash, usize),
) {
    let reference = match node {
        Node::Empty | Node::Unread(_) => return,
        Node::Leaf(leaf) => {
            *key = leaf.key;
            &leaf.reference
        }
        Node::Extension(extension) => {
            *key = extension.key;
            positions(&extension.child, key, extension.end, visit);
            &extension.reference
        }
        Node::Branch(branch) => {
            for (half, child) in (0..).zip(&branch.children) {
                set_half(key, depth, half);
                positions(child, key, depth + 1, visit);
            }
            &branch.reference
        }
    };
    if matches!(reference, Some(NodeReference::Hash(_))) {
        visit(key, depth);
    }
}
