//! A branch node that grows while its children arrive in key order.

use blockmill_rlp::ethereum::{Child, TrieNode};
use std::array;

/// The reference of a parent to a node: its hash, or the node itself if that is shorter than 32
/// bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference {
    bytes: [u8; 32],
    /// 32 for a hash, 0 for no node.
    len: u8,
}

impl Reference {
    /// Names a node of 32 bytes or more by its Keccak-256.
    pub fn hash(hash: [u8; 32]) -> Self {
        Self { bytes: hash, len: 32 }
    }

    /// Creates the reference to the encoded `node`; `hash` is its Keccak-256, which is not used for
    /// a short node.
    pub fn new(node: &[u8], hash: [u8; 32]) -> Self {
        if node.len() >= 32 {
            return Self::hash(hash);
        }
        let mut bytes = [0; 32];
        bytes[..node.len()].copy_from_slice(node);
        Self { bytes, len: node.len() as u8 }
    }

    /// Names the encoded `node`.
    pub fn of(node: &[u8]) -> Self {
        let hash = if node.len() >= 32 { blockmill_hashes::keccak256(node) } else { [0; 32] };
        Self::new(node, hash)
    }

    /// The reference as a part of the parent.
    pub fn child(&self) -> Child<'_> {
        match self.len {
            0 => Child::Empty,
            32 => Child::Hash(&self.bytes),
            len => Child::Embedded(&self.bytes[..usize::from(len)]),
        }
    }
}

/// A branch that is not complete: later children follow. Its buffers are reused.
#[derive(Default)]
pub struct Branch {
    /// Half-bytes that all keys below it share.
    pub depth: usize,
    children: [Reference; 16],
    /// The value of the key that ends here; empty without one.
    value: Vec<u8>,
}

impl Branch {
    /// Starts over as a branch without children at `depth`.
    pub fn reset(&mut self, depth: usize) {
        self.depth = depth;
        self.children = Default::default();
        self.value.clear();
    }

    /// Sets the value of the key that ends at this branch.
    pub fn set_value(&mut self, value: &[u8]) {
        self.value.extend_from_slice(value);
    }

    /// Sets the child under `nibble`.
    pub fn set(&mut self, nibble: u8, child: Reference) {
        self.children[usize::from(nibble)] = child;
    }

    /// The children so far.
    pub fn children(&self) -> &[Reference; 16] {
        &self.children
    }

    /// Sets the `children` that exist.
    pub fn set_all(&mut self, children: &[Reference; 16]) {
        for (mine, child) in self.children.iter_mut().zip(children) {
            if child.len > 0 {
                *mine = *child;
            }
        }
    }

    /// The node, all children being there.
    pub fn node(&self) -> TrieNode<'_> {
        let children = array::from_fn(|nibble| self.children[nibble].child());
        TrieNode::Branch { children, value: &self.value }
    }
}
