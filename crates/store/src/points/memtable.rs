//! The changes since the last flush, in memory.
//!
//! Keys are spread over 256 segments by their first byte, so that a segment holds a range of keys:
//! a flush sorts one after the other and needs room for one only, and tables grow one at a time.
//! Within a segment a key's bucket follows from a salted hash. A bucket is one cache line: 12 tags
//! of a byte, 12 references into the arena, and the number of entries that found this bucket full
//! and went on to a later one (F14, Bronson and Shi 2019). A search ends at the first bucket whose
//! count is zero, so removed entries leave no traces that slow down later searches.

use super::{
    KEY_BYTES, Key, Kind, Record, arena::Arena, memory::prefetch, order, prefix, salt::Salt,
};

/// Segments: one for each first byte.
const SEGMENTS: usize = 256;
/// Entries in a bucket.
const SLOTS: usize = 12;
/// A segment grows when its buckets would hold more entries than this on average.
const FULL: usize = 10;
/// Bytes before the key in a record: kind in two bits, length of the value in fourteen.
const META: usize = 2;

/// One cache line of the table.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Bucket {
    /// Eight bits of each key's hash; 0 where the slot is free.
    tags: [u8; SLOTS],
    /// Entries that passed by on their way to a later bucket.
    passed: u32,
    refs: [u32; SLOTS],
}

impl Bucket {
    /// A bit for each slot with this tag.
    #[inline(always)]
    fn with_tag(&self, tag: u8) -> u32 {
        let mut found = 0;
        for (slot, other) in self.tags.iter().enumerate() {
            found |= u32::from(*other == tag) << slot;
        }
        found
    }
}

/// The table of one range of keys.
struct Segment {
    buckets: Vec<Bucket>,
    entries: usize,
}

/// Where an entry is.
#[derive(Clone, Copy)]
struct Place {
    home: usize,
    bucket: usize,
    slot: usize,
}

/// The bucket in which a search begins, and the tag searched for.
#[inline]
fn start(hash: u64, buckets: usize) -> (usize, u8) {
    let home = ((hash >> 32) * buckets as u64) >> 32;
    (home as usize, (hash as u8).max(1))
}

impl Segment {
    fn new() -> Segment {
        Segment { buckets: vec![Bucket::default()], entries: 0 }
    }

    fn next(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() { 0 } else { bucket + 1 }
    }

    #[inline]
    fn find(&self, key: &Key, hash: u64, arena: &Arena) -> Option<Place> {
        let (home, tag) = start(hash, self.buckets.len());
        let mut bucket = home;
        for _ in 0..self.buckets.len() {
            let line = &self.buckets[bucket];
            let mut found = line.with_tag(tag);
            while found != 0 {
                let slot = found.trailing_zeros() as usize;
                if key_of(arena, line.refs[slot]) == key {
                    return Some(Place { home, bucket, slot });
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

    fn is_full(&self) -> bool {
        self.entries >= self.buckets.len() * FULL
    }

    /// Puts in an entry that is not there yet. The segment is not full.
    fn insert(&mut self, hash: u64, cell: u32) {
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

    fn remove(&mut self, place: Place) {
        self.buckets[place.bucket].tags[place.slot] = 0;
        let mut bucket = place.home;
        while bucket != place.bucket {
            self.buckets[bucket].passed -= 1;
            bucket = self.next(bucket);
        }
        self.entries -= 1;
    }

    /// Makes the table a quarter larger.
    fn grow(&mut self, arena: &Arena, salt: &Salt) {
        let buckets = self.buckets.len() + self.buckets.len() / 4 + 1;
        let new = Segment { buckets: vec![Bucket::default(); buckets], entries: 0 };
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

    fn cells(&self) -> impl Iterator<Item = u32> {
        self.buckets.iter().flat_map(|line| {
            line.tags.iter().zip(&line.refs).filter(|(tag, _)| **tag != 0).map(|(_, cell)| *cell)
        })
    }
}

/// The key of the record in a cell.
#[inline]
fn key_of(arena: &Arena, cell: u32) -> &Key {
    static NO_KEY: Key = [0; KEY_BYTES];
    // a record has at least META + KEY_BYTES bytes
    arena.bytes(cell)[META..].first_chunk().unwrap_or(&NO_KEY)
}

/// What a table knows of a key.
pub(crate) enum Known<'a> {
    Live(&'a [u8]),
    Dead,
    Nothing,
}

/// The table; see the module text.
pub(crate) struct Memtable {
    segments: Vec<Segment>,
    arena: Arena,
    salt: Salt,
    buckets: usize,
    entries: usize,
    live: usize,
    below: usize,
}

impl Memtable {
    pub fn new(chunk_bytes: usize) -> Memtable {
        Memtable {
            segments: (0..SEGMENTS).map(|_| Segment::new()).collect(),
            arena: Arena::new(chunk_bytes),
            salt: Salt::random(),
            buckets: SEGMENTS,
            entries: 0,
            live: 0,
            below: 0,
        }
    }

    /// Keys with an entry, tombstones included.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Live keys here, less those among all keys here that are live in the runs.
    pub fn growth(&self) -> i64 {
        self.live as i64 - self.below as i64
    }

    /// Bytes from the system.
    pub fn reserved(&self) -> usize {
        self.tables() + self.arena.reserved()
    }

    /// Bytes of the tables.
    pub fn tables(&self) -> usize {
        self.buckets * size_of::<Bucket>() + SEGMENTS * size_of::<Segment>()
    }

    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Has the CPU fetch what [`Memtable::get`] and the changes of these keys will need, all at the
    /// same time instead of one after the other.
    pub fn touch(&self, keys: &[Key]) {
        for keys in keys.chunks(32) {
            let mut homes = [(0, 0); 32];
            for (key, home) in keys.iter().zip(&mut homes) {
                let buckets = &self.segments[key[0] as usize].buckets;
                *home = start(self.salt.hash(key), buckets.len());
                prefetch(&buckets[home.0]);
            }
            for (key, (home, tag)) in keys.iter().zip(&homes) {
                let line = &self.segments[key[0] as usize].buckets[*home];
                let found = line.with_tag(*tag);
                if found != 0 {
                    let record = self.arena.bytes(line.refs[found.trailing_zeros() as usize]);
                    prefetch(&record[0]);
                    // a record may lie in two cache lines
                    prefetch(&record[record.len().min(64) - 1]);
                }
            }
        }
    }

    fn record(&self, cell: u32) -> Record<'_> {
        let bytes = self.arena.bytes(cell);
        let (kind, len) = meta(bytes);
        let value = &bytes[META + KEY_BYTES..][..len];
        Record { key: key_of(&self.arena, cell), kind, value }
    }

    pub fn get(&self, key: &Key) -> Known<'_> {
        let segment = &self.segments[key[0] as usize];
        let Some(place) = segment.find(key, self.salt.hash(key), &self.arena) else {
            return Known::Nothing;
        };
        let record = self.record(segment.buckets[place.bucket].refs[place.slot]);
        if record.kind.live { Known::Live(record.value) } else { Known::Dead }
    }

    /// Makes a key live. `below` says whether the runs hold it live; it counts only where there is
    /// no entry yet. Returns whether the entry was live before, `None` when the arena is full.
    pub fn put(&mut self, key: &Key, value: &[u8], below: bool) -> Option<bool> {
        let hash = self.salt.hash(key);
        let segment = &self.segments[key[0] as usize];
        if let Some(place) = segment.find(key, hash, &self.arena) {
            let old = self.record(segment.buckets[place.bucket].refs[place.slot]).kind;
            let kind = Kind { live: true, below: old.below };
            self.rewrite(place, key, kind, value)?;
            self.live += usize::from(!old.live);
            return Some(old.live);
        }
        self.add(key, hash, Kind { live: true, below }, value)?;
        Some(false)
    }

    /// Says that a key which the runs hold live, and which has no entry here, is dead. `None` when
    /// the arena is full.
    pub fn bury(&mut self, key: &Key) -> Option<()> {
        self.add(key, self.salt.hash(key), Kind::TOMBSTONE, &[])
    }

    /// Removes a key and appends its value to `out`, if it is live here.
    pub fn take(&mut self, key: &Key, out: &mut Vec<u8>) -> Option<Known<'static>> {
        let hash = self.salt.hash(key);
        let segment = &self.segments[key[0] as usize];
        let Some(place) = segment.find(key, hash, &self.arena) else {
            return Some(Known::Nothing);
        };
        let cell = segment.buckets[place.bucket].refs[place.slot];
        let Record { kind, value, .. } = self.record(cell);
        if !kind.live {
            return Some(Known::Dead);
        }
        let before = out.len();
        out.extend_from_slice(value);
        let len = value.len();
        if kind.below {
            if self.rewrite(place, key, Kind::TOMBSTONE, &[]).is_none() {
                out.truncate(before);
                return None;
            }
        } else {
            self.arena.give(cell, META + KEY_BYTES + len);
            self.segments[key[0] as usize].remove(place);
            self.entries -= 1;
        }
        self.live -= 1;
        Some(Known::Live(&[]))
    }

    fn write(&mut self, cell: u32, key: &Key, kind: Kind, value: &[u8]) {
        let bytes = self.arena.bytes_mut(cell);
        let meta = value.len() as u16 | u16::from(kind.bits()) << 14;
        bytes[..META].copy_from_slice(&meta.to_le_bytes());
        bytes[META..][..KEY_BYTES].copy_from_slice(key);
        bytes[META + KEY_BYTES..][..value.len()].copy_from_slice(value);
    }

    fn add(&mut self, key: &Key, hash: u64, kind: Kind, value: &[u8]) -> Option<()> {
        let cell = self.arena.take(META + KEY_BYTES + value.len())?;
        self.write(cell, key, kind, value);
        let segment = &mut self.segments[key[0] as usize];
        if segment.is_full() {
            let before = segment.buckets.len();
            segment.grow(&self.arena, &self.salt);
            self.buckets += segment.buckets.len() - before;
        }
        segment.insert(hash, cell);
        self.entries += 1;
        self.live += usize::from(kind.live);
        self.below += usize::from(kind.below);
        Some(())
    }

    /// Replaces what an entry says.
    fn rewrite(&mut self, place: Place, key: &Key, kind: Kind, value: &[u8]) -> Option<()> {
        let cell = self.segments[key[0] as usize].buckets[place.bucket].refs[place.slot];
        let old = META + KEY_BYTES + self.record(cell).value.len();
        let new = META + KEY_BYTES + value.len();
        let mut target = cell;
        if !Arena::same_size(old, new) {
            target = self.arena.take(new)?;
            self.arena.give(cell, old);
            self.segments[key[0] as usize].buckets[place.bucket].refs[place.slot] = target;
        }
        self.write(target, key, kind, value);
        Some(())
    }

    /// Forgets everything and gives back memory beyond `keep` bytes for records. The tables keep
    /// their size, which the next flush will need again.
    pub fn clear(&mut self, keep: usize) {
        for segment in &mut self.segments {
            segment.buckets.fill(Bucket::default());
            segment.entries = 0;
        }
        self.arena.clear(keep);
        (self.entries, self.live, self.below) = (0, 0, 0);
    }

    /// All records in the order of keys.
    pub fn sorted(&self) -> Sorted<'_> {
        Sorted { table: self, segment: 0, cells: Vec::new(), at: 0 }
    }
}

/// Kind and length of the value in a record.
fn meta(bytes: &[u8]) -> (Kind, usize) {
    let meta = bytes.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    // no record is written with another kind
    let kind = Kind::from_bits((meta >> 14) as u8).unwrap_or(Kind::TOMBSTONE);
    (kind, usize::from(meta & ((1 << 14) - 1)))
}

/// The records of a table in the order of keys.
pub(crate) struct Sorted<'a> {
    table: &'a Memtable,
    /// The segment after the one whose cells are here.
    segment: usize,
    /// Cells with the prefixes of their keys.
    cells: Vec<(u64, u32)>,
    at: usize,
}

impl<'a> Sorted<'a> {
    /// The next record.
    pub fn next(&mut self) -> Option<Record<'a>> {
        while self.at == self.cells.len() {
            if self.segment == SEGMENTS {
                return None;
            }
            self.sort_segment();
        }
        let ahead = self.cells.get(self.at + 8);
        if let Some((_, cell)) = ahead {
            prefetch(&self.table.arena.bytes(*cell)[0]);
        }
        let (_, cell) = self.cells[self.at];
        self.at += 1;
        Some(self.table.record(cell))
    }

    fn sort_segment(&mut self) {
        let table = self.table;
        let segment = &table.segments[self.segment];
        self.cells.clear();
        self.cells.reserve_exact(segment.entries);
        self.cells.extend(segment.cells().map(|cell| (0, cell)));
        for at in 0..self.cells.len() {
            if let Some((_, cell)) = self.cells.get(at + 16) {
                prefetch(&table.arena.bytes(*cell)[0]);
            }
            let (first, cell) = &mut self.cells[at];
            *first = prefix(key_of(&table.arena, *cell));
        }
        let key = |cell: u32| key_of(&table.arena, cell);
        self.cells.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| order(key(a.1), key(b.1))));
        self.segment += 1;
        self.at = 0;
    }
}
