//! The places of the tries to which the keys of a block lead.

use super::node::{Node, Reference};

/// What a visit leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The node as it was, with the reference that it had.
    #[default]
    Kept,
    /// No node.
    Gone,
    /// A leaf, which is encoded and hashed when it is met.
    Leaf,
    /// What its children's visits make of the branch, or of a new one.
    Branch,
    /// What its child's visit makes of the extension.
    Extension,
}

/// A place of a trie: first what hangs there, in the end what hangs there then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visit {
    pub node: Node,
    /// The changes below it, by their order.
    pub from: u32,
    pub to: u32,
    /// Visits of the children to which changes lead, one after the other.
    pub first: u32,
    pub count: u8,
    /// Where it hangs in its parent's branch; [`ROOT`] for the first node of a trie.
    pub slot: u8,
    /// Half-bytes above it.
    pub depth: u8,
    /// Half-bytes of the extension `node` that lie above it.
    pub skip: u8,
    pub shape: Shape,
    pub reference: Reference,
}

/// The slot of a trie's first node.
pub const ROOT: u8 = 0xff;
