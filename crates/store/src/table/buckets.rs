//! The hash table of one range of keys: from a salted hash to a cell of the arena.
//!
//! A bucket is one cache line: 12 tags of a byte, 12 references into the arena, and the number of
//! entries that found this bucket full and are in a later one (F14, Bronson and Shi 2019). A search
//! ends at the first bucket with a count of zero, so removed entries do not slow down later
//! searches.

use super::{arena::Arena, memtable::key_of, salt::Salt};
use blockmill_platform::memory::prefetch;

/// Entries in a bucket.
const SLOTS: usize = 12;
/// A segment grows when its buckets would hold more entries than this on average.
const FULL: usize = 10;
/// One cache line of the table.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Bucket {
    /// Eight bits of each key's hash; 0 where the slot is free.
    tags: [u8; SLOTS],
    /// Entries that passed by on their way to a later bucket.
    passed: u32,
    pub refs: [u32; SLOTS],
}

impl Bucket {
    /// A bit for each slot with this tag.
    #[inline(always)]
    pub fn with_tag(&self, tag: u8) -> u32 {
        let mut found = 0;
        for (slot, other) in self.tags.iter().enumerate() {
            found |= u32::from(*other == tag) << slot;
        }
        found
    }
}

/// The table of one range of keys.
pub(super) struct Buckets {
    pub buckets: Vec<Bucket>,
    pub entries: usize,
}

/// Where an entry is.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    home: usize,
    pub bucket: usize,
    pub slot: usize,
}

/// The bucket in which a search begins, and the tag searched for.
#[inline]
pub(super) fn start(hash: u64, buckets: usize) -> (usize, u8) {
    let home = ((hash >> 32) * buckets as u64) >> 32;
    (home as usize, (hash as u8).max(1))
}

impl Buckets {
    pub fn new(buckets: usize) -> Buckets {
        Buckets { buckets: vec![Bucket::default(); buckets], entries: 0 }
    }

    fn next(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() { 0 } else { bucket + 1 }
    }

    #[inline]
    pub fn find(&self, key: &[u8], hash: u64, arena: &Arena) -> Option<Slot> {
        let (home, tag) = start(hash, self.buckets.len());
        let mut bucket = home;
        for _ in 0..self.buckets.len() {
            let line = &self.buckets[bucket];
            let mut found = line.with_tag(tag);
            while found != 0 {
                let slot = found.trailing_zeros() as usize;
                if key_of(arena, line.refs[slot]) == key {
                    return Some(Slot { home, bucket, slot });
                }
                found &= found - 1;
            }
            if line.passed == 0 {
                return None;
            }
            bucket = self.next(bucket);
        }
        None
    }

    pub fn is_full(&self) -> bool {
        self.entries >= self.buckets.len() * FULL
    }

    /// Puts in an entry that is not there yet. The segment is not full.
    pub fn insert(&mut self, hash: u64, cell: u32) {
        let (mut bucket, tag) = start(hash, self.buckets.len());
        loop {
            let line = &mut self.buckets[bucket];
            let free = line.with_tag(0);
            if free != 0 {
                let slot = free.trailing_zeros() as usize;
                line.tags[slot] = tag;
                line.refs[slot] = cell;
                self.entries += 1;
                return;
            }
            line.passed += 1;
            bucket = self.next(bucket);
        }
    }

    pub fn remove(&mut self, found: Slot) {
        self.buckets[found.bucket].tags[found.slot] = 0;
        let mut bucket = found.home;
        while bucket != found.bucket {
            self.buckets[bucket].passed -= 1;
            bucket = self.next(bucket);
        }
        self.entries -= 1;
    }

    /// Makes the table half as large again.
    pub fn grow(&mut self, arena: &Arena, salt: &Salt) {
        let new = Buckets::new(self.buckets.len() + self.buckets.len() / 2 + 1);
        let old = std::mem::replace(self, new);
        let mut cells = [0; 64];
        let mut waiting = 0;
        for cell in old.cells() {
            prefetch(&arena.bytes(cell)[0]);
            cells[waiting] = cell;
            waiting += 1;
            if waiting == cells.len() {
                cells.iter().for_each(|cell| self.insert(salt.hash(key_of(arena, *cell)), *cell));
                waiting = 0;
            }
        }
        cells[..waiting]
            .iter()
            .for_each(|cell| self.insert(salt.hash(key_of(arena, *cell)), *cell));
    }

    pub fn cells(&self) -> impl Iterator<Item = u32> {
        self.buckets.iter().flat_map(|line| {
            line.tags.iter().zip(&line.refs).filter(|(tag, _)| **tag != 0).map(|(_, cell)| *cell)
        })
    }
}
