//! A column of a chain store: the bytes of its items and the end of each, in two segments.

use crate::{
    error::{Error, Result, mismatch},
    segment::Segment,
};

/// The largest item of a store: far larger than any block. It bounds what a read allocates for a
/// corrupt end offset.
pub const MAX_ITEM_BYTES: u64 = 1 << 27;

/// Items of one column, back to back.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// The bytes of all items.
    pub bytes: &'a [u8],
    /// Where each item ends in `bytes`; the last end is the length of `bytes`.
    pub ends: &'a [u32],
}

/// Items of one column, back to back, as [`Items`] has them.
#[derive(Clone, Debug, Default)]
pub struct OwnedItems {
    /// The bytes of all items.
    pub bytes: Vec<u8>,
    /// Where each item ends in `bytes`.
    pub ends: Vec<u32>,
}

impl OwnedItems {
    /// Item `i`, from 0; empty where there is none.
    #[must_use]
    pub fn get(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(i).copied().unwrap_or(start);
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }
}

impl Items<'_> {
    /// Checks that these are `count` consecutive items.
    pub(crate) fn check(&self, count: usize) -> Result<()> {
        if self.ends.len() != count {
            return Err(mismatch("number of items", count, self.ends.len()));
        }
        let mut start = 0;
        for end in self.ends {
            if *end < start || u64::from(end - start) > MAX_ITEM_BYTES {
                let expected = format!("{start} to {}", u64::from(start) + MAX_ITEM_BYTES);
                return Err(mismatch("end of an item", expected, end));
            }
            start = *end;
        }
        if start as usize != self.bytes.len() {
            return Err(mismatch("bytes in a column", start, self.bytes.len()));
        }
        Ok(())
    }
}

/// A column, both parts of which grow at the end only. Where the first items were removed, `ends`
/// begins with the end of the first that is left, and `data` with its bytes.
pub(crate) struct Column {
    pub data: Segment,
    pub ends: Segment,
}

impl Column {
    /// Items in the column.
    pub fn count(&self) -> u64 {
        self.ends.len() / 8
    }

    /// Position of the first item that was not removed.
    pub fn first(&self) -> u64 {
        self.ends.start() / 8
    }

    /// Gives up the items before `position`, which must be there.
    pub fn give_up_before(&mut self, position: u64) -> Result<()> {
        if position > self.first() {
            self.data.give_up_before(self.end_of(position - 1)?)?;
            self.ends.give_up_before(position * 8)?;
        }
        Ok(())
    }

    /// Where the item at `position` ends in `data`.
    pub fn end_of(&self, position: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.ends.read(position * 8, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Appends the ends of items whose bytes were appended to `data` at `base`.
    pub fn append_ends(&mut self, base: u64, ends: &[u32]) -> Result<()> {
        let absolute: Vec<u8> =
            ends.iter().flat_map(|end| (base + u64::from(*end)).to_le_bytes()).collect();
        self.ends.append(&absolute)
    }

    /// The item at `position`, which must be there.
    pub fn item(&self, position: u64) -> Result<Vec<u8>> {
        let start = match position.checked_sub(1).filter(|_| position > self.first()) {
            None => self.data.start(),
            Some(before) => self.end_of(before)?,
        };
        let end = self.end_of(position)?;
        self.check_end(position, start, end)?;
        let mut bytes = vec![0; (end - start) as usize];
        self.data.read(start, &mut bytes)?;
        Ok(bytes)
    }

    /// `count` items from `position` on, which must be there.
    pub fn items(&self, position: u64, count: u64) -> Result<OwnedItems> {
        let mut bytes = Vec::with_capacity(count as usize * 8 + 8);
        let is_first = position == self.first();
        let from = position.saturating_sub(u64::from(!is_first));
        self.ends.stream(from * 8..(position + count) * 8, |piece| {
            bytes.extend_from_slice(piece);
        })?;
        let mut ends = bytes.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end));
        let start = if is_first { self.data.start() } else { ends.next().unwrap_or(0) };
        let mut items = OwnedItems::default();
        let mut last = start;
        for (end, item) in ends.zip(position..) {
            self.check_end(item, last, end)?;
            let Ok(end) = u32::try_from(end - start) else {
                return Err(mismatch("bytes of blocks to read at once", "less than 4 GiB", "more"));
            };
            items.ends.push(end);
            last = start + u64::from(end);
        }
        items.bytes.reserve_exact((last - start) as usize);
        self.data.stream(start..last, |piece| items.bytes.extend_from_slice(piece))?;
        Ok(items)
    }

    /// Checks that the item at `position` can extend from `start` to `end`.
    fn check_end(&self, position: u64, start: u64, end: u64) -> Result<()> {
        let most = self.data.len().min(start.saturating_add(MAX_ITEM_BYTES));
        if (start..=most).contains(&end) {
            return Ok(());
        }
        let (path, offset) = self.ends.file.location(position * 8);
        let (expected, found) = (format!("{start} to {most}"), end.to_string());
        Err(Error::Corrupt { path, offset, what: "end of an item", expected, found })
    }

    /// How many of the first `limit` items end at byte `position` or before; `None` when their ends
    /// cannot be read.
    pub fn items_before(&self, position: u64, limit: u64) -> Option<u64> {
        let (mut low, mut high) = (self.first().min(limit), limit);
        while low < high {
            let middle = low.midpoint(high);
            let end = self.end_of(middle).ok()?;
            if end <= position { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}
