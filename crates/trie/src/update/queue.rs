//! Nodes that wait to be hashed together.
//!
//! A block alone is hashed as it is walked up, some hundred nodes at a time. Of a group of blocks
//! each node is kept with tickets in place of the hashes that are not known yet; when all blocks
//! are there, the nodes of all of them are hashed level by level ([`Deferred`]).

use super::error::Error;
use super::heap::Heap;
use super::node::{Form, Node, Reference, ticket};
use super::records::VALUE;
use super::visit::{ROOT, Visit};
use crate::codec::{BranchParts, Codec, LeafParts};
use crate::nibbles::nibble;

/// Nodes that are hashed together: so few that they stay in the nearest cache but one.
const BATCH: usize = 256;
/// Bytes of nodes after which they are hashed though they are fewer.
const BATCH_BYTES: usize = 256 << 10;
/// Bytes of a hash; a shorter node may stand in its parent itself.
const HASH: usize = 32;

/// Encoded nodes, back to back.
#[derive(Debug, Default)]
struct Column {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    hashes: Vec<[u8; 32]>,
}

impl Column {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn end(&mut self) {
        self.ends.push(self.bytes.len() as u32);
    }

    fn range(&self, at: usize) -> std::ops::Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start as usize..self.ends[at] as usize
    }

    fn hash(&mut self, codec: &impl Codec) {
        self.hashes.resize(self.ends.len(), [0; 32]);
        codec.hash_column(&self.bytes, &self.ends, &mut self.hashes);
    }
}

/// A node of the queue.
#[derive(Clone, Copy, Debug)]
struct Item {
    visit: u32,
    /// Half-bytes above it.
    depth: u8,
    is_root: bool,
    /// Half-bytes of a leaf's key that it does not hold itself.
    wrapped: u8,
    /// The leaf, if some are.
    leaf: Node,
}

/// A place in a column's bytes where the hash of a ticket is to stand.
#[derive(Clone, Copy, Debug)]
struct Hole {
    at: u32,
    ticket: u32,
}

/// What was hashed so far.
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
    holes: Vec<Hole>,
    /// Extensions above leaves that do not hold the rest of their key.
    wraps: Column,
    path: Vec<u8>,
    deferred: Option<Deferred>,
    pub hashed: Hashed,
}

impl<C: Codec> Queue<C> {
    pub fn new(codec: C) -> Self {
        Self {
            codec,
            column: Column::default(),
            items: vec![],
            holes: vec![],
            wraps: Column::default(),
            path: vec![],
            deferred: None,
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
        self.holes.clear();
        self.deferred = None;
    }

    fn push(&mut self, at: usize, visit: &Visit, leaf: Node, wrapped: usize) {
        self.column.end();
        self.items.push(Item {
            visit: at as u32,
            depth: visit.depth,
            is_root: visit.slot == ROOT,
            wrapped: wrapped as u8,
            leaf,
        });
    }

    #[inline]
    pub fn push_leaf(&mut self, at: usize, visit: &Visit, heap: &Heap) {
        let leaf = heap.leaf(visit.node);
        let tail = if leaf.tail { C::COMMON_TAIL } else { &[] };
        let depth = visit.depth as usize;
        let parts = LeafParts { key: leaf.key, depth, value: [leaf.stored, tail] };
        self.codec.leaf(&parts, &mut self.column.bytes);
        self.hashed.leaves += 1;
        let wrapped = if C::WRAPS_LEAVES { 2 * leaf.key.len() - depth } else { 0 };
        self.push(at, visit, visit.node, wrapped);
        if wrapped > 0 {
            self.wrap(leaf.key, depth);
        }
    }

    /// Writes the extension above a leaf, but for the leaf's hash.
    fn wrap(&mut self, key: &[u8], depth: usize) {
        self.path.clear();
        self.path.extend((depth..2 * key.len()).map(|at| nibble(key, at)));
        self.codec.extension(&self.path, &[0; 32], false, &mut self.wraps.bytes);
        self.wraps.end();
    }

    #[inline]
    pub fn push_branch(&mut self, at: usize, visit: &Visit, heap: &Heap) {
        let branch = heap.branch(visit.node);
        let head = branch.head;
        let mut value = [&[][..]; 2];
        if head.has(VALUE) && !C::WRAPS_LEAVES {
            let leaf = heap.leaf(branch.child(VALUE));
            value = [leaf.stored, if leaf.tail { C::COMMON_TAIL } else { &[] }];
        }
        let references = branch.references;
        let parts = BranchParts { mask: head.mask, inline: head.inline, references, value };
        if head.pending == 0 {
            self.codec.branch(&parts, &mut self.column.bytes, |_, _| {});
        } else {
            let holes = &mut self.holes;
            let note = |slot: usize, at: usize| {
                if head.pending >> slot & 1 == 1 {
                    let ticket = ticket(&references[head.rank(slot as u8)]) as u32;
                    holes.push(Hole { at: at as u32, ticket });
                }
            };
            self.codec.branch(&parts, &mut self.column.bytes, note);
        }
        self.note_pending(visit.node, head.pending != 0);
        self.hashed.branches += 1;
        self.push(at, visit, Node::NONE, 0);
    }

    pub fn push_extension(&mut self, at: usize, visit: &Visit, heap: &Heap) {
        let extension = heap.extension(visit.node);
        let Reference { bytes, form } = &extension.reference;
        let inline = *form == Form::Inline;
        self.codec.extension(extension.path, bytes, inline, &mut self.column.bytes);
        if *form == Form::Pending {
            let at = (self.column.bytes.len() - HASH) as u32;
            self.holes.push(Hole { at, ticket: ticket(bytes) as u32 });
        }
        self.note_pending(visit.node, *form == Form::Pending);
        self.hashed.branches += 1;
        self.push(at, visit, Node::NONE, 0);
    }

    fn note_pending(&mut self, node: Node, is_pending: bool) {
        if let Some(deferred) = self.deferred.as_mut().filter(|_| is_pending) {
            deferred.nodes.push(node);
        }
    }

    /// Hashes what waits, or puts it off, and gives the visits their references.
    #[inline]
    pub fn flush(&mut self, visits: &mut [Visit]) -> Result<(), Error> {
        if self.items.is_empty() {
            return Ok(());
        }
        self.hashed.bytes += (self.column.bytes.len() + self.wraps.bytes.len()) as u64;
        let done = match self.deferred.take() {
            Some(mut deferred) => {
                let done = self.put_off(&mut deferred, visits);
                self.deferred = Some(deferred);
                done
            }
            None => {
                self.hash_now(visits);
                Ok(())
            }
        };
        self.column.clear();
        self.wraps.clear();
        self.items.clear();
        self.holes.clear();
        done
    }

    fn hash_now(&mut self, visits: &mut [Visit]) {
        self.column.hash(&self.codec);
        for (i, item) in self.items.iter().enumerate() {
            let hash = self.column.hashes[i];
            let range = self.column.range(i);
            visits[item.visit as usize].reference =
                if C::INLINE && range.len() < HASH && !item.is_root {
                    Reference::inline(&self.column.bytes[range])
                } else {
                    Reference::hash(hash)
                };
        }
        if !self.wraps.ends.is_empty() {
            let wrapped = || self.items.iter().enumerate().filter(|(_, item)| item.wrapped > 0);
            for ((i, _), end) in wrapped().zip(&self.wraps.ends) {
                let end = *end as usize;
                self.wraps.bytes[end - HASH..end].copy_from_slice(&self.column.hashes[i]);
            }
            self.wraps.hash(&self.codec);
            for ((_, item), hash) in wrapped().zip(&self.wraps.hashes) {
                visits[item.visit as usize].reference = Reference::hash(*hash);
            }
        }
    }

    fn put_off(&mut self, deferred: &mut Deferred, visits: &mut [Visit]) -> Result<(), Error> {
        let (mut holes, mut wrap) = (&self.holes[..], 0);
        for (i, item) in self.items.iter().enumerate() {
            let range = self.column.range(i);
            let count = holes.partition_point(|hole| (hole.at as usize) < range.end);
            let (own, rest) = holes.split_at(count);
            holes = rest;
            let node = &self.column.bytes[range.clone()];
            let visit = &mut visits[item.visit as usize];
            if C::INLINE && node.len() < HASH && !item.is_root {
                visit.reference = Reference::inline(node);
                continue;
            }
            let own = own.iter().map(|hole| (hole.at as usize - range.start, hole.ticket));
            let level = if item.leaf == Node::NONE { Some(item.depth) } else { None };
            let mut ticket = deferred.add(level, node, own)?;
            if item.wrapped > 0 {
                let node = &self.wraps.bytes[self.wraps.range(wrap)];
                wrap += 1;
                let hole = (node.len() - HASH, ticket);
                ticket = deferred.add(Some(item.depth), node, [hole].into_iter())?;
            }
            visit.reference = Reference::pending(ticket);
        }
        Ok(())
    }

    /// From now on nodes are kept until [`take_deferred`](Self::take_deferred).
    pub fn defer(&mut self) {
        self.deferred.get_or_insert_default();
    }

    /// What was kept. From now on nodes are hashed at once again.
    pub fn take_deferred(&mut self) -> Deferred {
        self.deferred.take().unwrap_or_default()
    }
}

/// Nodes of several blocks that wait to be hashed.
#[derive(Debug, Default)]
pub struct Deferred {
    leaves: Level,
    /// Branches and extensions by the number of half-bytes above them: a child lies deeper than its
    /// parent, whichever block they are of.
    levels: Vec<Level>,
    tickets: u32,
    /// Branches and extensions that hold tickets, some of them no longer in use.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Level {
    column: Column,
    holes: Vec<Hole>,
    tickets: Vec<u32>,
}

impl Deferred {
    fn add(
        &mut self,
        level: Option<u8>,
        node: &[u8],
        holes: impl Iterator<Item = (usize, u32)>,
    ) -> Result<u32, Error> {
        let level = match level {
            None => &mut self.leaves,
            Some(depth) => {
                let depth = depth as usize;
                if self.levels.len() <= depth {
                    self.levels.resize_with(depth + 1, Level::default);
                }
                &mut self.levels[depth]
            }
        };
        let column = &mut level.column;
        let start = column.bytes.len();
        if start + node.len() > u32::MAX as usize || self.tickets == u32::MAX {
            return Err(Error::TooMany);
        }
        column.bytes.extend_from_slice(node);
        column.end();
        level.holes.extend(holes.map(|(at, ticket)| Hole { at: (start + at) as u32, ticket }));
        level.tickets.push(self.tickets);
        self.tickets += 1;
        Ok(self.tickets - 1)
    }

    /// The hashes of all tickets.
    pub fn hash(&mut self, codec: &impl Codec) -> Vec<[u8; 32]> {
        let mut hashes = vec![[0; 32]; self.tickets as usize];
        for level in [&mut self.leaves].into_iter().chain(self.levels.iter_mut().rev()) {
            for Hole { at, ticket } in &level.holes {
                let at = *at as usize;
                level.column.bytes[at..at + HASH].copy_from_slice(&hashes[*ticket as usize]);
            }
            level.column.hash(codec);
            for (ticket, hash) in level.tickets.iter().zip(&level.column.hashes) {
                hashes[*ticket as usize] = *hash;
            }
        }
        hashes
    }

    /// Replaces the tickets in the records of nodes by their hashes.
    pub fn settle(&self, heap: &mut Heap, hashes: &[[u8; 32]]) {
        use super::node::Kind;
        for node in &self.nodes {
            if node.kind() == Kind::Extension {
                let extension = heap.extension(*node);
                let (child, reference) = (extension.child, extension.reference);
                if reference.form == Form::Pending {
                    let hash = Reference::hash(hashes[ticket(&reference.bytes)]);
                    heap.set_extension_child(*node, child, &hash);
                }
                continue;
            }
            let mut branch = heap.branch_mut(*node);
            let mut pending = branch.head.pending;
            while pending != 0 {
                let slot = pending.trailing_zeros() as u8;
                pending &= pending - 1;
                let reference = &mut branch.references[branch.head.rank(slot)];
                *reference = hashes[ticket(reference)];
            }
            branch.head.pending = 0;
            branch.finish();
        }
    }
}
