//! Nodes of several blocks that are hashed together.
//!
//! A node is written when its block has changed it, with a ticket in place of each hash that is not
//! known yet. After the last block the nodes of all blocks are hashed level by level, and the
//! hashes replace the tickets.

use super::error::Error;
use super::heap::Heap;
use super::node::{Form, Node, NodeKind, Reference, ticket};
use super::queue::HASH;
use crate::codec::Codec;
use crate::codec::Column;

/// Nodes of one level.
#[derive(Debug, Default)]
pub struct Level {
    pub column: Column,
    /// The offset of the hash of each ticket in the bytes, and the ticket.
    pub holes: Vec<(u32, u32)>,
    tickets: Vec<u32>,
}

impl Level {
    /// The last bytes written are the pending reference `child`.
    pub fn hole_at_end(&mut self, child: &Reference) {
        let at = self.column.bytes.len() - HASH;
        self.holes.push((at as u32, ticket(&child.bytes) as u32));
    }
}

/// Nodes that wait to be hashed.
#[derive(Debug, Default)]
pub struct Deferred {
    leaves: Level,
    /// Branches and extensions by the number of nibbles above them: a child is deeper than its
    /// parent, whichever blocks they belong to.
    levels: Vec<Level>,
    tickets: u32,
    /// Branches and extensions that hold tickets, some of them no longer in use.
    nodes: Vec<Node>,
}

impl Deferred {
    /// Adds a leaf, or a node at a depth, which `write` appends to the bytes of its level; returns
    /// its reference.
    #[inline]
    pub fn add<C: Codec>(
        &mut self,
        depth: Option<usize>,
        is_root: bool,
        write: impl FnOnce(&mut Level),
    ) -> Result<Reference, Error> {
        let level = match depth {
            None => &mut self.leaves,
            Some(depth) => {
                if self.levels.len() <= depth {
                    self.levels.resize_with(depth + 1, Level::default);
                }
                &mut self.levels[depth]
            }
        };
        let start = level.column.bytes.len();
        write(level);
        let bytes = &mut level.column.bytes;
        if bytes.len() > u32::MAX as usize || self.tickets == u32::MAX {
            return Err(Error::TooMany);
        }
        if C::INLINE && !is_root && bytes.len() - start < HASH {
            let reference = Reference::inline(&bytes[start..]);
            bytes.truncate(start);
            return Ok(reference);
        }
        level.column.end();
        level.tickets.push(self.tickets);
        self.tickets += 1;
        Ok(Reference::pending(self.tickets - 1))
    }

    /// Notes a node that holds tickets.
    pub fn note(&mut self, node: Node, holds_tickets: bool) {
        if holds_tickets {
            self.nodes.push(node);
        }
    }

    /// Bytes of the nodes that wait.
    pub fn bytes(&self) -> usize {
        let levels = [&self.leaves].into_iter().chain(&self.levels);
        levels.map(|level| level.column.bytes.len()).sum()
    }

    /// The hashes of all tickets.
    pub fn hash(&mut self, codec: &impl Codec) -> Vec<[u8; 32]> {
        let mut hashes = vec![[0; 32]; self.tickets as usize];
        for level in [&mut self.leaves].into_iter().chain(self.levels.iter_mut().rev()) {
            for (at, ticket) in &level.holes {
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

    /// Replaces the tickets in the records of nodes by their hashes, and forgets all nodes.
    pub fn settle(&mut self, heap: &mut Heap, hashes: &[[u8; 32]]) {
        for node in self.nodes.drain(..) {
            if node.kind() == NodeKind::Extension {
                let extension = heap.extension(node);
                let (child, reference) = (extension.child, extension.reference);
                if reference.form == Form::Pending {
                    let hash = Reference::hash(hashes[ticket(&reference.bytes)]);
                    heap.set_extension_child(node, child, &hash);
                }
                continue;
            }
            let mut branch = heap.branch_mut(node);
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
        for level in [&mut self.leaves].into_iter().chain(&mut self.levels) {
            level.column.clear();
            level.holes.clear();
            level.tickets.clear();
        }
        self.tickets = 0;
    }
}
