//! Room for records of a few dozen bytes, in chunks that are never moved.
//!
//! A cell is a multiple of four bytes and is named by 32 bits, so an arena holds at most 16 GiB.
//! A freed cell goes to the list of its size and is the next one of that size to be given out.

use blockmill_platform::memory::{Zeroed, prefetch};

/// Bytes of a unit, in which cells are measured.
pub(crate) const UNIT: usize = 4;
/// Cells of up to this many units have an exact size, larger ones a multiple of it.
const EXACT: usize = 64;
/// The longest cell.
pub(crate) const MAX_CELL: usize = 4608;
/// Lists of free cells.
const CLASSES: usize = EXACT + 1 + MAX_CELL / (EXACT * UNIT) + 1;
/// Says that a list ends.
const NONE: u32 = u32::MAX;

/// The arena; see the module text.
pub(crate) struct Arena {
    chunks: Vec<Zeroed>,
    /// Chunks that hold cells; the rest waits.
    used: usize,
    /// Units of the newest chunk that were given out.
    next: usize,
    /// Units in a chunk, as a power of two.
    chunk_bits: u32,
    free: Box<[u32; CLASSES]>,
}

/// The list of a cell with `units`, and the units that the cell really has.
fn class(units: usize) -> (usize, usize) {
    if units <= EXACT {
        return (units, units);
    }
    let blocks = units.div_ceil(EXACT);
    (EXACT + blocks - 1, blocks * EXACT)
}

impl Arena {
    /// An empty arena with chunks of `chunk_bytes`, a power of two.
    pub fn new(chunk_bytes: usize) -> Arena {
        let chunk_bits = (chunk_bytes / UNIT).ilog2();
        let free = Box::new([NONE; CLASSES]);
        Arena { chunks: Vec::new(), used: 0, next: 1 << chunk_bits, chunk_bits, free }
    }

    fn chunk_units(&self) -> usize {
        1 << self.chunk_bits
    }

    /// Bytes of a chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_units() * UNIT
    }

    /// Bytes from the system.
    pub fn reserved(&self) -> usize {
        self.chunks.len() * self.chunk_bytes() + self.chunks.capacity() * size_of::<Zeroed>()
    }

    /// Bytes of chunks that hold cells.
    pub fn used(&self) -> usize {
        self.used * self.chunk_bytes()
    }

    /// Bytes at the end of the newest chunk that were never given out.
    pub fn left(&self) -> usize {
        (self.chunk_units() - self.next) * UNIT
    }

    /// Can another chunk be named with 32 bits?
    pub fn may_grow(&self) -> bool {
        (self.used + 1) << self.chunk_bits < NONE as usize
    }

    /// A cell of at least `bytes`; `None` when 32 bits cannot name another one.
    pub fn take(&mut self, bytes: usize) -> Option<u32> {
        let (class, units) = class(bytes.div_ceil(UNIT));
        let head = self.free[class];
        if head != NONE {
            let next = self.bytes(head).first_chunk().map_or(NONE, |b| u32::from_le_bytes(*b));
            self.free[class] = next;
            if next != NONE {
                // freed long ago, perhaps; it will be written soon
                let bytes = self.bytes(next);
                prefetch(&bytes[0]);
                prefetch(&bytes[(units * UNIT).min(64) - 1]);
            }
            return Some(head);
        }
        if self.next + units > self.chunk_units() {
            if !self.may_grow() {
                return None;
            }
            if self.used == self.chunks.len() {
                self.chunks.push(Zeroed::new(self.chunk_bytes())?);
            }
            self.used += 1;
            self.next = 0;
        }
        let cell = (self.used - 1) << self.chunk_bits | self.next;
        self.next += units;
        Some(cell as u32)
    }

    /// Takes back a cell that was given out for `bytes`.
    pub fn give(&mut self, cell: u32, bytes: usize) {
        let (class, _) = class(bytes.div_ceil(UNIT));
        let head = self.free[class];
        self.bytes_mut(cell)[..UNIT].copy_from_slice(&head.to_le_bytes());
        self.free[class] = cell;
    }

    /// Returns whether cells for `bytes` and for `other` have the same size.
    pub fn same_size(bytes: usize, other: usize) -> bool {
        class(bytes.div_ceil(UNIT)) == class(other.div_ceil(UNIT))
    }

    /// A cell's bytes, and whatever follows them in the chunk.
    #[inline]
    pub fn bytes(&self, cell: u32) -> &[u8] {
        let chunk = &self.chunks[(cell >> self.chunk_bits) as usize];
        &chunk[(cell as usize & (self.chunk_units() - 1)) * UNIT..]
    }

    /// As [`Arena::bytes`], to be written.
    #[inline]
    pub fn bytes_mut(&mut self, cell: u32) -> &mut [u8] {
        let at = (cell as usize & (self.chunk_units() - 1)) * UNIT;
        &mut self.chunks[(cell >> self.chunk_bits) as usize][at..]
    }

    /// Forgets all cells and gives back memory beyond `keep` bytes.
    pub fn clear(&mut self, keep: usize) {
        self.free.fill(NONE);
        (self.used, self.next) = (0, self.chunk_units());
        self.chunks.truncate(keep / self.chunk_bytes());
        self.chunks.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_do_not_overlap_and_freed_room_is_used_again() {
        let mut arena = Arena::new(1 << 16);
        let sizes: Vec<usize> = (0..4000).map(|n| 40 + n * 37 % 500 + n % 50 / 49 * 4000).collect();
        let mut cells = Vec::new();
        for (n, size) in sizes.iter().enumerate() {
            let cell = arena.take(*size).unwrap();
            arena.bytes_mut(cell)[..*size].fill(n as u8);
            cells.push(cell);
        }
        let full = arena.reserved();
        for (n, (size, cell)) in sizes.iter().zip(&cells).enumerate() {
            assert!(arena.bytes(*cell)[..*size].iter().all(|b| *b == n as u8));
            arena.give(*cell, *size);
        }
        for size in &sizes {
            arena.take(*size).unwrap();
        }
        assert_eq!(arena.reserved(), full);
        arena.clear(3 << 16);
        assert_eq!((arena.chunks.len(), arena.used()), (3, 0));
    }

    #[test]
    fn the_longest_record_has_a_list() {
        let longest = MAX_CELL;
        let mut arena = Arena::new(1 << 16);
        let cell = arena.take(longest).unwrap();
        arena.give(cell, longest);
        assert_eq!(arena.take(longest), Some(cell));
        assert!(Arena::same_size(longest, longest - 1) && !Arena::same_size(longest, 40));
    }
}
