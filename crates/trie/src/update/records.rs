//! The records of nodes, byte by byte (numbers are little endian; they never leave the process).
//!
//! ```text
//! leaf       u32: length of the key (8 bits), value ends with the common tail (1), length of the
//!            value without that tail (23); key; value without the tail
//! branch     u64: children (17 bits), inline ones (17), pending ones (17); for each child its
//!            node (u32); for each its reference (32 bytes)
//! extension  child (u32); form of its reference (u8); half-bytes (u8); 0 (u16); reference;
//!            half-bytes, one a byte
//! ```
//!
//! Child 16 of a branch is the leaf whose key ends there.

use super::error::Error;
use super::heap::Heap;
use super::node::{Form, Node, Reference};

/// Children of a branch at most, the value's place among them.
pub const SLOTS: usize = 17;
/// The slot of the leaf with a key that ends at the branch.
pub const VALUE: u8 = 16;
/// Bytes of a leaf's value at most, without its tail.
pub const LONGEST_VALUE: usize = (1 << 23) - 1;

const LEAF_HEAD: usize = 4;
const BRANCH_HEAD: usize = 8;
const EXTENSION_HEAD: usize = 40;
const TAIL: u32 = 1 << 8;
const MASK: u64 = (1 << SLOTS) - 1;

#[inline(always)]
fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
pub struct Leaf<'a> {
    pub key: &'a [u8],
    /// The value without its tail.
    pub stored: &'a [u8],
    /// True when the codec's common tail follows.
    pub tail: bool,
}

/// The children of a branch and the forms of their references: a bit for each slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub mask: u32,
    pub inline: u32,
    pub pending: u32,
}

impl Head {
    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        let bits = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let part = |at: usize| (bits >> (at * SLOTS) & MASK) as u32;
        Self { mask: part(0), inline: part(1), pending: part(2) }
    }

    #[inline(always)]
    fn write(self, bytes: &mut [u8]) {
        let [mask, inline, pending] = [self.mask, self.inline, self.pending].map(u64::from);
        let bits = mask | inline << SLOTS | pending << (2 * SLOTS);
        bytes[..BRANCH_HEAD].copy_from_slice(&bits.to_le_bytes());
    }

    /// Number of children.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.mask.count_ones() as usize
    }

    #[inline(always)]
    pub fn has(self, slot: u8) -> bool {
        self.mask >> slot & 1 == 1
    }

    /// The index of the child in `slot` among the children.
    #[inline(always)]
    pub fn rank(self, slot: u8) -> usize {
        (self.mask & ((1 << slot) - 1)).count_ones() as usize
    }

    /// Notes what the reference in `slot` is.
    #[inline(always)]
    pub fn set_form(&mut self, slot: u8, form: Form) {
        let bit = 1 << slot;
        self.inline = self.inline & !bit | u32::from(form == Form::Inline) << slot;
        self.pending = self.pending & !bit | u32::from(form == Form::Pending) << slot;
    }

    /// The form of the reference in `slot`.
    #[inline(always)]
    pub fn form(self, slot: u8) -> Form {
        if self.inline >> slot & 1 == 1 {
            Form::Inline
        } else if self.pending >> slot & 1 == 1 {
            Form::Pending
        } else {
            Form::Hash
        }
    }
}

/// A branch to be read.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'a> {
    pub head: Head,
    children: &'a [u8],
    /// References of 32 bytes, of the children that are there.
    pub references: &'a [[u8; 32]],
}

impl Branch<'_> {
    #[inline(always)]
    pub fn child(&self, slot: u8) -> Node {
        if self.head.has(slot) { self.child_at(self.head.rank(slot)) } else { Node::NONE }
    }

    /// The child with this index among those that are there.
    #[inline(always)]
    pub fn child_at(&self, index: usize) -> Node {
        Node::from_bits(number(&self.children[4 * index..]))
    }

    pub fn reference(&self, slot: u8) -> Reference {
        if !self.head.has(slot) {
            return Reference::default();
        }
        Reference { bytes: self.references[self.head.rank(slot)], form: self.head.form(slot) }
    }

    /// The slots that are taken.
    pub fn slots(&self) -> impl Iterator<Item = u8> + use<> {
        let mask = self.head.mask;
        (0..SLOTS as u8).filter(move |slot| mask >> slot & 1 == 1)
    }
}

/// A branch to be written.
pub struct BranchMut<'a> {
    head_bytes: &'a mut [u8],
    pub head: Head,
    children: &'a mut [u8],
    pub references: &'a mut [[u8; 32]],
}

impl BranchMut<'_> {
    /// Replaces a child that is there and its reference.
    #[inline(always)]
    pub fn set(&mut self, slot: u8, child: Node, reference: &Reference) {
        let index = self.head.rank(slot);
        self.children[4 * index..4 * index + 4].copy_from_slice(&child.bits().to_le_bytes());
        self.references[index] = reference.bytes;
        self.head.set_form(slot, reference.form);
    }

    /// Writes the head back.
    #[inline(always)]
    pub fn finish(self) {
        self.head.write(self.head_bytes);
    }
}

/// All children of a branch with room for those that it lacks.
#[derive(Clone, Debug, Default)]
pub struct Children {
    pub nodes: [Node; SLOTS],
    pub references: [Reference; SLOTS],
}

impl Children {
    pub fn count(&self) -> usize {
        self.nodes.iter().filter(|node| **node != Node::NONE).count()
    }
}

/// An extension to be read.
#[derive(Clone, Copy, Debug)]
pub struct Extension<'a> {
    pub child: Node,
    pub reference: Reference,
    /// Half-bytes, one a byte.
    pub path: &'a [u8],
}

fn branch_len(children: usize) -> usize {
    BRANCH_HEAD + 36 * children
}

impl Heap {
    #[inline(always)]
    pub fn leaf(&self, node: Node) -> Leaf<'_> {
        let bytes = self.at(node.place());
        let head = number(bytes);
        let (key_len, stored) = ((head & 0xff) as usize, (head >> 9) as usize);
        let (key, rest) = bytes[LEAF_HEAD..].split_at(key_len);
        Leaf { key, stored: &rest[..stored], tail: head & TAIL != 0 }
    }

    fn leaf_len(&self, node: Node) -> usize {
        let leaf = self.leaf(node);
        LEAF_HEAD + leaf.key.len() + leaf.stored.len()
    }

    /// A new leaf. The key has at most 255 bytes, the value without `tail` at most
    /// [`LONGEST_VALUE`].
    pub fn new_leaf(&mut self, key: &[u8], value: &[u8], tail: &[u8]) -> Result<Node, Error> {
        let (stored, has_tail) = split_tail(value, tail);
        let place = self.take(LEAF_HEAD + key.len() + stored.len())?;
        let node = Node::leaf(place);
        self.write_leaf(node, key, stored, has_tail);
        Ok(node)
    }

    fn write_leaf(&mut self, node: Node, key: &[u8], stored: &[u8], tail: bool) {
        let head = key.len() as u32 | if tail { TAIL } else { 0 } | (stored.len() as u32) << 9;
        let bytes = self.at_mut(node.place());
        bytes[..LEAF_HEAD].copy_from_slice(&head.to_le_bytes());
        let (key_place, rest) = bytes[LEAF_HEAD..].split_at_mut(key.len());
        key_place.copy_from_slice(key);
        rest[..stored.len()].copy_from_slice(stored);
    }

    /// Gives a leaf another value; it may move.
    #[inline]
    pub fn set_value(&mut self, node: Node, value: &[u8], tail: &[u8]) -> Result<Node, Error> {
        let (stored, has_tail) = split_tail(value, tail);
        let leaf = self.leaf(node);
        let (key_len, old) = (leaf.key.len(), LEAF_HEAD + leaf.key.len() + leaf.stored.len());
        let new = LEAF_HEAD + key_len + stored.len();
        if Self::same_size(old, new) {
            let head =
                key_len as u32 | if has_tail { TAIL } else { 0 } | (stored.len() as u32) << 9;
            let bytes = self.at_mut(node.place());
            bytes[..LEAF_HEAD].copy_from_slice(&head.to_le_bytes());
            bytes[LEAF_HEAD + key_len..][..stored.len()].copy_from_slice(stored);
            return Ok(node);
        }
        let mut key = [0; 256];
        key[..key_len].copy_from_slice(leaf.key);
        self.give(node.place(), old);
        let node = Node::leaf(self.take(new)?);
        self.write_leaf(node, &key[..key_len], stored, has_tail);
        Ok(node)
    }

    #[inline(always)]
    pub fn branch(&self, node: Node) -> Branch<'_> {
        let bytes = self.at(node.place());
        let head = Head::read(bytes);
        let (children, references) = bytes[BRANCH_HEAD..].split_at(4 * head.count());
        let references = &references.as_chunks().0[..head.count()];
        Branch { head, children, references }
    }

    #[inline(always)]
    pub fn branch_mut(&mut self, node: Node) -> BranchMut<'_> {
        let (head_bytes, rest) = self.at_mut(node.place()).split_at_mut(BRANCH_HEAD);
        let head = Head::read(head_bytes);
        let (children, references) = rest.split_at_mut(4 * head.count());
        let references = &mut references.as_chunks_mut().0[..head.count()];
        BranchMut { head_bytes, head, children, references }
    }

    /// All children of a branch.
    pub fn children(&self, node: Node) -> Children {
        let branch = self.branch(node);
        let mut all = Children::default();
        for slot in branch.slots() {
            all.nodes[slot as usize] = branch.child(slot);
            all.references[slot as usize] = branch.reference(slot);
        }
        all
    }

    /// Writes a branch, over `old` if that has the same size. Otherwise `old` is freed.
    pub fn put_branch(&mut self, old: Node, children: &Children) -> Result<Node, Error> {
        let count = children.count();
        let old_count = if old == Node::NONE { 0 } else { self.branch(old).head.count() };
        let node = if old_count == count {
            old
        } else {
            if old != Node::NONE {
                self.give(old.place(), branch_len(old_count));
            }
            Node::branch(self.take(branch_len(count))?)
        };
        let mut head = Head::default();
        for (slot, child) in children.nodes.iter().enumerate() {
            if *child != Node::NONE {
                head.mask |= 1 << slot;
                head.set_form(slot as u8, children.references[slot].form);
            }
        }
        head.write(self.at_mut(node.place()));
        let mut branch = self.branch_mut(node);
        for (slot, child) in children.nodes.iter().enumerate() {
            if *child != Node::NONE {
                branch.set(slot as u8, *child, &children.references[slot]);
            }
        }
        branch.finish();
        Ok(node)
    }

    #[inline(always)]
    pub fn extension(&self, node: Node) -> Extension<'_> {
        let bytes = self.at(node.place());
        let form = match bytes[4] {
            0 => Form::Hash,
            1 => Form::Inline,
            2 => Form::Pending,
            _ => Form::None,
        };
        let reference = bytes[8..].first_chunk().map_or([0; 32], |bytes| *bytes);
        Extension {
            child: Node::from_bits(number(bytes)),
            reference: Reference { bytes: reference, form },
            path: &bytes[EXTENSION_HEAD..][..bytes[5] as usize],
        }
    }

    /// A new extension; `path` has at most 255 half-bytes.
    pub fn new_extension(
        &mut self,
        path: &[u8],
        child: Node,
        reference: &Reference,
    ) -> Result<Node, Error> {
        let place = self.take(EXTENSION_HEAD + path.len())?;
        let bytes = self.at_mut(place);
        bytes[5] = path.len() as u8;
        bytes[EXTENSION_HEAD..][..path.len()].copy_from_slice(path);
        let node = Node::extension(place);
        self.set_extension_child(node, child, reference);
        Ok(node)
    }

    /// Gives an extension another child.
    pub fn set_extension_child(&mut self, node: Node, child: Node, reference: &Reference) {
        let bytes = self.at_mut(node.place());
        bytes[..4].copy_from_slice(&child.bits().to_le_bytes());
        bytes[4] = match reference.form {
            Form::Hash => 0,
            Form::Inline => 1,
            Form::Pending => 2,
            Form::None => 3,
        };
        bytes[8..EXTENSION_HEAD].copy_from_slice(&reference.bytes);
    }

    /// Frees the record of one node, but not its children.
    pub fn give_node(&mut self, node: Node) {
        use super::node::NodeKind;
        let len = match node.kind() {
            NodeKind::None | NodeKind::Unknown => return,
            NodeKind::Leaf => self.leaf_len(node),
            NodeKind::Branch => branch_len(self.branch(node).head.count()),
            NodeKind::Extension => EXTENSION_HEAD + self.extension(node).path.len(),
        };
        self.give(node.place(), len);
    }
}

/// A value without the common tail, if it ends with it.
#[inline(always)]
fn split_tail<'a>(value: &'a [u8], tail: &[u8]) -> (&'a [u8], bool) {
    match value.strip_suffix(tail) {
        Some(rest) if !tail.is_empty() => (rest, true),
        _ => (value, false),
    }
}
