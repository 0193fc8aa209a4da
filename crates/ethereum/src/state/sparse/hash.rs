//! Nodes written and hashed, and where those stand that have a hash.

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

/// What stands in the parent.
#[derive(Clone, Debug)]
pub(super) enum Name {
    Hash(Hash),
    Embedded(Vec<u8>),
}

/// Who is shown each node that is hashed.
pub(super) type Made<'a> = &'a mut dyn FnMut(HashedNode<'_>);

impl Name {
    fn of(encoding: Vec<u8>, key: &Hash, depth: usize, made: Made<'_>) -> Self {
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
pub(super) fn name(node: &mut Node, path: &mut Hash, depth: usize, made: Made<'_>) -> Option<Name> {
    let (kept, new) = match node {
        Node::Empty => return None,
        Node::Unread(hash) => return Some(Name::Hash(*hash)),
        Node::Leaf(leaf) => {
            let Leaf { key, value, name } = &mut **leaf;
            if name.is_none() {
                let path = PathBuffer::new(key, depth..HALVES, true);
                let encoding = TrieNode::Leaf { path: path.path(), value }.encode();
                *name = Some(Name::of(encoding, key, depth, made));
            }
            return name.clone();
        }
        Node::Extension(extension) => {
            if extension.name.is_some() {
                return extension.name.clone();
            }
            let Extension { key, end, child, .. } = &mut **extension;
            *path = *key;
            let child = name(child, path, *end, made)?;
            let path = PathBuffer::new(key, depth..*end, false);
            let encoding = TrieNode::Extension { path: path.path(), child: child.child() }.encode();
            let new = Name::of(encoding, key, depth, made);
            (&mut extension.name, new)
        }
        Node::Branch(branch) => {
            if branch.name.is_some() {
                return branch.name.clone();
            }
            let mut names: [Option<Name>; 16] = Default::default();
            for (half, (child, own)) in (0..).zip(branch.children.iter_mut().zip(&mut names)) {
                set_half(path, depth, half);
                *own = name(child, path, depth + 1, made);
            }
            let children =
                names.each_ref().map(|name| name.as_ref().map_or(Child::Empty, Name::child));
            let encoding = TrieNode::Branch { children, value: &[] }.encode();
            (&mut branch.name, Name::of(encoding, path, depth, made))
        }
    };
    kept.insert(new).clone().into()
}

/// See [`super::SparseTrie::places`].
pub(super) fn places(
    node: &Node,
    key: &mut Hash,
    depth: usize,
    visit: &mut dyn FnMut(&Hash, usize),
) {
    let name = match node {
        Node::Empty | Node::Unread(_) => return,
        Node::Leaf(leaf) => {
            *key = leaf.key;
            &leaf.name
        }
        Node::Extension(extension) => {
            *key = extension.key;
            places(&extension.child, key, extension.end, visit);
            &extension.name
        }
        Node::Branch(branch) => {
            for (half, child) in (0..).zip(&branch.children) {
                set_half(key, depth, half);
                places(child, key, depth + 1, visit);
            }
            &branch.name
        }
    };
    if matches!(name, Some(Name::Hash(_))) {
        visit(key, depth);
    }
}
