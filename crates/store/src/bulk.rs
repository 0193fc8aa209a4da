//! Many blocks at once, for readers that go through a whole store.

use crate::{
    chain_store::{ChainStore, MAX_ITEM_BYTES},
    error::{Error, Result, mismatch},
};

/// What a chain store keeps of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Headers.
    Headers = 0,
    /// Bodies.
    Bodies = 1,
    /// Receipts.
    Receipts = 2,
}

/// Items of one column, back to back, as [`crate::Items`] has them.
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

impl ChainStore {
    /// A part of `count` blocks from number `first` on; `None` when the store does not keep it.
    /// From any thread: nobody waits for another reader.
    ///
    /// # Errors
    /// [`Error::Damaged`] names the file; [`Error::Mismatch`] when the store has not all of these
    /// blocks, or they have 4 GiB or more.
    pub fn items(&self, part: Part, first: u64, count: u64) -> Result<Option<OwnedItems>> {
        let column = part as usize;
        if !self.appended.kept[column] || count == 0 {
            return Ok(None);
        }
        let from = self.range(first, count)?;
        let crate::chain_store::Column { data, ends } = &self.columns[column];
        let mut bytes = Vec::with_capacity(count as usize * 8 + 8);
        ends.stream(from.saturating_sub(1) * 8..(from + count) * 8, |piece| {
            bytes.extend_from_slice(piece);
        })?;
        let mut positions = bytes.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end));
        let start = if from == 0 { 0 } else { positions.next().unwrap_or(0) };
        let mut items = OwnedItems::default();
        let mut last = start;
        for (end, item) in positions.zip(from..) {
            let len = end.checked_sub(last).filter(|len| *len <= MAX_ITEM_BYTES);
            if len.is_none() || end > data.len() {
                let (path, offset) = ends.location(item * 8);
                let expected = format!("{last} to {}", data.len().min(last + MAX_ITEM_BYTES));
                let (what, found) = ("end of an item", end.to_string());
                return Err(Error::Damaged { path, offset, what, expected, found });
            }
            let Ok(end) = u32::try_from(end - start) else {
                return Err(mismatch("bytes of blocks to read at once", "less than 4 GiB", "more"));
            };
            items.ends.push(end);
            last = start + u64::from(end);
        }
        items.bytes.reserve_exact((last - start) as usize);
        data.stream(start..last, |piece| items.bytes.extend_from_slice(piece))?;
        Ok(Some(items))
    }

    /// Position of the first of these blocks, all of which the store must have.
    fn range(&self, first: u64, count: u64) -> Result<u64> {
        let from = first.checked_sub(self.appended.first);
        let end = from.and_then(|from| from.checked_add(count));
        match (from, end) {
            (Some(from), Some(end)) if end <= self.appended.count => Ok(from),
            _ => {
                let (have, next) = (self.appended.first, self.appended.next());
                let found = format!("{count} from {first} on");
                Err(mismatch("blocks to read", format!("{have} to before {next}"), found))
            }
        }
    }
}
