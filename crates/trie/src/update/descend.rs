//! The way down: all keys of a block descend together, one node a step.
//!
//! A visit is a node with the changes below it. Opening it finds the visits of the next step and
//! prefetches their records, so that the cache misses of a step overlap. Values are written, and
//! leaves created and removed, during the descent; branches and extensions change on the way up
//! (`ascend`), when the results of their children are known.

use super::batch::{Batch, slot_of};
use super::error::Error;
use super::heap::Heap;
use super::node::{Node, NodeKind, Reference};
use super::queue::Queue;
use super::records::VALUE;
use super::visit::{ROOT, Shape, Visit};
use super::{Trie, Update};
use crate::codec::Codec;
use crate::nibbles::common_prefix;

/// Cache lines of a record that are prefetched: the head and the children of a branch, or a leaf.
const LINES: usize = 2;

/// The way down of one block.
pub struct Descent<'a, C> {
    pub heap: &'a mut Heap,
    pub visits: &'a mut Vec<Visit>,
    pub batch: &'a Batch,
    pub updates: &'a [Update<'a>],
    pub queue: &'a mut Queue<C>,
}

impl<C: Codec> Descent<'_, C> {
    /// Walks down from the roots. Each number of `steps` is the first visit of a step.
    pub fn run(&mut self, tries: &[Trie], steps: &mut Vec<u32>) -> Result<(), Error> {
        self.visits.clear();
        steps.clear();
        let order = &self.batch.order;
        let mut from = 0;
        while from < order.len() {
            let trie = order[from].trie;
            let to = from + order[from..].partition_point(|entry| entry.trie == trie);
            let Trie { node, reference, start } = tries[trie as usize];
            let range = from as u32..to as u32;
            self.push(node, reference, range, ROOT, start.into());
            from = to;
        }
        let mut from = 0;
        while from < self.visits.len() {
            let to = self.visits.len();
            steps.push(from as u32);
            for at in from..to {
                self.open(at)?;
                if self.queue.is_full() {
                    self.queue.flush(self.visits);
                }
            }
            from = to;
        }
        self.queue.flush(self.visits);
        Ok(())
    }

    fn push(
        &mut self,
        node: Node,
        reference: Reference,
        changes: std::ops::Range<u32>,
        slot: u8,
        depth: usize,
    ) {
        self.heap.prefetch(node, LINES);
        self.visits.push(Visit {
            node,
            from: changes.start,
            to: changes.end,
            slot,
            depth: depth as u8,
            reference,
            ..Visit::default()
        });
    }

    #[inline(always)]
    fn update(&self, at: u32) -> &Update<'_> {
        &self.updates[self.batch.order[at as usize].index as usize]
    }

    /// The changes of `range` with the same slot as the first.
    #[inline(always)]
    fn same_slot(&self, range: std::ops::Range<u32>, depth: usize) -> (u8, u32) {
        let slot = self.batch.slot(range.start, depth, self.updates);
        let mut to = range.start + 1;
        while to < range.end && self.batch.slot(to, depth, self.updates) == slot {
            to += 1;
        }
        (slot, to)
    }

    fn open(&mut self, at: usize) -> Result<(), Error> {
        let visit = self.visits[at];
        let is_empty = visit.from == visit.to;
        self.visits[at].first = self.visits.len() as u32;
        match visit.node.kind() {
            NodeKind::None => self.grow(at, Node::NONE)?,
            NodeKind::Leaf => self.open_leaf(at)?,
            NodeKind::Extension => self.open_extension(at)?,
            NodeKind::Branch if !is_empty => self.open_branch(at),
            NodeKind::Unknown if !is_empty => return Err(Error::Unknown(visit.reference.bytes)),
            NodeKind::Branch | NodeKind::Unknown => {}
        }
        self.visits[at].count = (self.visits.len() as u32 - self.visits[at].first) as u8;
        Ok(())
    }

    #[inline]
    fn open_branch(&mut self, at: usize) {
        let Visit { node, mut from, to, depth, .. } = self.visits[at];
        let depth = depth as usize;
        self.visits[at].shape = Shape::Branch;
        while from < to {
            let (slot, end) = self.same_slot(from..to, depth);
            let branch = self.heap.branch(node);
            let child = branch.child(slot);
            // only the hash of an unknown node is needed; the other lines are not fetched
            let reference = match child.kind() {
                NodeKind::Unknown => branch.reference(slot),
                _ => Reference::default(),
            };
            self.push(child, reference, from..end, slot, below(depth, slot));
            from = end;
        }
    }

    #[inline]
    fn open_leaf(&mut self, at: usize) -> Result<(), Error> {
        let Visit { node, from, to, .. } = self.visits[at];
        if to == from + 1 {
            let update = self.update(from);
            if update.key == self.heap.leaf(node).key {
                let Some(value) =
                    self.updates[self.batch.order[from as usize].index as usize].value
                else {
                    self.heap.give_node(node);
                    self.finish(at, Shape::Gone, Node::NONE);
                    return Ok(());
                };
                let node = self.heap.set_value(node, value, C::COMMON_TAIL)?;
                return self.put_leaf(at, node);
            }
        }
        // a change of this key replaces the leaf; the others are next to it
        let key = self.heap.leaf(node).key;
        let leaf = if (from..to).any(|at| self.update(at).key == key) {
            self.heap.give_node(node);
            Node::NONE
        } else {
            node
        };
        self.grow(at, leaf)
    }

    fn finish(&mut self, at: usize, shape: Shape, node: Node) {
        let visit = &mut self.visits[at];
        (visit.shape, visit.node) = (shape, node);
        if shape == Shape::Gone {
            visit.reference = Reference::default();
        }
    }

    fn put_leaf(&mut self, at: usize, node: Node) -> Result<(), Error> {
        self.finish(at, Shape::Leaf, node);
        self.queue.push_leaf(at, &mut self.visits[at], self.heap)
    }

    /// Opens a visit with no node, or only `leaf`, whose key is not among the changes.
    fn grow(&mut self, at: usize, leaf: Node) -> Result<(), Error> {
        let visit = self.visits[at];
        let is_insert = |at: &u32| self.update(*at).value.is_some();
        // what is deleted here is not there
        let first = (visit.from..visit.to).find(is_insert);
        let last = (visit.from..visit.to).rev().find(is_insert);
        let (Some(first), Some(last)) = (first, last) else {
            if leaf != Node::NONE {
                return self.put_leaf(at, leaf);
            }
            self.finish(at, Shape::Gone, Node::NONE);
            return Ok(());
        };
        if first == last && leaf == Node::NONE {
            let update = &self.updates[self.batch.order[first as usize].index as usize];
            let value = update.value.unwrap_or_default();
            let node = self.heap.new_leaf(update.key, value, C::COMMON_TAIL)?;
            return self.put_leaf(at, node);
        }
        (self.visits[at].from, self.visits[at].to) = (first, last + 1);
        let (low, high) = (self.update(first).key, self.update(last).key);
        let shared = if leaf == Node::NONE {
            common_prefix(low, high)
        } else {
            let key = self.heap.leaf(leaf).key;
            common_prefix(low.min(key), high.max(key))
        };
        let depth = visit.depth as usize;
        if shared > depth {
            let low = self.update(first).key;
            let path: Vec<u8> = (depth..shared).map(|at| slot_of(low, at)).collect();
            let node = self.heap.new_extension(&path, Node::NONE, &Reference::default())?;
            self.finish(at, Shape::Extension, node);
            self.push(leaf, Reference::default(), first..last + 1, 0, shared);
        } else {
            self.finish(at, Shape::Branch, Node::NONE);
            let at_slot = (leaf != Node::NONE).then(|| slot_of(self.heap.leaf(leaf).key, depth));
            self.part(first..last + 1, depth, at_slot, leaf, 0, Reference::default());
        }
        Ok(())
    }

    /// Creates the visits of the children of a new branch: for the changes of `range`, and for the
    /// old node, which moves below `old_slot`.
    fn part(
        &mut self,
        range: std::ops::Range<u32>,
        depth: usize,
        mut old_slot: Option<u8>,
        old: Node,
        skip: u8,
        reference: Reference,
    ) {
        let mut from = range.start;
        while from < range.end {
            let (slot, to) = self.same_slot(from..range.end, depth);
            if old_slot == Some(slot) {
                old_slot = None;
                self.push(old, reference, from..to, slot, below(depth, slot));
                self.set_skip(skip);
            } else if (from..to).any(|at| self.update(at).value.is_some()) {
                self.push(Node::NONE, Reference::default(), from..to, slot, below(depth, slot));
            }
            from = to;
        }
        if let Some(slot) = old_slot {
            self.push(old, reference, from..from, slot, below(depth, slot));
            self.set_skip(skip);
        }
    }

    /// Sets the skip of the visit that was pushed last.
    fn set_skip(&mut self, skip: u8) {
        if let Some(visit) = self.visits.last_mut() {
            visit.skip = skip;
        }
    }

    #[cold]
    fn open_extension(&mut self, at: usize) -> Result<(), Error> {
        let Visit { node, from, to, depth, skip, .. } = self.visits[at];
        let (depth, skip) = (depth as usize, skip as usize);
        let extension = self.heap.extension(node);
        let (child, reference) = (extension.child, extension.reference);
        let path = extension.path[skip..].to_vec();
        let matched = |at: u32| {
            let key = self.update(at).key;
            let same = |(i, half): &(usize, &u8)| slot_of(key, depth + i) == **half;
            path.iter().enumerate().take_while(same).count()
        };
        let inserts = (from..to).filter(|at| self.update(*at).value.is_some());
        let shared = inserts.map(matched).min().unwrap_or(path.len());
        // what does not match so far is deleted and not there
        let first = (from..to).find(|at| matched(*at) >= shared).unwrap_or(to);
        let end = (first..to).rev().find(|at| matched(*at) >= shared).map_or(first, |at| at + 1);
        let within = first..end;
        if shared == path.len() {
            if skip > 0 {
                let shorter = self.heap.new_extension(&path, child, &reference)?;
                self.heap.give_node(node);
                self.visits[at].node = shorter;
            }
            self.visits[at].shape = Shape::Extension;
            if !within.is_empty() {
                self.push(child, reference, within, 0, depth + path.len());
            }
        } else if shared > 0 {
            let upper =
                self.heap.new_extension(&path[..shared], Node::NONE, &Reference::default())?;
            self.finish(at, Shape::Extension, upper);
            self.push(node, Reference::default(), within, 0, depth + shared);
            self.set_skip((skip + shared) as u8);
        } else {
            self.finish(at, Shape::Branch, Node::NONE);
            let slot = Some(path[0]);
            if path.len() == 1 {
                self.heap.give_node(node);
                self.part(from..to, depth, slot, child, 0, reference);
            } else {
                let skip = (skip + 1) as u8;
                self.part(from..to, depth, slot, node, skip, Reference::default());
            }
        }
        Ok(())
    }
}

/// The depth of a child. A leaf whose key ends at the branch is not deeper than the branch.
#[inline(always)]
fn below(depth: usize, slot: u8) -> usize {
    depth + usize::from(slot != VALUE)
}
