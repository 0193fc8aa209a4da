//! The changes since the last commit, in memory.
//!
//! Keys are spread over 256 segments by their first byte, so that a segment holds a range of keys:
//! a flush sorts one segment after the other and needs memory for one only, and hash tables grow
//! one at a time. A record has the length of its key (a byte), kind and length of its value (two
//! bytes), key and value. A long value is stored separately, and the record has its number.

use super::{
    EntryKind, Record,
    arena::Arena,
    buckets::{Bucket, Buckets, Slot, start},
    salt::Salt,
};
use blockmill_platform::memory::prefetch;

/// Segments: one for each first byte.
pub(super) const SEGMENTS: usize = 256;
/// Bytes before the key in a record.
const META: usize = 3;
/// The longest value that a record contains.
const INLINE: usize = 4096;
/// Bit for a value that is stored separately.
const APART: u16 = 1 << 13;

/// The key of the record in a cell.
#[inline]
pub(super) fn key_of(arena: &Arena, cell: u32) -> &[u8] {
    let bytes = arena.bytes(cell);
    &bytes[META..META + usize::from(bytes[0])]
}

/// The segment that a key belongs to.
#[inline]
fn segment_of(key: &[u8]) -> usize {
    key.first().map_or(0, |byte| usize::from(*byte))
}

/// The answer of a memtable for a key.
pub(crate) enum Known<'a> {
    Live(&'a [u8]),
    Dead,
    Nothing,
}

/// Values that are too long for a cell.
#[derive(Default)]
struct LongValues {
    values: Vec<Box<[u8]>>,
    free: Vec<u32>,
    bytes: usize,
}

impl LongValues {
    fn put(&mut self, value: &[u8]) -> u32 {
        self.bytes += value.len();
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = value.into();
                number
            }
            None => {
                self.values.push(value.into());
                self.values.len() as u32 - 1
            }
        }
    }

    fn remove(&mut self, number: u32) {
        let value = std::mem::take(&mut self.values[number as usize]);
        self.bytes -= value.len();
        self.free.push(number);
    }
}

/// The memtable; see the module text.
pub(crate) struct Memtable {
    pub(super) segments: Vec<Buckets>,
    arena: Arena,
    long: LongValues,
    salt: Salt,
    buckets: usize,
    entries: usize,
    live: usize,
    below: usize,
}

impl Memtable {
    /// An empty one. Records get chunks of `chunk_bytes`, and the segments begin with about
    /// `table_bytes` in all.
    pub fn new(chunk_bytes: usize, table_bytes: usize) -> Memtable {
        let buckets = (table_bytes / size_of::<Bucket>() / SEGMENTS).max(1);
        Memtable {
            segments: (0..SEGMENTS).map(|_| Buckets::new(buckets)).collect(),
            arena: Arena::new(chunk_bytes),
            long: LongValues::default(),
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
        self.tables() + self.arena.reserved() + self.long.bytes
    }

    /// Bytes of the tables.
    pub fn tables(&self) -> usize {
        self.buckets * size_of::<Bucket>() + SEGMENTS * size_of::<Buckets>()
    }

    /// Bytes of values that have a place of their own.
    pub fn long_bytes(&self) -> usize {
        self.long.bytes
    }

    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Prefetches what [`Memtable::get`] and changes of these keys will read, all at the same time
    /// instead of one after the other.
    pub fn touch<K: AsRef<[u8]>>(&self, keys: &[K]) {
        let keys = if self.entries > 0 { keys } else { &[] };
        for keys in keys.chunks(32) {
            let mut homes = [(0, 0); 32];
            for (key, home) in keys.iter().zip(&mut homes) {
                let key = key.as_ref();
                let buckets = &self.segments[segment_of(key)].buckets;
                *home = start(self.salt.hash(key), buckets.len());
                prefetch(&buckets[home.0]);
            }
            for (key, (home, tag)) in keys.iter().zip(&homes) {
                let line = &self.segments[segment_of(key.as_ref())].buckets[*home];
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

    pub(super) fn record(&self, cell: u32) -> Record<'_> {
        let bytes = self.arena.bytes(cell);
        let key = META + usize::from(bytes[0]);
        let (kind, len, is_apart) = meta(bytes);
        let value = match is_apart {
            false => &bytes[key..key + len],
            true => &self.long.values[number(&bytes[key..]) as usize],
        };
        Record { key: &bytes[META..key], kind, value }
    }

    #[inline]
    fn find(&self, key: &[u8], hash: u64) -> Option<(Slot, u32)> {
        let segment = &self.segments[segment_of(key)];
        let slot = segment.find(key, hash, &self.arena)?;
        Some((slot, segment.buckets[slot.bucket].refs[slot.slot]))
    }

    /// Looks up a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Known<'_> {
        // as after a commit: looking into empty tables would wait for memory
        if self.entries == 0 {
            return Known::Nothing;
        }
        let Some((_, cell)) = self.find(key, self.salt.hash(key)) else { return Known::Nothing };
        let record = self.record(cell);
        if record.kind.live { Known::Live(record.value) } else { Known::Dead }
    }

    /// Makes a key live. `below` says whether it is, or may be, live in the runs; it is used only
    /// if there is no entry yet. Returns whether the entry was live before; `None` if the arena is
    /// full.
    pub fn put(&mut self, key: &[u8], value: &[u8], below: bool) -> Option<bool> {
        let hash = self.salt.hash(key);
        if let Some((slot, cell)) = self.find(key, hash) {
            let old = meta(self.arena.bytes(cell)).0;
            let kind = EntryKind { live: true, below: old.below };
            self.rewrite(slot, key, kind, value)?;
            self.live += usize::from(!old.live);
            return Some(old.live);
        }
        self.add(key, hash, EntryKind { live: true, below }, value)?;
        Some(false)
    }

    /// Says that a key which the runs hold, or may hold, live is dead. The key has no entry here.
    /// `None` when the arena is full.
    pub fn add_tombstone(&mut self, key: &[u8]) -> Option<()> {
        self.add(key, self.salt.hash(key), EntryKind::TOMBSTONE, &[])
    }

    /// Removes a key and appends its value to `out`, if it is live here.
    pub fn take(&mut self, key: &[u8], out: &mut Vec<u8>) -> Option<Known<'static>> {
        let Some((slot, cell)) = self.find(key, self.salt.hash(key)) else {
            return Some(Known::Nothing);
        };
        let Record { kind, value, .. } = self.record(cell);
        if !kind.live {
            return Some(Known::Dead);
        }
        let before = out.len();
        out.extend_from_slice(value);
        if kind.below {
            if self.rewrite(slot, key, EntryKind::TOMBSTONE, &[]).is_none() {
                out.truncate(before);
                return None;
            }
        } else {
            self.give(cell);
            self.segments[segment_of(key)].remove(slot);
            self.entries -= 1;
        }
        self.live -= 1;
        Some(Known::Live(&[]))
    }

    /// Frees a cell, and its value if that is stored separately.
    fn give(&mut self, cell: u32) {
        let bytes = self.arena.bytes(cell);
        let key = META + usize::from(bytes[0]);
        let (_, len, is_apart) = meta(bytes);
        if is_apart {
            self.long.remove(number(&bytes[key..]));
        }
        self.arena.give(cell, key + len);
    }

    fn write(&mut self, cell: u32, key: &[u8], kind: EntryKind, value: &[u8]) {
        let place = self.long_value(value);
        let value = place.as_ref().map_or(value, |place| &place[..]);
        let bytes = self.arena.bytes_mut(cell);
        let apart = if place.is_some() { APART } else { 0 };
        let meta = value.len() as u16 | apart | u16::from(kind.bits()) << 14;
        bytes[0] = key.len() as u8;
        bytes[1..META].copy_from_slice(&meta.to_le_bytes());
        bytes[META..][..key.len()].copy_from_slice(key);
        bytes[META + key.len()..][..value.len()].copy_from_slice(value);
    }

    /// Stores a long value separately. Returns the number for the record.
    fn long_value(&mut self, value: &[u8]) -> Option<[u8; 4]> {
        (value.len() > INLINE).then(|| self.long.put(value).to_le_bytes())
    }

    fn add(&mut self, key: &[u8], hash: u64, kind: EntryKind, value: &[u8]) -> Option<()> {
        let cell = self.arena.take(cell_bytes(key, value))?;
        self.write(cell, key, kind, value);
        let segment = &mut self.segments[segment_of(key)];
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

    /// Replaces an entry.
    fn rewrite(&mut self, slot: Slot, key: &[u8], kind: EntryKind, value: &[u8]) -> Option<()> {
        let cell = self.segments[segment_of(key)].buckets[slot.bucket].refs[slot.slot];
        let (_, len, is_apart) = meta(self.arena.bytes(cell));
        let (old, new) = (META + key.len() + len, cell_bytes(key, value));
        if !is_apart && Arena::same_size(old, new) {
            self.write(cell, key, kind, value);
            return Some(());
        }
        let target = self.arena.take(new)?;
        self.give(cell);
        self.segments[segment_of(key)].buckets[slot.bucket].refs[slot.slot] = target;
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
        self.long = LongValues::default();
        (self.entries, self.live, self.below) = (0, 0, 0);
    }
}

/// Bytes of a record.
fn cell_bytes(key: &[u8], value: &[u8]) -> usize {
    META + key.len() + if value.len() > INLINE { 4 } else { value.len() }
}

/// Decodes a record: kind, bytes of the value in the record, and whether the value is stored
/// separately.
fn meta(bytes: &[u8]) -> (EntryKind, usize, bool) {
    let meta = bytes[1..].first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    // no record is written with another kind
    let kind = EntryKind::from_bits((meta >> 14) as u8).unwrap_or(EntryKind::TOMBSTONE);
    (kind, usize::from(meta & (APART - 1)), meta & APART != 0)
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
