//! The tries of a state and how they change.

use super::ascend::Ascent;
use super::batch::Batch;
use super::descend::Descent;
use super::error::Error;
use super::heap::Heap;
use super::node::{Form, Node, NodeKind, Reference, ticket};
use super::queue::{Hashed, Queue};
use super::visit::{ROOT, Visit};
use crate::codec::Codec;

/// A trie of a forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrieId(pub(super) u32);

impl TrieId {
    /// A small number, as an index of the caller's.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A change of one key.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The trie that changes.
    pub trie: TrieId,
    /// The key as the trie has it: the hash of an address or a slot in Ethereum's state.
    pub key: &'a [u8],
    /// The value as the trie holds it, encoded; `None` deletes the key, if it is there.
    pub value: Option<&'a [u8]>,
}

/// The changes of a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// Tries that lose all that they held before the block.
    pub wiped: &'a [TrieId],
    /// The changes of the block, in any order. The last of several changes of one key counts.
    pub updates: &'a [Update<'a>],
}

/// The tries that a block changed, with their roots after it, in the order of [`TrieId`].
pub type Roots = Vec<(TrieId, [u8; 32])>;

/// The first node of a trie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trie {
    pub node: Node,
    pub reference: Reference,
    /// Half-bytes of its keys that lead to it.
    pub start: u8,
}

/// The memory of a forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Tries that are in use.
    pub tries: usize,
    /// Bytes of nodes in use.
    pub live: usize,
    /// Bytes of nodes and of freed ones that will be used again.
    pub nodes: usize,
    /// Bytes of the buffers of updates.
    pub buffers: usize,
}

/// Tries that share one array of nodes. `C` is how they are written and hashed.
///
/// ```
/// use blockmill_trie::codec::Ethereum;
/// use blockmill_trie::update::{Changes, Forest, Update};
/// use blockmill_trie::{EMPTY_ROOT, root_of_sorted};
///
/// let mut forest = Forest::new(Ethereum::new());
/// let trie = forest.create()?;
/// assert_eq!(forest.root(trie)?, EMPTY_ROOT);
///
/// // two blocks: one sets two keys, the next one deletes the second
/// let set = |key, value| Update { trie, key, value };
/// let (one, two) = ([1; 32], [2; 32]);
/// let updates = [set(&one, Some(&[7][..])), set(&two, Some(&[8]))];
/// forest.update(&Changes { updates: &updates, ..Changes::default() })?;
/// forest.update(&Changes { updates: &[set(&two, None)], ..Changes::default() })?;
/// assert_eq!(forest.root(trie)?, root_of_sorted([(one, [7])]));
/// # Ok::<(), blockmill_trie::update::Error>(())
/// ```
#[derive(Debug)]
pub struct Forest<C> {
    pub(super) heap: Heap,
    tries: Vec<Trie>,
    free: Vec<u32>,
    pub(super) queue: Queue<C>,
    batch: Batch,
    visits: Vec<Visit>,
    steps: Vec<u32>,
}

impl<C: Codec> Forest<C> {
    /// Creates a forest without tries, limited to the memory that node addresses reach: 16 GiB.
    #[must_use]
    pub fn new(codec: C) -> Self {
        Self::with_limit(codec, usize::MAX)
    }

    /// Creates a forest without tries, limited to `limit` bytes of nodes.
    #[must_use]
    pub fn with_limit(codec: C, limit: usize) -> Self {
        Self {
            heap: Heap::new(limit),
            tries: vec![],
            free: vec![],
            queue: Queue::new(codec),
            batch: Batch::default(),
            visits: vec![],
            steps: vec![],
        }
    }

    /// A new trie without leaves. Numbers of removed tries are given out again.
    pub fn create(&mut self) -> Result<TrieId, Error> {
        let empty = Trie { node: Node::NONE, reference: Reference::default(), start: 0 };
        if let Some(index) = self.free.pop() {
            self.tries[index as usize] = empty;
            return Ok(TrieId(index));
        }
        let index = u32::try_from(self.tries.len()).map_err(|_| Error::TooMany)?;
        self.tries.push(empty);
        Ok(TrieId(index))
    }

    /// Frees a trie and its number. It must not be used any more.
    pub fn remove(&mut self, trie: TrieId) -> Result<(), Error> {
        self.wipe(trie)?;
        self.free.push(trie.0);
        Ok(())
    }

    /// Removes all leaves of a trie and frees its nodes.
    pub fn wipe(&mut self, trie: TrieId) -> Result<(), Error> {
        let place = self.tries.get_mut(trie.index()).ok_or(Error::NoTrie(trie.0))?;
        let mut open = vec![place.node];
        (place.node, place.reference) = (Node::NONE, Reference::default());
        while let Some(node) = open.pop() {
            match node.kind() {
                NodeKind::Branch => {
                    let branch = self.heap.branch(node);
                    open.extend((0..branch.head.count()).map(|at| branch.child_at(at)));
                }
                NodeKind::Extension => open.push(self.heap.extension(node).child),
                NodeKind::None | NodeKind::Unknown | NodeKind::Leaf => {}
            }
            self.heap.give_node(node);
        }
        Ok(())
    }

    pub(super) fn trie(&self, trie: TrieId) -> Result<Trie, Error> {
        self.tries.get(trie.index()).copied().ok_or(Error::NoTrie(trie.0))
    }

    pub(super) fn set_trie(&mut self, trie: TrieId, node: Node, reference: Reference) {
        let place = &mut self.tries[trie.index()];
        (place.node, place.reference) = (node, reference);
    }

    /// The root of a trie.
    pub fn root(&self, trie: TrieId) -> Result<[u8; 32], Error> {
        Ok(root_of::<C>(&self.trie(trie)?.reference))
    }

    /// Applies the changes of a block and hashes what changed.
    pub fn update(&mut self, changes: &Changes<'_>) -> Result<(), Error> {
        self.apply(changes).inspect_err(|_| self.queue.clear())
    }

    /// Applies the changes of consecutive blocks, hashes the nodes of all versions together, and
    /// returns the roots of the changed tries after each block. Faster than calling
    /// [`update`](Self::update) for each block while blocks are so small that a level has fewer
    /// nodes than the CPU has lanes; slower for large blocks.
    pub fn update_group(&mut self, blocks: &[Changes<'_>]) -> Result<Vec<Roots>, Error> {
        self.heap.withhold();
        let mut pending = vec![];
        for block in blocks {
            self.queue.defer();
            if let Err(error) = self.apply(block) {
                self.queue.clear();
                self.heap.release_withheld();
                return Err(error);
            }
            let touched = self.visits.iter().take_while(|visit| visit.slot == ROOT);
            let changed = touched.map(|visit| TrieId(self.batch.order[visit.from as usize].trie));
            let mut changed: Vec<TrieId> = changed.chain(block.wiped.iter().copied()).collect();
            changed.sort_unstable();
            changed.dedup();
            let root = |trie: TrieId| (trie, self.tries[trie.index()].reference);
            pending.push(changed.into_iter().map(root).collect::<Vec<_>>());
        }
        let hashes = self.queue.hash_deferred(&mut self.heap);
        self.heap.release_withheld();
        let settled = |reference: Reference| match reference.form {
            Form::Pending => Reference::hash(hashes[ticket(&reference.bytes)]),
            _ => reference,
        };
        let mut roots = vec![];
        for block in pending {
            for (trie, _) in &block {
                let reference = &mut self.tries[trie.index()].reference;
                *reference = settled(*reference);
            }
            let root = |(trie, reference)| (trie, root_of::<C>(&settled(reference)));
            roots.push(block.into_iter().map(root).collect());
        }
        Ok(roots)
    }

    fn apply(&mut self, changes: &Changes<'_>) -> Result<(), Error> {
        for trie in changes.wiped {
            self.wipe(*trie)?;
        }
        let Self { heap, tries, queue, batch, visits, steps, .. } = self;
        batch.sort::<C>(changes.updates, tries.len())?;
        let updates = changes.updates;
        Descent { heap, visits, batch, updates, queue }.run(tries, steps)?;
        Ascent { heap, visits, queue }.run(steps)?;
        for visit in visits.iter().take_while(|visit| visit.slot == ROOT) {
            let trie = &mut tries[batch.order[visit.from as usize].trie as usize];
            (trie.node, trie.reference) = (visit.node, visit.reference);
        }
        Ok(())
    }

    /// The memory of the forest.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let buffers = self.visits.capacity() * size_of::<Visit>()
            + self.batch.order.capacity() * 16
            + self.queue.bytes();
        Memory {
            tries: self.tries.len() - self.free.len(),
            live: self.heap.live_bytes(),
            nodes: self.heap.bytes(),
            buffers,
        }
    }

    /// Counts of the nodes hashed so far.
    #[must_use]
    pub fn hashed(&self) -> Hashed {
        self.queue.hashed
    }
}

fn root_of<C: Codec>(reference: &Reference) -> [u8; 32] {
    if reference.form == Form::None { C::EMPTY_ROOT } else { reference.bytes }
}
