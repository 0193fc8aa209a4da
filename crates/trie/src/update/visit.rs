//! The places of the tries to which the keys of a block lead.

use super::node::{Node, Reference};

/// The result of a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The node as it was, with the reference that it had.
    #[default]
    Kept,
    /// No node.
    Gone,
    /// A leaf, which is encoded and hashed when it is met.
    Leaf,
    /// A branch, built from the results of the visits of its children.
    Branch,
    /// An extension, built from the result of the visit of its child.
    Extension,
}

/// A position in a trie: at first its old node, at the end its new one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    pub node: Node,
    /// The changes below it, by their order.
    pub from: u32,
    pub to: u32,
    /// Visits of the children to which changes lead, one after the other.
    pub first: u32,
    pub count: u8,
    /// The slot in the parent's branch; [`ROOT`] for the first node of a trie.
    pub slot: u8,
    /// Half-bytes above it.
    pub depth: u8,
    /// Number of nibbles of the extension `node` above this position.
    pub skip: u8,
    pub shape: Shape,
    pub reference: Reference,
}

/// The slot of a trie's first node.
pub const ROOT: u8 = 0xff;
