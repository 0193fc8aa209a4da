//! A cell: the entries below one reference, as a record of a page. Layout: `docs/formats/pages.md`.

use std::{borrow::Cow, ops::Range};

use blockmill_trie::nibbles::nibble;

/// Entries of a cell at most.
pub(super) const MOST: usize = 32;
/// A branch over cells with at most this many entries becomes a cell. Much less than [`MOST`], so
/// that a key that is added and removed repeatedly does not split and merge each time.
pub(super) const FEW: usize = 12;
/// Bytes of a record with more than one entry, at most.
pub(super) const MOST_BYTES: usize = 4096;
/// Most slots in the entry of their account, and most bytes that they take.
pub(super) const MOST_NESTED: usize = 16;
const MOST_NESTED_BYTES: usize = 1024;
/// A storage trie with at most this many slots returns to the entry of its account.
pub(super) const FEW_NESTED: usize = 8;
/// The longest value. An account of Ethereum has 110 bytes at most.
pub(super) const MAX_VALUE: usize = 127;
/// The trie of accounts.
pub(super) const ACCOUNTS: u32 = 0;

/// Bytes of a record before its prefix: length, trie, depth, entries.
const HEADER: usize = 8;
/// Bit of the number of entries: the record is a branch with this many children.
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

/// Which record: the trie, and the nibbles of `key` that all of its entries begin with.
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

/// The record of a cell of slots in which a value replaces the bytes `at`, its length included;
/// `None` if the result is too long for a cell.
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

/// The head of every record of this many bytes.
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

/// The key with zeros after the first `depth` nibbles.
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
    /// The key with zeros after the first `depth` nibbles.
    pub prefix: [u8; 32],
    /// Number of entries; 0 for a branch.
    pub count: usize,
    pub is_branch: bool,
    /// The bytes after the head.
    pub body: &'a [u8],
}

impl<'a> Record<'a> {
    /// Decodes the head of a record; `None` if the bytes are no record.
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

    /// The entry of a key, and the range of the bytes after the key in the record.
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

    /// Decodes the entry of this key, whose bytes after the key come next.
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

/// Length of the record at the start of `bytes`, if it is that of the branch or cell at a place.
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

/// Encodes slots for the entry of their account; `None` if there are too many.
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

/// Groups of entries, or of anything with a key, that have the same nibble at `depth`.
pub(super) fn by_nibble<T>(
    items: &[T],
    depth: usize,
    key: impl Fn(&T) -> &[u8; 32] + Copy,
) -> impl Iterator<Item = (u8, &[T])> {
    let same = move |a: &T, b: &T| nibble(key(a), depth) == nibble(key(b), depth);
    items.chunk_by(same).map(move |group| (nibble(key(&group[0]), depth), group))
}

#[cfg(test)]
mod tests;
