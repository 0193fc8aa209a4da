//! The way up: from the last level to the first, each node applies the results of its children, and
//! is written and hashed.
//!
//! The references of the children are in their visits, so the record of a node is read once. A
//! branch that is left with one child is replaced by that child, with a longer path above it.

use super::error::Error;
use super::heap::Heap;
use super::node::{Form, Node, NodeKind, Reference};
use super::queue::Queue;
use super::records::{SLOTS, VALUE};
use super::visit::{Shape, Visit};
use crate::codec::Codec;

/// Number of visits in advance that records are prefetched, and their cache lines.
const AHEAD: usize = 4;
const LINES: usize = 10;

/// The way up of one block.
pub struct Ascent<'a, C> {
    pub heap: &'a mut Heap,
    pub visits: &'a mut [Visit],
    pub queue: &'a mut Queue<C>,
}

impl<C: Codec> Ascent<'_, C> {
    /// Ascends to the roots; `steps` are the steps of the descent.
    pub fn run(&mut self, steps: &[u32]) -> Result<(), Error> {
        let mut end = self.visits.len();
        for start in steps.iter().rev().map(|start| *start as usize) {
            for at in start..end {
                if let Some(ahead) = self.visits[at..end].get(AHEAD)
                    && ahead.shape == Shape::Branch
                {
                    self.heap.prefetch(ahead.node, LINES);
                }
                match self.visits[at].shape {
                    Shape::Branch => self.close_branch(at)?,
                    Shape::Extension => self.close_extension(at)?,
                    Shape::Kept | Shape::Gone | Shape::Leaf => {}
                }
                if self.queue.is_full() {
                    self.queue.flush(self.visits);
                }
            }
            self.queue.flush(self.visits);
            end = start;
        }
        Ok(())
    }

    #[inline]
    fn close_branch(&mut self, at: usize) -> Result<(), Error> {
        let Visit { node, first, count, .. } = self.visits[at];
        let below = &self.visits[first as usize..first as usize + count as usize];
        if node == Node::NONE {
            return self.reshape_branch(at);
        }
        let mut branch = self.heap.branch_mut(node);
        if !below.iter().all(|child| child.node != Node::NONE && branch.head.has(child.slot)) {
            return self.reshape_branch(at);
        }
        for child in below {
            branch.set(child.slot, child.node, &child.reference);
        }
        branch.finish();
        self.queue.push_branch(at, &mut self.visits[at], self.heap)
    }

    /// Closes a branch that is new, or that gained or lost children.
    fn reshape_branch(&mut self, at: usize) -> Result<(), Error> {
        let Visit { node, first, count, .. } = self.visits[at];
        let mut children = match node {
            Node::NONE => Default::default(),
            node => self.heap.children(node),
        };
        for child in &self.visits[first as usize..first as usize + count as usize] {
            children.nodes[child.slot as usize] = child.node;
            children.references[child.slot as usize] = child.reference;
        }
        match children.count() {
            0 => {
                self.heap.give_node(node);
                self.place(at, Shape::Gone, Node::NONE, Reference::default());
            }
            1 => {
                self.heap.give_node(node);
                let slots = &children.nodes[..SLOTS];
                let slot = slots.iter().position(|child| *child != Node::NONE).unwrap_or(0);
                let path = if slot == usize::from(VALUE) { &[][..] } else { &[slot as u8] };
                self.lengthen(at, path, children.nodes[slot], children.references[slot])?;
            }
            _ => {
                let node = self.heap.put_branch(node, &children)?;
                self.visits[at].node = node;
                self.queue.push_branch(at, &mut self.visits[at], self.heap)?;
            }
        }
        Ok(())
    }

    fn close_extension(&mut self, at: usize) -> Result<(), Error> {
        let Visit { node, first, count, .. } = self.visits[at];
        // without changes below it the extension itself is new
        let Some(child) = (count > 0).then(|| self.visits[first as usize]) else {
            return self.queue.push_extension(at, &mut self.visits[at], self.heap);
        };
        if child.node.kind() == NodeKind::Branch {
            self.heap.set_extension_child(node, child.node, &child.reference);
            return self.queue.push_extension(at, &mut self.visits[at], self.heap);
        }
        let path = self.heap.extension(node).path.to_vec();
        self.heap.give_node(node);
        self.lengthen(at, &path, child.node, child.reference)
    }

    /// Lets `child` with `path` above it take the place of a visit.
    fn lengthen(
        &mut self,
        at: usize,
        path: &[u8],
        child: Node,
        reference: Reference,
    ) -> Result<(), Error> {
        match child.kind() {
            NodeKind::None => self.place(at, Shape::Gone, Node::NONE, Reference::default()),
            NodeKind::Leaf => {
                self.place(at, Shape::Leaf, child, Reference::default());
                self.queue.push_leaf(at, &mut self.visits[at], self.heap)?;
            }
            NodeKind::Branch => {
                let node = self.heap.new_extension(path, child, &reference)?;
                self.place(at, Shape::Extension, node, Reference::default());
                self.queue.push_extension(at, &mut self.visits[at], self.heap)?;
            }
            NodeKind::Extension => {
                let below = self.heap.extension(child);
                let path = [path, below.path].concat();
                let (next, reference) = (below.child, below.reference);
                self.heap.give_node(child);
                let node = self.heap.new_extension(&path, next, &reference)?;
                self.place(at, Shape::Extension, node, Reference::default());
                self.queue.push_extension(at, &mut self.visits[at], self.heap)?;
            }
            NodeKind::Unknown => {
                debug_assert_eq!(reference.form, Form::Hash);
                return Err(Error::Unknown(reference.bytes));
            }
        }
        Ok(())
    }

    fn place(&mut self, at: usize, shape: Shape, node: Node, reference: Reference) {
        let visit = &mut self.visits[at];
        (visit.shape, visit.node, visit.reference) = (shape, node, reference);
    }
}
