//! Pages: entries in the order of keys, a few dozen in about 4 KiB.
//!
//! An entry shares a prefix of its key with the entry before. Every eighth entry shares nothing,
//! and the page ends with the offsets of these restarts: a key is found by binary search among them
//! and a short scan. Layout: `docs/formats/store.md`.

use std::ops::Range;

use super::{Compression, EntryKind, MAX_VALUE_BYTES, Record, key::KeyBytes};

/// Bytes of entries that a page has at most, unless one alone is longer.
pub(crate) const PAGE: usize = 4096;
/// Bytes of a page if pages are compressed.
pub(crate) const COMPRESSED_PAGE: usize = 16_384;
/// Checksum, bytes stored, bytes of the page when it is not compressed.
pub(crate) const HEADER: usize = 12;
/// Entries from one that shares nothing to the next.
const RESTART: usize = 8;

/// The bytes do not make an entry, although the checksum holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Unit of the size of pages.
pub(crate) fn unit_of(compression: Compression) -> usize {
    match compression {
        Compression::None => PAGE,
        Compression::Lz4 => 512,
    }
}

/// A page under construction.
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

/// The checksum of a page, which covers its position as well.
fn checksum(page: &[u8], run: u64, unit: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&run.to_le_bytes());
    hasher.update(&unit.to_le_bytes());
    hasher.update(page.get(4..).unwrap_or_default());
    hasher.finalize()
}

/// A page that was read and verified.
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

    /// Offset of the last restart with a key up to `key`; the first entry if all are greater.
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

    /// Decodes the entry at `at` and moves `at` past it.
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

    /// Decodes the entry at `at`, moves `at` past it and writes its key to `key`, which holds the
    /// key of the entry before. Returns the kind and the range of the value.
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

/// An encoded entry of a page.
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
mod tests;
