//! Decodes nodes.

use super::{Branch, Extension, HALVES, Node, NodeReference, Nodes, leaf, set_half};
use crate::Hash;
use crate::state::StateError;
use crate::state::nodes::bad;
use blockmill_rlp::Decode;
use blockmill_rlp::ethereum::{Child, TrieNode};

/// Reads the node with this hash; `key` leads to it.
pub(super) fn read(
    hash: &Hash,
    depth: usize,
    key: &Hash,
    nodes: &dyn Nodes,
) -> Result<Node, StateError> {
    let node =
        decode(&nodes.node(hash, key, depth)?, depth, key).map_err(|error| bad(hash, error))?;
    Ok(with_reference(node, NodeReference::Hash(*hash)))
}

/// Decodes a node, which is `depth` half-bytes below the root.
fn decode(raw: &[u8], depth: usize, key: &Hash) -> Result<Node, blockmill_rlp::Error> {
    let too_long = || blockmill_rlp::Error {
        offset: 0,
        kind: blockmill_rlp::ErrorKind::WrongLength { expected: HALVES, found: HALVES + 1 },
    };
    let along = |path: &blockmill_rlp::ethereum::Path<'_>| {
        let mut whole = *key;
        let end = depth + path.len();
        if end > HALVES || (path.is_leaf() && end != HALVES) || path.is_empty() && !path.is_leaf() {
            return Err(too_long());
        }
        for (at, value) in (depth..).zip(path.nibbles()) {
            set_half(&mut whole, at, value);
        }
        Ok((whole, end))
    };
    Ok(match TrieNode::decode(raw)? {
        TrieNode::Leaf { path, value } => leaf(&along(&path)?.0, value.to_vec()),
        TrieNode::Extension { path, child } => {
            let (key, end) = along(&path)?;
            let child = below(&child, end, &key)?;
            Node::Extension(Box::new(Extension { key, end, child, reference: None }))
        }
        TrieNode::Branch { children, .. } => {
            if depth >= HALVES {
                return Err(too_long());
            }
            let mut nodes: [Node; 16] = Default::default();
            for (at, (node, child)) in nodes.iter_mut().zip(&children).enumerate() {
                let mut path = *key;
                set_half(&mut path, depth, at as u8);
                *node = below(child, depth + 1, &path)?;
            }
            Node::Branch(Box::new(Branch { children: nodes, reference: None }))
        }
    })
}

fn below(child: &Child<'_>, depth: usize, key: &Hash) -> Result<Node, blockmill_rlp::Error> {
    match child {
        Child::Empty => Ok(Node::Empty),
        Child::Hash(hash) => Ok(Node::Unread(**hash)),
        Child::Embedded(raw) => decode(raw, depth, key),
    }
}

fn with_reference(mut node: Node, reference: NodeReference) -> Node {
    match &mut node {
        Node::Leaf(leaf) => leaf.reference = Some(reference),
        Node::Extension(extension) => extension.reference = Some(reference),
        Node::Branch(branch) => branch.reference = Some(reference),
        Node::Empty | Node::Unread(_) => {}
    }
    node
}
