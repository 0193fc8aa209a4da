//! Nodes that wait to be hashed together.
//!
//! The nodes of a single block are hashed during the ascent, some hundred at a time. The nodes of a
//! group of blocks wait until the last block ([`Deferred`]).

use super::deferred::{Deferred, Level};
use super::error::Error;
use super::heap::Heap;
use super::node::{Form, Reference, ticket};
use super::records::VALUE;
use super::visit::{ROOT, Visit};
use crate::codec::{BranchParts, Codec, Column, LeafParts};
use crate::nibbles::nibble;
use std::mem;

/// Nodes that are hashed together: so few that they stay in the nearest cache but one.
const BATCH: usize = 256;
/// Bytes of nodes after which they are hashed though they are fewer.
const BATCH_BYTES: usize = 256 << 10;
/// Bytes of a hash. A shorter node may be embedded in its parent.
pub const HASH: usize = 32;

/// A node of the queue.
#[derive(Clone, Copy, Debug)]
struct Item {
    visit: u32,
    is_root: bool,
    /// True for a leaf that does not hold the rest of its key.
    is_wrapped: bool,
}

/// Counts of hashed nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hashed {
    /// Leaves.
    pub leaves: u64,
    /// Branches and extensions.
    pub branches: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Nodes that wait to be hashed, and how they are.
#[derive(Debug)]
pub struct Queue<C> {
    pub codec: C,
    column: Column,
    items: Vec<Item>,
    /// Extensions above leaves that do not hold the rest of their key.
    wraps: Column,
    path: Vec<u8>,
    deferred: Option<Deferred>,
    /// The buffers of the last group.
    idle: Deferred,
    pub hashed: Hashed,
}

impl<C: Codec> Queue<C> {
    pub fn new(codec: C) -> Self {
        Self {
            codec,
            column: Column::default(),
            items: vec![],
            wraps: Column::default(),
            path: vec![],
            deferred: None,
            idle: Deferred::default(),
            hashed: Hashed::default(),
        }
    }

    pub fn is_full(&self) -> bool {
        self.items.len() >= BATCH || self.column.bytes.len() >= BATCH_BYTES
    }

    /// Bytes that it takes, without what was put off.
    pub fn bytes(&self) -> usize {
        let columns = [&self.column, &self.wraps];
        columns.iter().map(|column| column.bytes.capacity() + column.ends.capacity() * 36).sum()
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.column.clear();
        self.wraps.clear();
        self.items.clear();
        self.deferred = None;
    }

    /// Adds a leaf. If hashing is deferred, the visit has its reference at once.
    #[inline]
    pub fn push_leaf(&mut self, at: usize, visit: &mut Visit, heap: &Heap) -> Result<(), Error> {
        let leaf = heap.leaf(visit.node);
        let tail = if leaf.tail { C::COMMON_TAIL } else { &[] };
        let depth = visit.depth as usize;
        let parts = LeafParts { key: leaf.key, depth, value: [leaf.stored, tail] };
        let is_wrapped = C::WRAPS_LEAVES && depth < 2 * leaf.key.len();
        if is_wrapped {
            self.path.clear();
            self.path.extend((depth..2 * leaf.key.len()).map(|at| nibble(leaf.key, at)));
        }
        self.hashed.leaves += 1;
        let is_root = visit.slot == ROOT;
        let Self { codec, deferred, column, path, hashed, .. } = self;
        if let Some(deferred) = deferred {
            let write = |level: &mut Level| codec.leaf(&parts, &mut level.column.bytes);
            visit.reference = deferred.add::<C>(None, is_root, write)?;
            if is_wrapped {
                let leaf = visit.reference;
                let write = |level: &mut Level| {
                    codec.extension(path, &leaf.bytes, false, &mut level.column.bytes);
                    level.hole_at_end(&leaf);
                };
                visit.reference = deferred.add::<C>(Some(depth), is_root, write)?;
            }
            return Ok(());
        }
        let start = column.bytes.len();
        codec.leaf(&parts, &mut column.bytes);
        hashed.bytes += (column.bytes.len() - start) as u64;
        if is_wrapped {
            // the hash of the leaf comes at the end
            codec.extension(path, &[0; 32], false, &mut self.wraps.bytes);
            self.wraps.end();
        }
        self.push(at, is_root, is_wrapped);
        Ok(())
    }

    fn push(&mut self, at: usize, is_root: bool, is_wrapped: bool) {
        self.column.end();
        self.items.push(Item { visit: at as u32, is_root, is_wrapped });
    }

    /// Adds a branch; its children have their references.
    #[inline]
    pub fn push_branch(&mut self, at: usize, visit: &mut Visit, heap: &Heap) -> Result<(), Error> {
        let branch = heap.branch(visit.node);
        let head = branch.head;
        let mut value = [&[][..]; 2];
        if head.has(VALUE) && !C::WRAPS_LEAVES {
            let leaf = heap.leaf(branch.child(VALUE));
            value = [leaf.stored, if leaf.tail { C::COMMON_TAIL } else { &[] }];
        }
        let references = branch.references;
        let parts = BranchParts { mask: head.mask, inline: head.inline, references, value };
        let is_root = visit.slot == ROOT;
        self.hashed.branches += 1;
        let Self { codec, deferred, column, hashed, .. } = self;
        if let Some(deferred) = deferred {
            let write = |level: &mut Level| {
                let Level { column, holes, .. } = level;
                codec.branch(&parts, &mut column.bytes, |slot, at| {
                    if head.pending >> slot & 1 == 1 {
                        let ticket = ticket(&references[head.rank(slot as u8)]);
                        holes.push((at as u32, ticket as u32));
                    }
                });
            };
            visit.reference = deferred.add::<C>(Some(visit.depth.into()), is_root, write)?;
            deferred.note(visit.node, head.pending != 0);
            return Ok(());
        }
        let start = column.bytes.len();
        codec.branch(&parts, &mut column.bytes, |_, _| {});
        hashed.bytes += (column.bytes.len() - start) as u64;
        self.push(at, is_root, false);
        Ok(())
    }

    /// Adds an extension; its child has its reference.
    pub fn push_extension(
        &mut self,
        at: usize,
        visit: &mut Visit,
        heap: &Heap,
    ) -> Result<(), Error> {
        let extension = heap.extension(visit.node);
        let child = extension.reference;
        let inline = child.form == Form::Inline;
        let is_root = visit.slot == ROOT;
        self.hashed.branches += 1;
        let Self { codec, deferred, column, .. } = self;
        if let Some(deferred) = deferred {
            let write = |level: &mut Level| {
                codec.extension(extension.path, &child.bytes, inline, &mut level.column.bytes);
                if child.form == Form::Pending {
                    level.hole_at_end(&child);
                }
            };
            visit.reference = deferred.add::<C>(Some(visit.depth.into()), is_root, write)?;
            deferred.note(visit.node, child.form == Form::Pending);
            return Ok(());
        }
        codec.extension(extension.path, &child.bytes, inline, &mut column.bytes);
        self.push(at, is_root, false);
        Ok(())
    }

    /// Hashes the waiting nodes and sets the references of the visits.
    #[inline]
    pub fn flush(&mut self, visits: &mut [Visit]) {
        if self.items.is_empty() {
            return;
        }
        self.column.hash(&self.codec);
        for (i, item) in self.items.iter().enumerate() {
            let range = self.column.range(i);
            let reference = &mut visits[item.visit as usize].reference;
            *reference = if C::INLINE && range.len() < HASH && !item.is_root {
                Reference::inline(&self.column.bytes[range])
            } else {
                Reference::hash(self.column.hashes[i])
            };
        }
        if !self.wraps.ends.is_empty() {
            let wrapped = || self.items.iter().enumerate().filter(|(_, item)| item.is_wrapped);
            for ((i, _), end) in wrapped().zip(&self.wraps.ends) {
                let end = *end as usize;
                self.wraps.bytes[end - HASH..end].copy_from_slice(&self.column.hashes[i]);
            }
            self.wraps.hash(&self.codec);
            for ((_, item), hash) in wrapped().zip(&self.wraps.hashes) {
                visits[item.visit as usize].reference = Reference::hash(*hash);
            }
            self.wraps.clear();
        }
        self.column.clear();
        self.items.clear();
    }

    /// From now on nodes are put off, until [`hash_deferred`](Self::hash_deferred).
    pub fn defer(&mut self) {
        if self.deferred.is_none() {
            self.deferred = Some(mem::take(&mut self.idle));
        }
    }

    /// Hashes the deferred nodes and returns the hashes of all tickets. Later nodes are hashed at
    /// once again.
    pub fn hash_deferred(&mut self, heap: &mut Heap) -> Vec<[u8; 32]> {
        let mut deferred = self.deferred.take().unwrap_or_default();
        self.hashed.bytes += deferred.bytes() as u64;
        let hashes = deferred.hash(&self.codec);
        deferred.settle(heap, &hashes);
        self.idle = deferred;
        hashes
    }
}
