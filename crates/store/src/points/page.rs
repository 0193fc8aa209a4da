//! Pages: entries in the order of keys, a few dozen in about 4 KiB.
//!
//! An entry shares the first bytes of its id with the one before; the first entry of a page shares
//! nothing. Layout: `docs/formats/points.md`.

use std::ops::Range;

use super::{KEY_BYTES, Key, Kind, MAX_POINT_BYTES, Record, number};

/// Bytes of a block; a page is one block, or as many as an entry needs that is alone in it.
pub(crate) const BLOCK: usize = 4096;
/// Checksum, and the end of the entries.
pub(crate) const HEADER: usize = 8;
/// Bytes of a key's id.
const ID: usize = 32;

/// The bytes do not make an entry, although the checksum holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A page in the making.
pub(crate) struct PageBuilder {
    bytes: Vec<u8>,
    entries: usize,
    last: Key,
}

impl PageBuilder {
    pub fn new() -> PageBuilder {
        PageBuilder { bytes: vec![0; HEADER], entries: 0, last: [0; KEY_BYTES] }
    }

    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Does the page hold one entry?
    pub fn is_first(&self) -> bool {
        self.entries == 1
    }

    /// Puts in an entry with a greater key; false when it must wait for the next page.
    pub fn push(&mut self, record: &Record) -> bool {
        let before = self.bytes.len();
        let same = record.key[..ID].iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        let shared = if self.is_empty() { 0 } else { same };
        self.bytes.push(shared as u8);
        self.bytes.extend_from_slice(&record.key[shared..ID]);
        write_number(&mut self.bytes, number(record.key));
        let len = (record.value.len() as u32) << 2;
        write_number(&mut self.bytes, len | u32::from(record.kind.bits()));
        self.bytes.extend_from_slice(record.value);
        if self.bytes.len() > BLOCK && before > HEADER {
            self.bytes.truncate(before);
            return false;
        }
        self.last = *record.key;
        self.entries += 1;
        true
    }

    /// The page, which is block `block` of run `run`, in whole blocks.
    pub fn finish(&mut self, run: u64, block: u32) -> &[u8] {
        let end = self.bytes.len() as u32;
        self.bytes[4..HEADER].copy_from_slice(&end.to_le_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        let sum = checksum(&self.bytes, run, block);
        self.bytes[..4].copy_from_slice(&sum.to_le_bytes());
        &self.bytes
    }

    /// Makes ready for the next page.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER);
        self.entries = 0;
    }
}

/// The checksum of a page, which also says where the page belongs.
fn checksum(page: &[u8], run: u64, block: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&run.to_le_bytes());
    hasher.update(&block.to_le_bytes());
    hasher.update(page.get(4..).unwrap_or_default());
    hasher.finalize()
}

/// Where the entries of a page end; else the checksums that should be there and that are.
pub(crate) fn check(page: &[u8], run: u64, block: u32) -> Result<usize, (u32, u32)> {
    let word = |at: usize| page[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let (expected, end) = (word(0), word(4) as usize);
    let found = checksum(page, run, block);
    if expected != found || !(HEADER..=page.len()).contains(&end) {
        return Err((expected, found));
    }
    Ok(end)
}

/// Reads the entry at `at`, moves `at` behind it and puts its key into `key`, which holds the key
/// of the entry before. Returns the kind and where the value is.
pub(crate) fn step(
    page: &[u8],
    at: &mut usize,
    key: &mut Key,
) -> Result<(Kind, Range<usize>), Malformed> {
    let shared = usize::from(*page.get(*at).ok_or(Malformed)?);
    *at += 1;
    let own = key.get_mut(shared..ID).ok_or(Malformed)?;
    own.copy_from_slice(page.get(*at..*at + own.len()).ok_or(Malformed)?);
    *at += ID - shared;
    let number = read_number(page, at)?;
    key[ID..].copy_from_slice(&number.to_le_bytes());
    let meta = read_number(page, at)?;
    let kind = Kind::from_bits(meta as u8 & 3).ok_or(Malformed)?;
    let value = *at..*at + (meta >> 2) as usize;
    if value.len() > MAX_POINT_BYTES || value.end > page.len() {
        return Err(Malformed);
    }
    *at = value.end;
    Ok((kind, value))
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

    const BOTH: Kind = Kind { live: true, below: true };

    #[test]
    fn entries_come_back_and_long_ones_get_pages_of_their_own() {
        let value = vec![9; 5000];
        let mut page = PageBuilder::new();
        let mut key = [3; KEY_BYTES];
        let mut kept = Vec::new();
        for n in [0u32, 1, 127, 128, 300, 1 << 20, u32::MAX] {
            key[ID..].copy_from_slice(&n.to_le_bytes());
            let value = &value[..n.min(100) as usize];
            assert!(page.push(&Record { key: &key, kind: BOTH, value }));
            kept.push((key, value));
        }
        assert!(!page.push(&Record { key: &[4; 36], kind: Kind::FRESH, value: &value }));
        let bytes = page.finish(5, 6).to_vec();
        assert_eq!(bytes.len(), BLOCK);
        assert!(check(&bytes, 5, 7).is_err() && check(&bytes, 4, 6).is_err());
        let end = check(&bytes, 5, 6).unwrap();
        let (mut at, mut key) = (HEADER, [0; KEY_BYTES]);
        for (expected, value) in kept {
            let (kind, range) = step(&bytes[..end], &mut at, &mut key).unwrap();
            assert_eq!((key, kind, &bytes[range]), (expected, BOTH, value));
        }
        assert_eq!(at, end);
        page.clear();
        assert!(page.push(&Record { key: &[4; 36], kind: Kind::FRESH, value: &value }));
        assert_eq!(page.finish(0, 0).len(), 2 * BLOCK);
    }

    #[test]
    fn bytes_that_are_no_entry_are_refused() {
        for bytes in [&[33][..], &[0, 1], &[31, 1], &[31, 1, 5, 4], &[31, 1, 5, 5], &[31, 1, 5, 3]]
        {
            let mut key = [0; KEY_BYTES];
            assert_eq!(step(bytes, &mut 0, &mut key).is_ok(), bytes == [31, 1, 5, 3], "{bytes:?}");
        }
        let endless = [32, 255, 255, 255, 255, 255, 1];
        assert_eq!(step(&endless, &mut 0, &mut [0; KEY_BYTES]), Err(Malformed));
    }
}
