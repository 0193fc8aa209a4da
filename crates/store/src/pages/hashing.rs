//! Hashing what an update changed: first the subtrees of all cells, then the upper levels, the
//! deepest first. Nodes of all tries are hashed together.

use trie::codec::{BranchParts, Codec, Column, Ethereum};

use super::{
    Buffer, Trie,
    cell::{Entry, Record},
    key::{Form, Reference},
    subtree::{Subtrees, drain, extension},
    upper::{Arena, Below, Branch, Child, Parent},
};
use crate::error::{Result, mismatch};

/// Subtrees that are hashed together: their nodes stay in the cache.
const TOGETHER: usize = 64;
/// Branches of the upper levels that are hashed together.
const BRANCHES: usize = 256;

/// A branch to be hashed: itself, its parent, and the half-bytes above it.
type Waiting = (u32, Parent);

/// What hashes; its memory is kept for the next update.
#[derive(Debug)]
pub(super) struct Hashing {
    codec: Ethereum,
    subtrees: Subtrees,
    /// Cells that changed: their place in the buffer, their depth, and where they hang.
    cells: Vec<(u32, usize, Parent)>,
    /// Branches above them, by the half-byte that parts their children.
    levels: Vec<Vec<Waiting>>,
    column: Column,
    extensions: Column,
}

impl Hashing {
    pub fn new(codec: Ethereum) -> Self {
        Self {
            subtrees: Subtrees::new(codec.clone()),
            codec,
            cells: vec![],
            levels: vec![vec![]; 64],
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
            if self.subtrees.len() == TOGETHER {
                self.subtrees.hash(|i, reference| each(first + i, reference.bytes));
                first += TOGETHER;
            }
        }
        self.subtrees.hash(|i, reference| each(first + i, reference.bytes));
    }

    /// Hashes everything in `tries` whose reference is not known.
    pub fn settle(
        &mut self,
        numbers: &[u32],
        tries: &mut [Trie],
        arena: &mut Arena,
        buffer: &Buffer,
    ) -> Result<()> {
        self.cells.clear();
        self.levels.iter_mut().for_each(Vec::clear);
        for number in numbers {
            if let Some(top) = tries[*number as usize].top {
                self.gather(&top, 0, Parent::Trie(*number), arena)?;
            }
        }
        let Self { cells, subtrees, .. } = self;
        for cells in cells.chunks(TOGETHER) {
            for (at, depth, _) in cells {
                let record = Record::new(buffer.get(*at)?);
                let record = record.ok_or_else(|| mismatch("cell", "a whole record", *at))?;
                let entries: Vec<_> = record.entries().collect();
                subtrees.push(&entries, *depth);
            }
            subtrees.hash(|i, reference| set(cells[i].2, reference, tries, arena));
        }
        for depth in (0..self.levels.len()).rev() {
            let level = std::mem::take(&mut self.levels[depth]);
            level.chunks(BRANCHES).for_each(|branches| self.branches(branches, tries, arena));
            self.levels[depth] = level;
        }
        Ok(())
    }

    /// Finds what is pending at and below `child`.
    fn gather(&mut self, child: &Child, depth: usize, parent: Parent, arena: &Arena) -> Result<()> {
        if !child.is_pending() {
            return Ok(());
        }
        match child.below() {
            Below::Buffer(at) => self.cells.push((at, depth, parent)),
            // what is in a page was hashed before it was written
            Below::Page(page) => return Err(mismatch("cell", "one that was hashed", page)),
            Below::Branch(at) => {
                let branch = arena.get(at);
                let parting = depth + branch.path.len();
                for (nibble, child) in branch.children() {
                    self.gather(child, parting + 1, Parent::Branch(at, nibble), arena)?;
                }
                match self.levels.get_mut(parting) {
                    Some(level) => level.push((at, parent)),
                    None => return Err(mismatch("depth of a branch", "below 64", parting)),
                }
            }
        }
        Ok(())
    }

    /// Hashes branches whose children are known.
    fn branches(&mut self, branches: &[Waiting], tries: &mut [Trie], arena: &mut Arena) {
        let Self { codec, column, extensions, .. } = self;
        for (at, _) in branches {
            write(codec, arena.get(*at), column);
        }
        let mut below = vec![];
        drain(column, codec, |i, reference| {
            let (at, parent) = branches[i];
            let path = &arena.get(at).path;
            if path.is_empty() {
                set(parent, reference, tries, arena);
            } else {
                extension(codec, path.iter().copied(), &reference, extensions);
                below.push(parent);
            }
        });
        drain(extensions, codec, |i, reference| set(below[i], reference, tries, arena));
    }
}

/// Writes the node of a branch.
fn write(codec: &Ethereum, branch: &Branch, column: &mut Column) {
    let mut references = [[0; 32]; 16];
    let (mut count, mut inline) = (0, 0);
    for (nibble, child) in branch.children() {
        references[count] = child.reference.bytes;
        inline |= u32::from(child.reference.form == Form::Inline) << nibble;
        count += 1;
    }
    let mask = branch.mask().into();
    let parts = BranchParts { mask, inline, references: &references[..count], value: [&[]; 2] };
    codec.branch(&parts, &mut column.bytes, |_, _| {});
    column.end();
}

fn set(parent: Parent, reference: Reference, tries: &mut [Trie], arena: &mut Arena) {
    let child = match parent {
        Parent::Trie(number) => tries[number as usize].top.as_mut(),
        Parent::Branch(at, nibble) => arena.get_mut(at).get_mut(nibble),
    };
    if let Some(child) = child {
        child.reference = reference;
    }
}
