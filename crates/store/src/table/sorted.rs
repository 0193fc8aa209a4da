//! The records of a memtable in the order of their keys.

use std::ops::{Bound, RangeBounds};

use super::{
    Record,
    arena::Arena,
    key::prefix,
    memtable::{Memtable, SEGMENTS, key_of},
};
use blockmill_platform::memory::prefetch;

impl Memtable {
    /// The records in a range, in the order of keys. Each segment is looked through as a whole.
    pub fn sorted(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Sorted<'_> {
        let first = |bound: &Bound<Vec<u8>>, otherwise: usize| match bound {
            Bound::Included(key) | Bound::Excluded(key) => {
                key.first().map_or(otherwise, |byte| usize::from(*byte))
            }
            Bound::Unbounded => otherwise,
        };
        let segments = (first(&range.0, 0), first(&range.1, SEGMENTS - 1) + 1);
        Sorted { table: self, range, segments, cells: Vec::new(), at: 0 }
    }
}

/// The records of a memtable in the order of keys.
pub(crate) struct Sorted<'a> {
    table: &'a Memtable,
    range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// The segments after the current one.
    segments: (usize, usize),
    /// Cells with the prefixes of their keys.
    cells: Vec<(u64, u32)>,
    at: usize,
}

impl<'a> Sorted<'a> {
    /// The next record.
    pub fn next(&mut self) -> Option<Record<'a>> {
        while self.at == self.cells.len() {
            if self.segments.0 >= self.segments.1 {
                return None;
            }
            self.sort_segment();
        }
        let ahead = self.cells.get(self.at + 8);
        if let Some((_, cell)) = ahead {
            prefetch(&self.table.arena().bytes(*cell)[0]);
        }
        let (_, cell) = self.cells[self.at];
        self.at += 1;
        Some(self.table.record(cell))
    }

    fn sort_segment(&mut self) {
        let table = self.table;
        let segment = &table.segments[self.segments.0];
        let is_all = matches!(self.range, (Bound::Unbounded, Bound::Unbounded));
        self.cells.clear();
        self.cells.reserve_exact(segment.entries);
        self.cells.extend(segment.cells().map(|cell| (0, cell)));
        let key = |cell: u32| key_of(table.arena(), cell);
        if !is_all {
            let bounds = (self.range.0.as_ref(), self.range.1.as_ref());
            let bounds = (bounds.0.map(Vec::as_slice), bounds.1.map(Vec::as_slice));
            self.cells.retain(|(_, cell)| RangeBounds::<[u8]>::contains(&bounds, key(*cell)));
        }
        sort_by_keys(&mut self.cells, table.arena(), 0);
        self.segments.0 += 1;
        self.at = 0;
    }
}

/// Number of cells up to which keys are compared entirely instead of by another radix pass.
const FEW: usize = 8;

/// Sorts cells whose keys are equal up to `depth`, by eight bytes at a time: keys often share a
/// prefix (an account's address before its slots), and comparing two of them entirely costs two
/// cache misses.
fn sort_by_keys(cells: &mut [(u64, u32)], arena: &Arena, depth: usize) {
    let key = |cell: u32| key_of(arena, cell);
    for at in 0..cells.len() {
        if let Some((_, cell)) = cells.get(at + 16) {
            prefetch(&arena.bytes(*cell)[0]);
        }
        let (bytes, cell) = &mut cells[at];
        *bytes = prefix(key(*cell).get(depth..).unwrap_or_default());
    }
    cells.sort_unstable_by_key(|(bytes, _)| *bytes);
    let end = depth + 8;
    for alike in cells.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        if alike.len() < FEW {
            alike.sort_unstable_by(|a, b| key(a.1).cmp(key(b.1)));
            continue;
        }
        // keys that end here were filled up with zeros, which the others have
        if alike.iter().any(|(_, cell)| key(*cell).len() < end) {
            alike.sort_unstable_by_key(|(_, cell)| key(*cell).len().min(end));
        }
        let ended = alike.partition_point(|(_, cell)| key(*cell).len() < end);
        sort_by_keys(&mut alike[ended..], arena, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_begin_alike_and_end_anywhere_are_sorted_by_their_bytes() {
        let mut table = Memtable::new(1 << 16, 0);
        let mut random = 7u64;
        let mut keys = std::collections::BTreeSet::new();
        while keys.len() < 20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // few different bytes, zeros above all, and every length
            let len = 1 + (random >> 33) as usize % 40;
            let byte = |at: usize| u8::from(at > 20 && random >> (at & 31) & 3 == 3);
            let mut key: Vec<u8> = (0..len).map(byte).collect();
            if random & 1 << 40 > 0 {
                key.extend((random >> 50).to_be_bytes());
            }
            if keys.insert(key.clone()) {
                table.put(&key, b"value", true).unwrap();
            }
        }
        let mut sorted = table.sorted((Bound::Unbounded, Bound::Unbounded));
        for key in keys {
            assert_eq!(sorted.next().map(|record| record.key.to_vec()), Some(key));
        }
        assert!(sorted.next().is_none());
    }
}
