//! Hashing the changes of an update: first the subtrees of all cells, then the branches, the
//! deepest first. Nodes of all tries are hashed together.

use std::{
    mem,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use blockmill_platform::memory::prefetch;
use blockmill_trie::codec::{BranchParts, Codec, Column, Ethereum};

use super::{
    Buffer, Trie,
    branches::{Arena, Below, Branch, Child, Parent},
    cell::{Entry, Record},
    key::{Form, Reference},
    subtree::{Subtrees, drain, extension},
};
use blockmill_store::{Error, Result, part::mismatch};

/// Subtrees that are hashed together: their nodes stay in the cache.
const SUBTREE_BATCH: usize = 64;
/// Cells from which on other threads help: with fewer, to begin them costs more than it brings.
const MANY: usize = 8 * SUBTREE_BATCH;
/// Branches that are hashed together.
const BRANCHES: usize = 256;
/// How many cells or branches ahead of the one that is written its parts are brought near.
const AHEAD: usize = 6;

/// A branch to be hashed.
#[derive(Clone, Debug)]
struct Waiting {
    at: u32,
    /// Which of the references is its own.
    index: u32,
    /// Its children without a known reference: nibbles and indexes of references.
    pending: Range<u32>,
}

/// A changed cell: its index in the buffer, its depth, and the index of its reference.
type ChangedCell = (u32, usize, u32);

/// The working memory of a thread that hashes cells.
#[derive(Debug)]
struct Worker {
    subtrees: Subtrees,
    /// Computed references with their indexes.
    made: Vec<(u32, Reference)>,
    failure: Option<Error>,
}

impl Worker {
    fn new(codec: &Ethereum) -> Self {
        Self { subtrees: Subtrees::new(codec.clone()), made: vec![], failure: None }
    }

    /// Hashes cells that no other worker has taken.
    fn run(&mut self, cells: &[ChangedCell], next: &AtomicUsize, buffer: &Buffer) {
        self.failure = self.hash(cells, next, buffer).err();
    }

    fn hash(&mut self, cells: &[ChangedCell], next: &AtomicUsize, buffer: &Buffer) -> Result<()> {
        let Self { subtrees, made, .. } = self;
        while let Some(cells) = cells.chunks(SUBTREE_BATCH).nth(next.fetch_add(1, Relaxed)) {
            for (nth, (at, depth, _)) in cells.iter().enumerate() {
                if let Some((next, ..)) = cells.get(nth + AHEAD) {
                    buffer.prefetch(*next);
                }
                let record = Record::new(buffer.get(*at)?);
                let record = record.ok_or_else(|| mismatch("cell", "a whole record", *at))?;
                let entries: Vec<_> = record.entries().collect();
                subtrees.push(&entries, *depth);
            }
            subtrees.hash(|i, reference| made.push((cells[i].2, reference)));
        }
        Ok(())
    }
}

/// Hashes an update; its memory is reused for the next one.
///
/// Hashing changes nothing else: references are stored in the tries afterwards. So readers can run
/// concurrently.
#[derive(Debug)]
pub(super) struct Hashing {
    codec: Ethereum,
    subtrees: Subtrees,
    /// One for each thread.
    workers: Vec<Worker>,
    cells: Vec<ChangedCell>,
    /// Branches above them, by the nibble that parts their children.
    levels: Vec<Vec<Waiting>>,
    pending: Vec<(u8, u32)>,
    /// References, and where they hang.
    found: Vec<(Parent, Reference)>,
    column: Column,
    extensions: Column,
}

impl Hashing {
    /// A hasher for this many threads.
    pub fn new(codec: Ethereum, threads: usize) -> Self {
        Self {
            subtrees: Subtrees::new(codec.clone()),
            workers: (0..threads.max(1)).map(|_| Worker::new(&codec)).collect(),
            codec,
            cells: vec![],
            levels: vec![vec![]; 64],
            pending: vec![],
            found: vec![],
            column: Column::default(),
            extensions: Column::default(),
        }
    }

    /// The references of subtrees that hang at the roots of their tries.
    pub fn roots<'a>(
        &mut self,
        tries: impl Iterator<Item = Vec<Entry<'a>>>,
        mut each: impl FnMut(usize, [u8; 32]),
    ) {
        let mut first = 0;
        for entries in tries {
            self.subtrees.push(&entries, 0);
            if self.subtrees.len() == SUBTREE_BATCH {
                self.subtrees.hash(|i, reference| each(first + i, reference.bytes));
                first += SUBTREE_BATCH;
            }
        }
        self.subtrees.hash(|i, reference| each(first + i, reference.bytes));
    }

    /// Hashes everything in tries without a known reference.
    pub fn hash(
        &mut self,
        numbers: &[u32],
        tries: &[Trie],
        arena: &Arena,
        buffer: &Buffer,
    ) -> Result<()> {
        self.cells.clear();
        self.pending.clear();
        self.found.clear();
        self.levels.iter_mut().for_each(Vec::clear);
        for number in numbers {
            if let Some(top) = tries[*number as usize].top.filter(Child::is_pending) {
                self.gather(&top, 0, Parent::Trie(*number), arena)?;
            }
        }
        self.hash_cells(buffer)?;
        for depth in (0..self.levels.len()).rev() {
            let level = std::mem::take(&mut self.levels[depth]);
            level.chunks(BRANCHES).for_each(|branches| self.branches(branches, arena));
            self.levels[depth] = level;
        }
        Ok(())
    }

    /// Hashes the cells that were gathered: many by all threads, each a few at a time.
    fn hash_cells(&mut self, buffer: &Buffer) -> Result<()> {
        let Self { cells, workers, found, .. } = self;
        let (cells, next) = (&cells[..], &AtomicUsize::new(0));
        thread::scope(|scope| {
            let Some((own, others)) = workers.split_first_mut() else { return };
            for other in others.iter_mut().filter(|_| cells.len() >= MANY) {
                // without it the others have more to do
                let work = move || other.run(cells, next, buffer);
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            own.run(cells, next, buffer);
        });
        for worker in workers {
            if let Some(failure) = mem::take(&mut worker.failure) {
                return Err(failure);
            }
            for (index, reference) in worker.made.drain(..) {
                found[index as usize].1 = reference;
            }
        }
        Ok(())
    }

    /// Puts the references that were found where they hang.
    pub fn put(&mut self, tries: &mut [Trie], arena: &mut Arena) {
        for (parent, reference) in self.found.drain(..) {
            let child = match parent {
                Parent::Trie(number) => tries[number as usize].top.as_mut(),
                Parent::Branch(at, nibble) => arena.get_mut(at).get_mut(nibble),
            };
            if let Some(child) = child {
                *child = child.with(reference);
            }
        }
    }

    /// Collects pending children at and below `child`, which is pending. Returns the index of its
    /// reference.
    fn gather(
        &mut self,
        child: &Child,
        depth: usize,
        parent: Parent,
        arena: &Arena,
    ) -> Result<u32> {
        let index = self.found.len() as u32;
        self.found.push((parent, Reference::PENDING));
        match child.below() {
            Below::Buffer(at) => self.cells.push((at, depth, index)),
            // records in pages were hashed before they were written
            Below::Page(page) | Below::Evicted(page) => {
                return Err(mismatch("record", "one that was hashed", page));
            }
            Below::Branch(at) => {
                let branch = arena.get(at);
                let parting = depth + branch.path.len();
                let (mut children, mut count) = ([(0, 0); 16], 0);
                let pending = || branch.children().filter(|(_, child)| child.is_pending());
                pending().for_each(|(_, child)| arena.prefetch(child));
                for (nibble, child) in pending() {
                    let parent = Parent::Branch(at, nibble);
                    children[count] = (nibble, self.gather(child, parting + 1, parent, arena)?);
                    count += 1;
                }
                let start = self.pending.len() as u32;
                self.pending.extend_from_slice(&children[..count]);
                let pending = start..self.pending.len() as u32;
                match self.levels.get_mut(parting) {
                    Some(level) => level.push(Waiting { at, index, pending }),
                    None => return Err(mismatch("depth of a branch", "below 64", parting)),
                }
            }
        }
        Ok(index)
    }

    /// Hashes branches whose children have known references.
    fn branches(&mut self, branches: &[Waiting], arena: &Arena) {
        let Self { codec, column, extensions, pending, found, .. } = self;
        for (nth, Waiting { at, pending: range, .. }) in branches.iter().enumerate() {
            if let Some(next) = branches.get(nth + 2 * AHEAD) {
                prefetch(arena.get(next.at));
            }
            if let Some(next) = branches.get(nth + AHEAD) {
                arena.get(next.at).prefetch_children();
            }
            let pending = &pending[range.start as usize..range.end as usize];
            let known = |nibble: u8| {
                let place = pending.iter().find(|(own, _)| *own == nibble);
                place.map(|(_, index)| found[*index as usize].1)
            };
            write(codec, arena.get(*at), known, column);
        }
        let mut below = vec![];
        drain(column, codec, |i, reference| {
            let Waiting { at, index, .. } = branches[i];
            let path = &arena.get(at).path;
            if path.is_empty() {
                found[index as usize].1 = reference;
            } else {
                extension(codec, path.iter().copied(), &reference, extensions);
                below.push(index);
            }
        });
        drain(extensions, codec, |i, reference| found[below[i] as usize].1 = reference);
    }
}

/// Encodes the node of a branch; `other` returns references that the branch does not have yet.
pub(super) fn write(
    codec: &Ethereum,
    branch: &Branch,
    other: impl Fn(u8) -> Option<Reference>,
    column: &mut Column,
) {
    let mut references = [[0; 32]; 16];
    let (mut count, mut inline) = (0, 0);
    for (nibble, child) in branch.children() {
        let reference = other(nibble).unwrap_or(*child.reference());
        references[count] = reference.bytes;
        inline |= u32::from(reference.form == Form::Inline) << nibble;
        count += 1;
    }
    let mask = branch.mask().into();
    let parts = BranchParts { mask, inline, references: &references[..count], value: [&[]; 2] };
    codec.branch(&parts, &mut column.bytes, |_, _| {});
    column.end();
}
