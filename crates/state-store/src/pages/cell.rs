//! A cell: the entries below one reference, as a record of a page. Layout: `docs/formats/pages.md`.

use std::{borrow::Cow, ops::Range};

use blockmill_trie::nibbles::nibble;

/// Entries of a cell at most.
pub(super) const MOST: usize = 32;
/// A branch over cells with so many entries, or fewer, becomes a cell. Far below [`MOST`], so that
/// a key that comes and goes does not split and merge each time.
pub(super) const FEW: usize = 12;
/// Bytes of a record with more than one entry, at most.
pub(super) const MOST_BYTES: usize = 4096;
/// Slots that stand in the entry of their account, at most, and the bytes that they take.
pub(super) const MOST_NESTED: usize = 16;
const MOST_NESTED_BYTES: usize = 1024;
/// A storage trie with so many slots, or fewer, goes back into the entry of its account.
pub(super) const FEW_NESTED: usize = 8;
/// The longest value. An account of Ethereum has 110 bytes at most.
pub(super) const MAX_VALUE: usize = 127;
/// The trie of accounts.
pub(super) const ACCOUNTS: u32 = 0;

/// Bytes of a record before its prefix: length, trie, depth, entries.
const HEADER: usize = 8;
/// Bit of the number of entries: the record is that of a branch, and has so many children.
pub(super) const BRANCH: u8 = 0x80;
/// Bit of a value's length: the common end of accounts without storage and code is left out.
const CUT: u8 = 0x80;

/// A leaf of a trie. That of an account may have the account's slots with it.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub key: [u8; 32],
    /// The value, without the common end if that is `cut` off.
    pub value: Cow<'a, [u8]>,
    pub cut: bool,
    /// Slots of the account: key, length of the value, value.
    pub nested: Cow<'a, [u8]>,
}

impl<'a> Entry<'a> {
    /// A slot.
    pub fn slot(key: [u8; 32], value: &'a [u8]) -> Self {
        Self { key, value: Cow::Borrowed(value), cut: false, nested: Cow::Borrowed(&[]) }
    }
}

/// Which record: the trie, and the half-bytes of `key` that all of its entries begin with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub trie: u32,
    pub key: [u8; 32],
    pub depth: usize,
}

/// Bytes of the record of these entries.
fn record_len(trie: u32, depth: usize, entries: &[Entry<'_>]) -> usize {
    let rest = 32 - depth / 2;
    let each = |entry: &Entry<'_>| match trie {
        ACCOUNTS => rest + 1 + entry.value.len() + 2 + entry.nested.len(),
        _ => rest + 1 + entry.value.len(),
    };
    HEADER + depth.div_ceil(2) + entries.iter().map(each).sum::<usize>()
}

/// Whether these entries are one cell.
pub(super) fn fits(trie: u32, depth: usize, entries: &[Entry<'_>]) -> bool {
    let few = entries.len() <= MOST && record_len(trie, depth, entries) <= MOST_BYTES;
    few || entries.len() == 1
}

/// The record of these entries, at least one, at most [`MOST`].
pub(super) fn encode(place: &Place, entries: &[Entry<'_>]) -> Box<[u8]> {
    let mut out = head(place, entries.len() as u8, record_len(place.trie, place.depth, entries));
    for entry in entries {
        out.extend_from_slice(&entry.key[place.depth / 2..]);
        out.push(entry.value.len() as u8 | if entry.cut { CUT } else { 0 });
        out.extend_from_slice(&entry.value);
        if place.trie == ACCOUNTS {
            out.extend((entry.nested.len() as u16).to_le_bytes());
            out.extend_from_slice(&entry.nested);
        }
    }
    out.into_boxed_slice()
}

/// The record of a cell of slots with another value, which with its length takes the place of the
/// bytes `at`; none where the cell would not be one any more.
pub(super) fn with_value(record: &[u8], at: Range<usize>, value: &[u8]) -> Option<Box<[u8]>> {
    let (before, after) = (record.get(..at.start)?, record.get(at.end..)?);
    let len = before.len() + 1 + value.len() + after.len();
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(before);
    out.push(value.len() as u8);
    out.extend_from_slice(value);
    out.extend_from_slice(after);
    out.get_mut(..2)?.copy_from_slice(&(len as u16).to_le_bytes());
    let fits = len <= MOST_BYTES || Record::new(&out)?.count == 1;
    fits.then(|| out.into_boxed_slice())
}

/// What every record of so many bytes begins with.
pub(super) fn head(place: &Place, count: u8, len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len);
    out.extend((len as u16).to_le_bytes());
    out.extend(place.trie.to_le_bytes());
    out.extend([place.depth as u8, count]);
    out.extend_from_slice(&prefix(place)[..place.depth.div_ceil(2)]);
    out
}

/// Bytes of that.
pub(super) fn head_len(depth: usize) -> usize {
    HEADER + depth.div_ceil(2)
}

/// The key with zeros behind the first `depth` half-bytes.
fn prefix(place: &Place) -> [u8; 32] {
    let mut prefix = [0; 32];
    let whole = place.depth / 2;
    prefix[..whole].copy_from_slice(&place.key[..whole]);
    if place.depth % 2 == 1 {
        prefix[whole] = place.key[whole] & 0xf0;
    }
    prefix
}

/// A record that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub trie: u32,
    pub depth: usize,
    /// Zeros behind the first `depth` half-bytes.
    pub prefix: [u8; 32],
    /// Entries; none of a branch.
    pub count: usize,
    pub is_branch: bool,
    /// What is behind the head.
    pub body: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads the head of the record that `bytes` are; none where they are no record.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
        let [_, _, a, b, c, d, depth, count] = *head;
        let depth = usize::from(depth);
        let (path, body) = rest.split_at_checked(depth.div_ceil(2))?;
        let mut prefix = [0; 32];
        prefix.get_mut(..path.len())?.copy_from_slice(path);
        let trie = u32::from_le_bytes([a, b, c, d]);
        let is_branch = count & BRANCH != 0;
        let entries = if is_branch { 0 } else { count.into() };
        (depth <= 64 && count > 0).then_some(Self {
            trie,
            depth,
            prefix,
            count: entries,
            is_branch,
            body,
        })
    }

    /// Its entries in order; fewer than `count` where they are not whole.
    pub fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        let mut rest = self.body;
        (0..self.count).map_while(move |_| self.entry(&mut rest))
    }

    /// The entry of a key, and where what is behind its key stands in the record.
    pub fn find(self, key: &[u8; 32]) -> Option<(Range<usize>, Entry<'a>)> {
        let (common, own) = key.split_at_checked(self.depth / 2)?;
        if common != &self.prefix[..common.len()] {
            return None;
        }
        let end = head_len(self.depth) + self.body.len();
        let mut rest = self.body;
        for _ in 0..self.count {
            let is_it = take(&mut rest, own.len())? == own;
            let start = end - rest.len();
            let entry = self.behind(*key, &mut rest)?;
            if is_it {
                return Some((start..end - rest.len(), entry));
            }
        }
        None
    }

    fn entry(&self, rest: &mut &'a [u8]) -> Option<Entry<'a>> {
        let mut key = self.prefix;
        let whole = self.depth / 2;
        key[whole..].copy_from_slice(take(rest, 32 - whole)?);
        self.behind(key, rest)
    }

    /// The entry of this key, of which what is behind the key comes next.
    fn behind(&self, key: [u8; 32], rest: &mut &'a [u8]) -> Option<Entry<'a>> {
        let len = take(rest, 1)?[0];
        let value = take(rest, usize::from(len & !CUT))?;
        let mut nested: &[u8] = &[];
        if self.trie == ACCOUNTS {
            let len = take(rest, 2)?;
            nested = take(rest, usize::from(u16::from_le_bytes([len[0], len[1]])))?;
        }
        let (value, nested) = (Cow::Borrowed(value), Cow::Borrowed(nested));
        Some(Entry { key, value, cut: len & CUT != 0, nested })
    }
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(taken)
}

/// The records of a page, which begin at multiples of `offset_unit_bytes`.
pub(super) fn records(mut bytes: &[u8], offset_unit_bytes: usize) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let len = bytes.first_chunk::<2>().map(|len| u16::from_le_bytes(*len).into())?;
        let record = bytes.get(..len).filter(|record| !record.is_empty())?;
        bytes = bytes.get(len.next_multiple_of(offset_unit_bytes)..).unwrap_or_default();
        Some(record)
    })
}

/// Bytes of the record that `bytes` begin with, where it is that of the branch or cell at a place.
pub(super) fn len_at(bytes: &[u8], place: &Place, is_branch: bool) -> Option<usize> {
    let (prefix, len) = (prefix(place), place.depth.div_ceil(2));
    let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
    let [a, b, trie @ .., depth, count] = *head;
    let is_it = (u32::from_le_bytes(trie), depth as usize) == (place.trie, place.depth);
    let is_it = is_it && count > 0 && (count & BRANCH != 0) == is_branch;
    let is_it = is_it && rest.get(..len) == Some(&prefix[..len]);
    let bytes_of = usize::from(u16::from_le_bytes([a, b]));
    (is_it && (HEADER + len..=bytes.len()).contains(&bytes_of)).then_some(bytes_of)
}

/// Slots in the entry of an account.
pub(super) fn nested(mut bytes: &[u8]) -> impl Iterator<Item = ([u8; 32], &[u8])> {
    std::iter::from_fn(move || {
        let key = *take(&mut bytes, 32)?.first_chunk()?;
        let len = take(&mut bytes, 1)?[0];
        Some((key, take(&mut bytes, len.into())?))
    })
}

/// Slots as the entry of their account holds them; none where they are too many for that.
pub(super) fn nest(slots: &[Entry<'_>], most: usize) -> Option<Vec<u8>> {
    let bytes = |slot: &Entry<'_>| 33 + slot.value.len();
    let is_small =
        slots.len() <= most && slots.iter().map(bytes).sum::<usize>() <= MOST_NESTED_BYTES;
    let mut out = vec![];
    for slot in slots.iter().filter(|_| is_small) {
        out.extend_from_slice(&slot.key);
        out.push(slot.value.len() as u8);
        out.extend_from_slice(&slot.value);
    }
    is_small.then_some(out)
}

/// Groups of entries, or of anything with a key, that have the same half-byte at `depth`.
pub(super) fn by_nibble<T>(
    items: &[T],
    depth: usize,
    key: impl Fn(&T) -> &[u8; 32] + Copy,
) -> impl Iterator<Item = (u8, &[T])> {
    let same = move |a: &T, b: &T| nibble(key(a), depth) == nibble(key(b), depth);
    items.chunk_by(same).map(move |group| (nibble(key(&group[0]), depth), group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_testkit::{Random, rounds};

    fn entries(random: &mut Random, trie: u32, depth: usize, count: usize) -> Vec<Entry<'static>> {
        let prefix: [u8; 32] = random.array();
        let mut entries: Vec<_> = (0..count)
            .map(|_| {
                let mut key: [u8; 32] = random.array();
                let whole = depth / 2;
                key[..whole].copy_from_slice(&prefix[..whole]);
                if depth % 2 == 1 {
                    key[whole] = key[whole] & 15 | prefix[whole] & 0xf0;
                }
                let len = random.below(MAX_VALUE + 1);
                let (value, cut) = (Cow::Owned(random.bytes(len)), random.coin());
                let len = if trie == ACCOUNTS { random.below(200_usize) } else { 0 };
                Entry { key, value, cut, nested: Cow::Owned(random.bytes(len)) }
            })
            .collect();
        entries.sort_by_key(|entry| entry.key);
        entries.dedup_by_key(|entry| entry.key);
        entries
    }

    #[test]
    fn a_record_comes_back() {
        let mut random = Random::new(1);
        for round in 0..rounds(2000) {
            let (trie, depth) = (random.below(3_u32), round % 65);
            let count = 1 + random.below(6_usize);
            let entries = entries(&mut random, trie, depth, count);
            let place = Place { trie, key: entries[0].key, depth };
            let bytes = encode(&place, &entries);
            assert_eq!(bytes.len(), record_len(trie, depth, &entries));
            let record = Record::new(&bytes).unwrap();
            assert_eq!(record.count, entries.len());
            let other = encode(&Place { trie: trie + 1, ..place }, &entries);
            let two = [&bytes[..], &other].concat();
            assert_eq!(len_at(&two, &place, false), Some(bytes.len()));
            assert_eq!(len_at(&two, &Place { trie: trie + 1, ..place }, false), None);
            assert_eq!(len_at(&bytes[..bytes.len() - 1], &place, false), None);
            let found: Vec<_> = record.entries().collect();
            let parts = |entries: &[Entry<'_>]| -> Vec<_> {
                let part = |e: &Entry<'_>| (e.key, e.value.to_vec(), e.cut, e.nested.to_vec());
                entries.iter().map(part).collect()
            };
            assert_eq!(parts(&found), parts(&entries));
            let unit = [4, 16, 64][round % 3];
            let gap = vec![0; bytes.len().next_multiple_of(unit) - bytes.len()];
            let page = [&bytes[..], &gap, &bytes[..], &[0; 140]].concat();
            assert_eq!(records(&page, unit).collect::<Vec<_>>(), [&bytes[..], &bytes[..]]);
        }
    }

    #[test]
    fn a_value_takes_the_place_of_another() {
        let mut random = Random::new(3);
        let mut refused = 0;
        for round in 0..rounds(2000) {
            let (trie, depth) = (1 + random.below(2_u32), round % 64);
            let count = 1 + random.below(MOST);
            let mut entries = entries(&mut random, trie, depth, count);
            let longest = Cow::Owned(random.bytes(MAX_VALUE));
            for entry in &mut entries {
                entry.cut = false;
                if round % 2 == 0 {
                    entry.value.clone_from(&longest);
                }
            }
            let place = Place { trie, key: entries[0].key, depth };
            let bytes = encode(&place, &entries);
            let record = Record::new(&bytes).unwrap();
            assert!(record.find(&random.array()).is_none());
            let which = random.below(entries.len());
            let (at, entry) = record.find(&entries[which].key).unwrap();
            assert_eq!((entry.key, &entry.value), (entries[which].key, &entries[which].value));
            let len = 1 + random.below(MAX_VALUE);
            let value = random.bytes(len);
            let changed = with_value(&bytes, at, &value);
            entries[which].value = Cow::Owned(value);
            let expected = fits(trie, depth, &entries).then(|| encode(&place, &entries));
            refused += usize::from(expected.is_none());
            assert_eq!(changed, expected);
        }
        assert!(refused > 0, "no record became too long");
    }

    #[test]
    fn bytes_that_are_no_record_do_no_harm() {
        let mut random = Random::new(2);
        let mut read = 0;
        for _ in 0..rounds(20_000) {
            let entries = entries(&mut random, ACCOUNTS, 3, 3);
            let mut bytes =
                encode(&Place { trie: 0, key: entries[0].key, depth: 3 }, &entries).into_vec();
            random.flip(&mut bytes);
            bytes.truncate(random.below(bytes.len() + 1));
            for record in records(&bytes, 4).filter_map(Record::new) {
                read += record.entries().map(|entry| nested(&entry.nested).count()).sum::<usize>();
                if let Some((at, _)) = record.find(&entries[0].key) {
                    _ = with_value(&bytes, at, b"value");
                }
            }
        }
        assert!(read > 0, "no slot was read");
    }
}
