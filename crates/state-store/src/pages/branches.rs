//! The branches of the tries that are in memory, down to the references of cells.

use blockmill_platform::memory::prefetch;

use super::key::{Form, Reference};

/// The cell is in the buffer, not in a page.
const BUFFERED: u32 = 1 << 31;
/// Unit of the length of a record, in bytes.
const LENGTH_UNIT: usize = 32;
/// Number of entries that marks a branch in a page. No cell has as many.
const EVICTED: u8 = 127;
/// Bit of a count: the child is another one since the last checkpoint, or something below it is.
const CHANGED: u8 = 0x80;

/// The child at a place in a trie: a branch or a cell. Fields that a look-up needs come first, so
/// that they are in one cache line at any alignment of the child.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Child {
    /// The branch, the page of the cell, or the cell's index in the buffer.
    at: u32,
    /// Entries of a cell, 0 or [`EVICTED`] for a branch; and whether something changed.
    count: u8,
    /// Length of its record, in units of [`LENGTH_UNIT`] bytes.
    length_units: u8,
    /// Offset of its record in the page, in units of `PageFiles::offset_unit_bytes`.
    offset_units: u8,
    reference: Reference,
}

/// The kind and location of a [`Child`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// A branch of the arena.
    Branch(u32),
    /// A branch in a page.
    Evicted(u32),
    /// A cell in a page.
    Page(u32),
    /// A cell in the buffer.
    Buffer(u32),
}

/// A child counts as changed from its creation until [`Arena::mark_unchanged`].
impl Child {
    /// A child that is there, and of which nothing is known.
    pub const MISSING: Self = Self::changed(u32::MAX, 0, 0);

    const fn changed(at: u32, count: u8, length_units: u8) -> Self {
        Self {
            at,
            count: count | CHANGED,
            length_units,
            offset_units: 0,
            reference: Reference::PENDING,
        }
    }

    pub fn branch(at: u32) -> Self {
        Self::changed(at, 0, 0)
    }

    /// A cell in the buffer with this many entries and bytes.
    pub fn buffered(at: u32, count: usize, bytes: usize) -> Self {
        Self::changed(at | BUFFERED, count as u8, Self::length_units_of(bytes))
    }

    /// Length of a record of `bytes` bytes, in units, rounded up.
    pub fn length_units_of(bytes: usize) -> u8 {
        bytes.div_ceil(LENGTH_UNIT) as u8
    }

    /// A cell of `count` entries in a page; `None` if a cell cannot have as many.
    pub fn paged(at: u32, count: u8, length_units: u8, offset_units: u8) -> Option<Self> {
        let fits = (1..EVICTED).contains(&count);
        fits.then(|| Self { offset_units, ..Self::changed(at, count, length_units) })
    }

    /// A branch in a page.
    pub fn evicted(at: u32, length_units: u8, offset_units: u8) -> Self {
        Self { offset_units, ..Self::changed(at, EVICTED, length_units) }
    }

    /// Sets a known reference.
    pub fn with(self, reference: Reference) -> Self {
        Self { reference, count: self.count | CHANGED, ..self }
    }

    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Moves the cell to the buffer.
    pub fn in_buffer(self, at: u32) -> Self {
        Self { at: at | BUFFERED, count: self.count | CHANGED, ..self }
    }

    /// Moves the cell to a page.
    pub fn in_page(self, at: u32, offset_units: u8) -> Self {
        Self { at, offset_units, count: self.count | CHANGED, ..self }
    }

    /// Something below it changes.
    pub fn touch(&mut self) {
        self.count |= CHANGED;
    }

    pub fn is_changed(&self) -> bool {
        self.count & CHANGED != 0
    }

    /// The branch of the arena, where it is one and known.
    pub fn branch_at(&self) -> Option<u32> {
        (self.count() == 0 && self.at != Self::MISSING.at).then_some(self.at)
    }

    pub fn below(&self) -> Below {
        match (self.count & !CHANGED, self.at & BUFFERED) {
            (0, _) => Below::Branch(self.at),
            (EVICTED, _) => Below::Evicted(self.at),
            (_, 0) => Below::Page(self.at),
            _ => Below::Buffer(self.at & !BUFFERED),
        }
    }

    pub fn is_evicted(&self) -> bool {
        matches!(self.below(), Below::Evicted(_))
    }

    /// Entries of a cell; 0 for a branch in memory, more than a cell can have for one in a page.
    pub fn count(&self) -> usize {
        (self.count & !CHANGED).into()
    }

    /// Offset of its record in its page, in units of `PageFiles::offset_unit_bytes`.
    pub fn offset_units(&self) -> u8 {
        self.offset_units
    }

    pub fn length_units(&self) -> u8 {
        self.length_units
    }

    /// Bytes that its record takes, as they are counted.
    pub fn bytes(&self) -> u64 {
        u64::from(self.length_units) * LENGTH_UNIT as u64
    }

    pub fn is_pending(&self) -> bool {
        self.reference.form == Form::Pending
    }
}

/// Where a [`Child`] hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// The top of a trie.
    Trie(u32),
    /// Under a nibble of a branch.
    Branch(u32, u8),
}

/// Where keys part above the cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Branch {
    /// Half-bytes between the branch and its parent that all keys below it have in common.
    pub path: Box<[u8]>,
    mask: u16,
    children: Vec<Child>,
}

impl Branch {
    /// A branch after a path, without children.
    pub fn new(path: &[u8]) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    fn rank(&self, nibble: u8) -> usize {
        (self.mask & ((1 << nibble) - 1)).count_ones() as usize
    }

    /// A bit for each child.
    pub fn mask(&self) -> u16 {
        self.mask
    }

    pub fn get(&self, nibble: u8) -> Option<&Child> {
        (self.mask >> nibble & 1 == 1).then(|| &self.children[self.rank(nibble)])
    }

    pub fn get_mut(&mut self, nibble: u8) -> Option<&mut Child> {
        let rank = self.rank(nibble);
        (self.mask >> nibble & 1 == 1).then(|| &mut self.children[rank])
    }

    pub fn set(&mut self, nibble: u8, child: Option<Child>) {
        let rank = self.rank(nibble);
        match (self.mask >> nibble & 1 == 1, child) {
            (true, Some(child)) => self.children[rank] = child,
            (true, None) => _ = self.children.remove(rank),
            (false, Some(child)) => {
                self.children.reserve_exact(1);
                self.children.insert(rank, child);
            }
            (false, None) => {}
        }
        self.mask &= !(1 << nibble);
        self.mask |= u16::from(child.is_some()) << nibble;
    }

    /// Reserves memory for this many children.
    pub fn reserve(&mut self, children: usize) {
        self.children.reserve_exact(children);
    }

    /// The children in order, each under its nibble.
    pub fn children(&self) -> impl Iterator<Item = (u8, &Child)> {
        let nibbles = (0..16).filter(|nibble| self.mask >> nibble & 1 == 1);
        nibbles.zip(&self.children)
    }

    /// Prefetches its children into the CPU caches.
    pub fn prefetch_children(&self) {
        // each takes less than a line, and they are adjacent
        self.children.iter().for_each(prefetch);
    }

    /// Bytes on the heap.
    fn bytes(&self) -> usize {
        self.path.len() + self.children.capacity() * size_of::<Child>()
    }

    /// Bytes of memory that it takes.
    pub fn all_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes()
    }
}

/// The branches of all tries.
#[derive(Debug, Default)]
pub(super) struct Arena {
    branches: Vec<Branch>,
    free: Vec<u32>,
}

impl Arena {
    pub fn get(&self, at: u32) -> &Branch {
        &self.branches[at as usize]
    }

    pub fn get_mut(&mut self, at: u32) -> &mut Branch {
        &mut self.branches[at as usize]
    }

    /// Prefetches the branch that `child` is, if it is one.
    pub fn prefetch(&self, child: &Child) {
        if let Some(at) = child.branch_at() {
            prefetch(self.get(at));
        }
    }

    /// Adds a branch; `None` if there are too many.
    pub fn add(&mut self, branch: Branch) -> Option<u32> {
        if let Some(at) = self.free.pop() {
            self.branches[at as usize] = branch;
            return Some(at);
        }
        let at = u32::try_from(self.branches.len()).ok()?;
        self.branches.push(branch);
        Some(at)
    }

    /// Removes a branch; its index is reused.
    pub fn take(&mut self, at: u32) -> Branch {
        self.free.push(at);
        std::mem::take(&mut self.branches[at as usize])
    }

    /// Removes all branches at and below a child.
    pub fn free(&mut self, child: &Child) {
        if let Some(at) = child.branch_at() {
            let branch = self.take(at);
            branch.children().for_each(|(_, child)| self.free(child));
        }
    }

    /// Marks a child and everything below it as unchanged. Returns whether all of it is known.
    pub fn mark_unchanged(&mut self, child: &mut Child) -> bool {
        if !child.is_changed() {
            return true;
        }
        child.count &= !CHANGED;
        if child.count > 0 {
            return true;
        }
        let Some(at) = child.branch_at() else { return false };
        let mut children = std::mem::take(&mut self.branches[at as usize].children);
        let is_whole = children.iter_mut().all(|child| self.mark_unchanged(child));
        self.branches[at as usize].children = children;
        is_whole
    }

    /// How many branches there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.branches.len() - self.free.len()
    }

    /// Bytes of all branches, without free indexes.
    pub fn used_bytes(&self) -> usize {
        let used = self.branches.len() - self.free.len();
        used * size_of::<Branch>() + self.branches.iter().map(Branch::bytes).sum::<usize>()
    }

    /// Bytes of all branches.
    pub fn bytes(&self) -> usize {
        let own = self.branches.capacity() * size_of::<Branch>() + self.free.capacity() * 4;
        own + self.branches.iter().map(Branch::bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_takes_forty_bytes() {
        assert_eq!(size_of::<Child>(), 40);
    }

    #[test]
    fn children_come_and_go_in_order() {
        let mut branch = Branch::new(&[1, 2]);
        for nibble in [5, 0, 15, 7, 5] {
            branch.set(nibble, Some(Child::branch(u32::from(nibble))));
        }
        branch.set(7, None);
        branch.set(8, None);
        let found: Vec<_> = branch.children().map(|(nibble, child)| (nibble, child.at)).collect();
        assert_eq!(found, [(0, 0), (5, 5), (15, 15)]);
        assert_eq!(branch.get(15).map(Child::below), Some(Below::Branch(15)));
        assert!(branch.get(7).is_none() && branch.get_mut(1).is_none());
    }
}
