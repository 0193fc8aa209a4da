//! Index entries of a freezer table: 6 bytes each, big-endian.

/// Bytes of an index entry.
pub(super) const ENTRY: usize = 6;

/// An index entry. The first one of a table describes its tail: the number of the first data file,
/// and instead of an end the number of items deleted with earlier files. Entry `k + 1` has the end
/// of item `k`, counted from the tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Number of the data file.
    pub file: u16,
    /// Offset in that file just after the item.
    pub end: u32,
}

impl Entry {
    /// Reads an entry.
    pub fn parse(bytes: &[u8; ENTRY]) -> Self {
        let [f0, f1, e0, e1, e2, e3] = *bytes;
        Self { file: u16::from_be_bytes([f0, f1]), end: u32::from_be_bytes([e0, e1, e2, e3]) }
    }

    /// Writes an entry.
    pub fn to_bytes(self) -> [u8; ENTRY] {
        let ([f0, f1], [e0, e1, e2, e3]) = (self.file.to_be_bytes(), self.end.to_be_bytes());
        [f0, f1, e0, e1, e2, e3]
    }

    /// The start of an item that ends at `self`, if the item before it ends at `before`. An item
    /// never spans two files, and a file is created only for an item that has bytes. `None` if the
    /// entries contradict that.
    pub fn start_after(self, before: Entry) -> Option<u32> {
        if self.file == before.file {
            (self.end >= before.end).then_some(before.end)
        } else {
            (before.file.checked_add(1) == Some(self.file) && self.end > 0).then_some(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: u16, end: u32) -> Entry {
        Entry { file, end }
    }

    #[test]
    fn entries_round_trip() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc];
        assert_eq!(Entry::parse(&bytes), entry(0x1234, 0x5678_9abc));
        assert_eq!(entry(0x1234, 0x5678_9abc).to_bytes(), bytes);
    }

    #[test]
    fn an_item_begins_where_the_last_one_ends_or_in_the_next_file() {
        assert_eq!(entry(1, 20).start_after(entry(1, 10)), Some(10));
        assert_eq!(entry(1, 10).start_after(entry(1, 10)), Some(10));
        assert_eq!(entry(2, 5).start_after(entry(1, 10)), Some(0));
    }

    #[test]
    fn rejects_entries_out_of_order() {
        for (before, found) in [
            (entry(1, 10), entry(1, 9)),
            (entry(1, 10), entry(0, 20)),
            (entry(1, 10), entry(3, 5)),
            (entry(1, 10), entry(2, 0)),
            (entry(u16::MAX, 10), entry(0, 5)),
        ] {
            assert_eq!(found.start_after(before), None, "{found:?} after {before:?}");
        }
    }
}
