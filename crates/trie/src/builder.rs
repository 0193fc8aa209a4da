//! Computes the root of a trie from its leaves in key order.
//!
//! The position of a leaf depends only on the keys before and after it: its parent is the branch at
//! the longer of the two prefixes that it shares with them. So the leaves are encoded and hashed
//! first, several at once, and then added to the open branches on the path from the root to the
//! current key. A branch closes when a key no longer passes through it. At most one branch with its
//! children for each nibble of a key and [`BATCH`] leaves are in memory, for any size of the trie.
//! A closed branch is hashed when its parent closes, so that the children of one parent are hashed
//! together.

use crate::EMPTY_ROOT;
use crate::branch::{Branch, Reference};
use crate::nibbles::{MAX_KEY, common_prefix, nibble};
use crate::part::Hung;
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::{PathBuffer, TrieNode};
use std::mem;

/// Leaves that are hashed together.
const BATCH: usize = 32;

/// Encoded leaves are hashed as soon as they take this many bytes together, so that the queue
/// stays in the cache.
const BATCH_BYTES: usize = 64 << 10;

/// A leaf with a longer value, in bytes, is hashed alone: it takes so many blocks of 136 bytes that
/// the lanes of the other leaves would be idle. Of 8, 12, 18 and 24 blocks, 12 was the fastest on
/// mainnet blocks.
const LONG: usize = 12 * 136;

/// Fewer branches than this are hashed one after the other, which is faster than lanes that are
/// mostly idle.
const FEW: usize = 3;

/// Bytes of a leaf besides its key and its value, at most.
const PREFIXES: usize = 16;

/// Bytes of a branch of sixteen hashes without a value.
const FULL_BRANCH: usize = 3 + 16 * 33 + 1;

/// A leaf that waits for its hash.
struct Leaf {
    key: [u8; MAX_KEY],
    key_len: usize,
    /// Depth of the branch that holds the leaf; `None` for the only leaf of a trie.
    parent: Option<usize>,
    /// Half-bytes shared with the next key; `None` after the last one.
    shared_after: Option<usize>,
    /// The hash of a long node, which is not in the queue any more.
    hash: Option<[u8; 32]>,
}

impl Leaf {
    fn key(&self) -> &[u8] {
        &self.key[..self.key_len]
    }

    /// Whether the next key continues where this one ends.
    fn ends_at_parent(&self) -> bool {
        self.parent == Some(2 * self.key_len)
    }
}

/// The leaves that are hashed together next.
#[derive(Default)]
struct Queue {
    leaves: Vec<Leaf>,
    /// The node of each leaf, back to back; only the value if the key ends at its parent.
    nodes: Vec<u8>,
    /// The end of each node.
    ends: Vec<u32>,
    hashes: Vec<[u8; 32]>,
}

impl Queue {
    fn clear(&mut self) {
        self.leaves.clear();
        self.nodes.clear();
        self.ends.clear();
    }

    /// Node `i`.
    fn node(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.nodes[start as usize..self.ends[i] as usize]
    }
}

/// Closed branches that are hashed together next.
#[derive(Default)]
struct Closed {
    /// The parent of each, by its place among the open branches, and the half-byte under which it
    /// hangs there.
    places: Vec<(usize, u8)>,
    /// The nodes, back to back.
    nodes: Vec<u8>,
    /// The end of each node.
    ends: Vec<u32>,
    hashes: Vec<[u8; 32]>,
}

impl Closed {
    fn clear(&mut self) {
        self.places.clear();
        self.nodes.clear();
        self.ends.clear();
    }
}

/// Computes trie roots, one after the other, in buffers that it keeps.
///
/// ```
/// use blockmill_trie::RootBuilder;
///
/// let mut roots = RootBuilder::new();
/// let one = roots.sorted([([1; 32], "a"), ([2; 32], "b")]);
/// let other = roots.sorted([([1; 32], "a"), ([2; 32], "c")]);
/// assert_ne!(one, other);
/// ```
pub struct RootBuilder {
    /// Branches from the root down; those from `open` on are kept for their buffers only.
    pub(crate) branches: Vec<Branch>,
    pub(crate) open: usize,
    queue: Queue,
    closed: Closed,
    pub(crate) shared_before: Option<usize>,
    /// Depth to which the path of the current key is shared with an earlier part of the leaves.
    pub(crate) floor: Option<usize>,
    /// The nodes below branches that parts share.
    pub(crate) hung: Vec<Hung>,
    pub(crate) root: Option<[u8; 32]>,
    hasher: ManyKeccak,
}

impl Default for RootBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl RootBuilder {
    /// Creates a builder with empty buffers, which hashes as many leaves at once as the CPU can.
    pub fn new() -> Self {
        Self::with_hasher(ManyKeccak::detect())
    }

    /// Creates a builder with empty buffers, which hashes as many leaves at once as the CPU can.
    pub fn with_hasher(hasher: ManyKeccak) -> Self {
        Self {
            branches: vec![],
            open: 0,
            queue: Queue::default(),
            closed: Closed::default(),
            shared_before: None,
            floor: None,
            hung: vec![],
            root: None,
            hasher,
        }
    }

    /// Returns the root of the trie with these leaves, `(key, value)` in ascending order of keys. A
    /// key has at most 32 bytes and may be a prefix of another one.
    ///
    /// # Panics
    ///
    /// Panics if the keys are not strictly ascending, or if one is longer.
    pub fn sorted<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        leaves: impl IntoIterator<Item = (K, V)>,
    ) -> [u8; 32] {
        let mut leaves = leaves.into_iter().peekable();
        self.start();
        while let Some((key, value)) = leaves.next() {
            let next = leaves.peek().map(|(key, _)| key.as_ref());
            assert!(next.is_none_or(|next| key.as_ref() < next), "keys do not ascend");
            self.leaf(key.as_ref(), value.as_ref(), next);
        }
        self.finish()
    }

    /// Clears the state of an unfinished trie.
    pub(crate) fn start(&mut self) {
        self.open = 0;
        self.queue.clear();
        self.closed.clear();
        self.shared_before = None;
        self.floor = None;
        self.hung.clear();
        self.root = None;
    }

    /// Adds the next leaf; `next` is the key after it.
    pub(crate) fn leaf(&mut self, key: &[u8], value: &[u8], next: Option<&[u8]>) {
        let shared_after = next.map(|next| common_prefix(key, next));
        let parent = self.shared_before.max(shared_after);
        self.shared_before = shared_after;
        let mut leaf =
            Leaf { key: [0; MAX_KEY], key_len: key.len(), parent, shared_after, hash: None };
        leaf.key[..key.len()].copy_from_slice(key);
        let nodes = &mut self.queue.nodes;
        if leaf.ends_at_parent() {
            nodes.extend_from_slice(value);
        } else {
            let path = parent.map_or(0, |depth| depth + 1)..2 * key.len();
            let path = PathBuffer::new(key, path, true);
            let node = TrieNode::Leaf { path: path.path(), value };
            if value.len() > LONG {
                leaf.hash = Some(node.hash());
            } else {
                // with room for more, since `encode_into` makes just enough
                nodes.reserve(value.len() + MAX_KEY + PREFIXES);
                node.encode_into(nodes);
            }
        }
        let end = nodes.len();
        self.queue.ends.push(end as u32);
        self.queue.leaves.push(leaf);
        if self.queue.leaves.len() == BATCH || end >= BATCH_BYTES {
            self.flush();
        }
    }

    /// The root, all leaves being there.
    pub(crate) fn finish(&mut self) -> [u8; 32] {
        self.flush();
        self.root.take().unwrap_or(EMPTY_ROOT)
    }

    /// Hashes the leaves of the queue and hangs them into the branches.
    pub(crate) fn flush(&mut self) {
        let mut queue = mem::take(&mut self.queue);
        queue.hashes.resize(queue.leaves.len(), [0; 32]);
        self.hasher.keccak256_column(&queue.nodes, &queue.ends, &mut queue.hashes);
        for i in 0..queue.leaves.len() {
            self.hang(&queue.leaves[i], queue.node(i), queue.hashes[i]);
        }
        queue.clear();
        self.queue = queue;
    }

    /// Adds a leaf to its parent and closes the branches that end with it. `node` and `hash` come
    /// from the queue.
    fn hang(&mut self, leaf: &Leaf, node: &[u8], hash: [u8; 32]) {
        let Some(depth) = leaf.parent else {
            self.root = Some(leaf.hash.unwrap_or(hash));
            return;
        };
        let parent = self.branch_at(depth);
        if leaf.ends_at_parent() {
            parent.set_value(node);
        } else {
            let child = leaf.hash.map_or_else(|| Reference::new(node, hash), Reference::hash);
            parent.set(nibble(leaf.key(), depth), child);
        }
        while self.deepest() > leaf.shared_after {
            match self.deepest() > self.floor {
                true => self.close_deepest(leaf.key(), leaf.shared_after),
                false => self.hand_over(leaf.key(), leaf.shared_after),
            }
        }
        self.floor = self.floor.min(leaf.shared_after);
    }

    /// Depth of the last open branch.
    pub(crate) fn deepest(&self) -> Option<usize> {
        self.open.checked_sub(1).map(|last| self.branches[last].depth)
    }

    /// The open branch at `depth`, below which no other one is open; a new one if need be.
    pub(crate) fn branch_at(&mut self, depth: usize) -> &mut Branch {
        if self.deepest() != Some(depth) {
            if self.branches.len() == self.open {
                self.branches.push(Branch::default());
            }
            self.branches[self.open].reset(depth);
            self.open += 1;
        }
        &mut self.branches[self.open - 1]
    }

    /// Closes the last open branch and hangs it below its parent, which is the open branch above
    /// it, a new one at `shared_after` or one that a part before this one has, whichever is
    /// deepest. Without any it is the root.
    pub(crate) fn close_deepest(&mut self, key: &[u8], shared_after: Option<usize>) {
        self.open -= 1;
        self.hang_closed();
        let parent = self.deepest().max(shared_after).max(self.floor);
        let branch = &self.branches[self.open];
        let nodes = &mut self.closed.nodes;
        let start = nodes.len();
        nodes.reserve(FULL_BRANCH);
        branch.node().encode_into(nodes);
        let path = parent.map_or(0, |parent| parent + 1)..branch.depth;
        if !path.is_empty() {
            let child = Reference::of(&nodes[start..]);
            nodes.truncate(start);
            let path = PathBuffer::new(key, path, false);
            let extension = TrieNode::Extension { path: path.path(), child: child.child() };
            extension.encode_into(nodes);
        }
        let Some(parent) = parent else {
            self.root = Some(blockmill_hashes::keccak256(&nodes[start..]));
            return;
        };
        let half = nibble(key, parent);
        if nodes.len() - start < 32 {
            let child = Reference::of(&nodes[start..]);
            nodes.truncate(start);
            self.branch_at(parent).set(half, child);
        } else {
            self.closed.ends.push(nodes.len() as u32);
            self.branch_at(parent);
            self.closed.places.push((self.open - 1, half));
        }
    }

    /// Hashes the branches that wait, if the one that was open last is a parent of some. Those are
    /// the last ones: while it was open, only they were closed.
    pub(crate) fn hang_closed(&mut self) {
        let Closed { places, nodes, ends, hashes } = &mut self.closed;
        if places.last().is_none_or(|(parent, _)| *parent != self.open) {
            return;
        }
        hashes.resize(places.len(), [0; 32]);
        if places.len() < FEW {
            let mut start = 0;
            for (hash, end) in hashes.iter_mut().zip(&*ends) {
                *hash = blockmill_hashes::keccak256(&nodes[start..*end as usize]);
                start = *end as usize;
            }
        } else {
            self.hasher.keccak256_column(nodes, ends, hashes);
        }
        for ((parent, half), hash) in places.iter().zip(hashes) {
            self.branches[*parent].set(*half, Reference::hash(*hash));
        }
        self.closed.clear();
    }
}
