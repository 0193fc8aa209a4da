//! A column: items of variable length, back to back in one buffer.

/// Items of variable length, back to back: item `i` is `bytes[ends[i - 1]..ends[i]]`.
///
/// One allocation holds thousands of items and is reused from chunk to chunk. A column has less
/// than 4 GiB, so an end fits 32 bits; [`crate::ChunkLimit`] keeps readers far below that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The items.
    pub bytes: Vec<u8>,
    /// The end of each item in `bytes`, ascending.
    pub ends: Vec<u32>,
}

impl Column {
    /// An empty column.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the items and retains the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Keeps the first `len` items; all of them when there are fewer.
    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are no items.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Offset of item `i` in `bytes`.
    #[inline]
    pub fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] as usize }
    }

    /// Returns item `i`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such item, as a slice does.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i] as usize]
    }

    /// Appends a copy of `item`.
    #[inline]
    pub fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.end_item();
    }

    /// Ends an item whose bytes the caller has appended to `bytes`.
    ///
    /// # Panics
    ///
    /// Panics if the column has grown to 4 GiB.
    #[inline]
    pub fn end_item(&mut self) {
        let end = self.bytes.len();
        assert!(end <= u32::MAX as usize, "a column holds less than 4 GiB");
        self.ends.push(end as u32);
    }

    /// The items in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_items_in_order_empty_ones_too() {
        let items: [&[u8]; 4] = [b"", b"abc", b"", b"d"];
        let mut column = Column::new();
        assert!(column.is_empty());
        for item in items {
            column.push(item);
        }
        assert_eq!(column.iter().collect::<Vec<_>>(), items);
        assert_eq!((column.len(), column.get(1), column.start(3)), (4, &b"abc"[..], 3));
        column.truncate(2);
        assert_eq!(column.iter().collect::<Vec<_>>(), items[..2]);
        column.truncate(7);
        assert_eq!((column.len(), column.bytes.len()), (2, 3));
        column.clear();
        assert_eq!((column.len(), column.bytes.len()), (0, 0));
    }

    #[test]
    fn closes_items_written_in_place() {
        let mut column = Column::new();
        column.bytes.extend_from_slice(b"xy");
        column.end_item();
        assert_eq!(column.get(0), b"xy");
    }
}
