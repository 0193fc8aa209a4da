//! Pages: entries in the order of keys, a few dozen in about 4 KiB.
//!
//! An entry shares the first bytes of its key with the one before. Every eighth entry shares
//! nothing, and the page ends with where these stand: a key is found by bisection among them and
//! a short walk. Layout: `docs/formats/store.md`.

use std::ops::Range;

use super::{Compression, EntryKind, MAX_VALUE_BYTES, Record, key::KeyBytes};

/// Bytes of entries that a page has at most, unless one alone is longer.
pub(crate) const PAGE: usize = 4096;
/// The same where pages are compressed.
pub(crate) const COMPRESSED_PAGE: usize = 16_384;
/// Checksum, bytes stored, bytes of the page when it is not compressed.
pub(crate) const HEADER: usize = 12;
/// Entries from one that shares nothing to the next.
const RESTART: usize = 8;

/// The bytes do not make an entry, although the checksum holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What pages of a run are measured in.
pub(crate) fn unit_of(compression: Compression) -> usize {
    match compression {
        Compression::None => PAGE,
        Compression::Lz4 => 512,
    }
}

/// A page in the making.
pub(crate) struct PageBuilder {
    compression: Compression,
    /// Room for the header, then entries.
    bytes: Vec<u8>,
    restarts: Vec<u16>,
    entries: usize,
    last: KeyBytes,
    packed: Vec<u8>,
}

impl PageBuilder {
    pub fn new(compression: Compression) -> PageBuilder {
        PageBuilder {
            compression,
            bytes: vec![0; HEADER],
            restarts: Vec::new(),
            entries: 0,
            last: KeyBytes::default(),
            packed: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The greatest key so far.
    pub fn last(&self) -> &[u8] {
        self.last.as_ref()
    }

    fn limit(&self) -> usize {
        match self.compression {
            Compression::None => PAGE,
            Compression::Lz4 => COMPRESSED_PAGE,
        }
    }

    /// Puts in an entry with a greater key; false when it must wait for the next page.
    pub fn push(&mut self, record: &Record) -> bool {
        let before = self.bytes.len();
        let is_restart = self.entries.is_multiple_of(RESTART);
        let same = || record.key.iter().zip(self.last.as_ref()).take_while(|(a, b)| a == b).count();
        let shared = if is_restart { 0 } else { same() };
        self.bytes.push(shared as u8);
        self.bytes.push((record.key.len() - shared) as u8);
        self.bytes.extend_from_slice(&record.key[shared..]);
        let len = (record.value.len() as u32) << 2;
        write_number(&mut self.bytes, len | u32::from(record.kind.bits()));
        self.bytes.extend_from_slice(record.value);
        let trailer = 2 * (self.restarts.len() + usize::from(is_restart)) + 2;
        if self.bytes.len() + trailer > self.limit() && self.entries > 0 {
            self.bytes.truncate(before);
            return false;
        }
        if is_restart {
            // below the limit of a page, which an entry that is not the first never exceeds
            self.restarts.push(before as u16);
        }
        self.last.set(record.key);
        self.entries += 1;
        true
    }

    /// The page, which is unit `unit` of run `run`, in whole units.
    pub fn finish(&mut self, run: u64, unit: u32) -> &[u8] {
        for restart in &self.restarts {
            self.bytes.extend(restart.to_le_bytes());
        }
        self.bytes.extend((self.restarts.len() as u16).to_le_bytes());
        let whole = self.bytes.len() as u32;
        let out = match self.compression {
            Compression::None => &mut self.bytes,
            Compression::Lz4 => {
                let entries = &self.bytes[HEADER..];
                self.packed
                    .resize(HEADER + lz4_flex::block::get_maximum_output_size(entries.len()), 0);
                // the room is the most that can be needed
                let packed = lz4_flex::block::compress_into(entries, &mut self.packed[HEADER..]);
                match packed {
                    Ok(bytes) if bytes < entries.len() => {
                        self.packed.truncate(HEADER + bytes);
                        &mut self.packed
                    }
                    _ => &mut self.bytes,
                }
            }
        };
        let stored = out.len() as u32;
        out[4..8].copy_from_slice(&stored.to_le_bytes());
        out[8..HEADER].copy_from_slice(&whole.to_le_bytes());
        out.resize(out.len().next_multiple_of(unit_of(self.compression)), 0);
        let sum = checksum(out, run, unit);
        out[..4].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Makes ready for the next page.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER);
        self.restarts.clear();
        self.entries = 0;
    }
}

/// The checksum of a page, which also says where the page belongs.
fn checksum(page: &[u8], run: u64, unit: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&run.to_le_bytes());
    hasher.update(&unit.to_le_bytes());
    hasher.update(page.get(4..).unwrap_or_default());
    hasher.finalize()
}

/// A page that was read and holds what was written.
#[derive(Clone, Copy)]
pub(crate) struct Page<'a> {
    /// Header and entries.
    entries: &'a [u8],
    /// Two bytes for each.
    restarts: &'a [u8],
}

/// Checks a page as it is on disk. Its bytes: those that were stored, or unpacked in `room`.
/// Otherwise the checksums that should be there and that are.
pub(crate) fn unpack<'a>(
    stored: &'a [u8],
    run: u64,
    unit: u32,
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8], (u32, u32)> {
    let word = |at: usize| stored[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
    let (expected, bytes, whole) = (word(0), word(4) as usize, word(8) as usize);
    let found = checksum(stored, run, unit);
    let is_whole = bytes <= whole && (HEADER + 2..=stored.len()).contains(&bytes);
    if expected != found || !is_whole || whole > HEADER + MAX_VALUE_BYTES + PAGE {
        return Err((expected, found));
    }
    if bytes == whole {
        return Ok(&stored[..bytes]);
    }
    room.resize(whole, 0);
    match lz4_flex::block::decompress_into(&stored[HEADER..bytes], &mut room[HEADER..]) {
        Ok(unpacked) if unpacked == whole - HEADER => Ok(room),
        _ => Err((expected, found)),
    }
}

impl<'a> Page<'a> {
    /// A page that [`unpack`] has checked.
    pub fn new(bytes: &'a [u8]) -> Result<Page<'a>, Malformed> {
        let (rest, count) = bytes.split_last_chunk().ok_or(Malformed)?;
        let restarts = 2 * usize::from(u16::from_le_bytes(*count));
        let entries = rest.len().checked_sub(restarts).filter(|end| *end >= HEADER);
        let (entries, restarts) = rest.split_at(entries.ok_or(Malformed)?);
        Ok(Page { entries, restarts })
    }

    /// Where entries end.
    pub fn end(&self) -> usize {
        self.entries.len()
    }

    /// Where the last restart is whose key is not above `key`; the first entry if all are.
    pub fn restart(&self, key: &[u8]) -> Result<usize, Malformed> {
        let (restarts, _) = self.restarts.as_chunks::<2>();
        let (mut low, mut high) = (0, restarts.len());
        while low + 1 < high {
            let middle = low.midpoint(high);
            let at = usize::from(u16::from_le_bytes(restarts[middle]));
            let own = usize::from(*self.entries.get(at + 1).ok_or(Malformed)?);
            let found = self.entries.get(at + 2..at + 2 + own).ok_or(Malformed)?;
            if found <= key { low = middle } else { high = middle }
        }
        Ok(restarts.get(low).map_or(HEADER, |at| usize::from(u16::from_le_bytes(*at))))
    }

    /// Reads the entry at `at` and moves `at` behind it.
    #[inline]
    fn entry(&self, at: &mut usize) -> Result<Entry<'a>, Malformed> {
        let [shared, own] =
            *self.entries.get(*at..).ok_or(Malformed)?.first_chunk().ok_or(Malformed)?;
        let (shared, own) = (usize::from(shared), usize::from(own));
        *at += 2;
        let own = self.entries.get(*at..*at + own).ok_or(Malformed)?;
        *at += own.len();
        let meta = read_number(self.entries, at)?;
        let kind = EntryKind::from_bits(meta as u8 & 3).ok_or(Malformed)?;
        let value = *at..*at + (meta >> 2) as usize;
        if value.end > self.entries.len() {
            return Err(Malformed);
        }
        *at = value.end;
        Ok(Entry { shared, own, kind, value })
    }

    /// Reads the entry at `at`, moves `at` behind it and puts its key into `key`, which holds the
    /// key of the entry before. Returns the kind and where the value is.
    pub fn step(
        &self,
        at: &mut usize,
        key: &mut KeyBytes,
    ) -> Result<(EntryKind, Range<usize>), Malformed> {
        let Entry { shared, own, kind, value } = self.entry(at)?;
        key.extend(shared, own).ok_or(Malformed)?;
        Ok((kind, value))
    }

    /// The bytes of a range that [`Page::step`] gave.
    pub fn value(&self, range: Range<usize>) -> &'a [u8] {
        self.entries.get(range).unwrap_or_default()
    }

    /// The entry of `key`: its kind and its value. No key is put together: an entry that shares
    /// more with the one before than that shares with `key` is below `key` too, and one that shares
    /// less is above.
    pub fn find(&self, key: &[u8]) -> Result<Option<(EntryKind, &'a [u8])>, Malformed> {
        let (mut at, mut same) = (self.restart(key)?, 0);
        while at < self.end() {
            let entry = self.entry(&mut at)?;
            if entry.shared > same {
                continue;
            }
            let rest = &key[same..];
            if entry.shared < same || entry.own > rest {
                break;
            }
            if entry.own == rest {
                return Ok(Some((entry.kind, self.value(entry.value))));
            }
            same += entry.own.iter().zip(rest).take_while(|(a, b)| a == b).count();
        }
        Ok(None)
    }
}

/// An entry as it stands in a page.
struct Entry<'a> {
    /// First bytes of the key that are those of the entry before.
    shared: usize,
    /// The other bytes of the key.
    own: &'a [u8],
    kind: EntryKind,
    value: Range<usize>,
}

/// Seven bits a byte, the low ones first.
fn write_number(out: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn read_number(page: &[u8], at: &mut usize) -> Result<u32, Malformed> {
    let mut n = 0u64;
    for shift in [0, 7, 14, 21, 28] {
        let byte = *page.get(*at).ok_or(Malformed)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(n).map_err(|_| Malformed);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: EntryKind = EntryKind { live: true, below: true };

    fn keys() -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> =
            (0..40u32).map(|n| (n * 7919).to_be_bytes().to_vec()).collect();
        keys.extend((0..20u8).map(|n| vec![9; usize::from(n) + 1]));
        keys.push(vec![255; 255]);
        keys.sort();
        keys
    }

    #[test]
    fn entries_come_back_packed_and_not() {
        for compression in [Compression::None, Compression::Lz4] {
            let mut page = PageBuilder::new(compression);
            let value = |n: usize| vec![n as u8; n % 30];
            for (n, key) in keys().iter().enumerate() {
                assert!(page.push(&Record { key, kind: BOTH, value: &value(n) }));
            }
            let stored = page.finish(5, 6).to_vec();
            assert!(stored.len().is_multiple_of(unit_of(compression)));
            let mut bytes = Vec::new();
            assert!(unpack(&stored, 5, 7, &mut bytes).is_err());
            assert!(unpack(&stored, 4, 6, &mut bytes).is_err());
            let page = Page::new(unpack(&stored, 5, 6, &mut bytes).unwrap()).unwrap();
            let (mut at, mut key) = (HEADER, KeyBytes::default());
            for (n, expected) in keys().iter().enumerate() {
                let (kind, range) = page.step(&mut at, &mut key).unwrap();
                assert_eq!(
                    (key.as_ref(), kind, page.value(range)),
                    (&**expected, BOTH, &*value(n))
                );
                assert_eq!(page.find(expected), Ok(Some((BOTH, &*value(n)))));
                let absent = [&expected[..], &[0]].concat();
                assert!(keys().contains(&absent) || page.find(&absent) == Ok(None));
            }
            assert_eq!((at, page.find(&[0])), (page.end(), Ok(None)));
        }
    }

    #[test]
    fn a_page_is_left_when_it_is_full_and_a_long_entry_is_alone() {
        let mut page = PageBuilder::new(Compression::None);
        let long = vec![7; 100_000];
        assert!(page.push(&Record { key: &[1], kind: EntryKind::FRESH, value: &long }));
        assert!(!page.push(&Record { key: &[2], kind: EntryKind::FRESH, value: &[] }));
        let stored = page.finish(0, 0).to_vec();
        assert_eq!(stored.len(), 25 * PAGE);
        let mut bytes = Vec::new();
        let found = Page::new(unpack(&stored, 0, 0, &mut bytes).unwrap()).unwrap();
        assert_eq!(found.find(&[1]), Ok(Some((EntryKind::FRESH, &*long))));
        page.clear();
        let fits = |n: &u16| {
            page.push(&Record { key: &n.to_be_bytes(), kind: EntryKind::FRESH, value: &[0; 30] })
        };
        let count = (0..1000).take_while(fits).count();
        assert!((110..130).contains(&count), "{count}");
        assert_eq!(page.finish(0, 0).len(), PAGE);
    }

    #[test]
    fn bytes_that_are_no_entry_are_refused() {
        for (bytes, good) in [
            (&[0, 1, 5, 3][..], true),
            (&[1, 1, 5, 3], false),
            (&[0, 2, 5, 3], false),
            (&[0, 1, 5, 4], false),
            (&[0, 1, 5, 7], false),
            (&[0, 0, 3], false),
            (&[0, 1, 5, 255, 255, 255, 255, 255, 1], false),
        ] {
            let bytes = [&[0; HEADER][..], bytes, &[0, 0]].concat();
            let page = Page::new(&bytes).unwrap();
            let found = page.step(&mut HEADER.clone(), &mut KeyBytes::default());
            assert_eq!(found.is_ok(), good, "{bytes:?}");
        }
        assert!(Page::new(&[0; 5]).is_err());
    }
}
