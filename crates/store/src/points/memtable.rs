//! The changes since the last flush, in memory.
//!
//! Keys are spread over 256 segments by their first byte, so that a segment holds a range of keys:
//! a flush sorts one after the other and needs room for one only, and tables grow one at a time.

use super::{
    KEY_BYTES, Key, Kind, Record,
    arena::Arena,
    order, prefix,
    salt::Salt,
    segment::{Bucket, Place, Segment, start},
};
use system::memory::prefetch;

/// Segments: one for each first byte.
const SEGMENTS: usize = 256;
/// Bytes before the key in a record: kind in two bits, length of the value in fourteen.
const META: usize = 2;

/// The key of the record in a cell.
#[inline]
pub(super) fn key_of(arena: &Arena, cell: u32) -> &Key {
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
    /// An empty table. Records get chunks of `chunk_bytes`, and the segments begin with about
    /// `table_bytes` in all.
    pub fn new(chunk_bytes: usize, table_bytes: usize) -> Memtable {
        let buckets = (table_bytes / size_of::<Bucket>() / SEGMENTS).max(1);
        Memtable {
            segments: (0..SEGMENTS).map(|_| Segment::new(buckets)).collect(),
            arena: Arena::new(chunk_bytes),
            salt: Salt::random(),
            buckets: SEGMENTS * buckets,
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
