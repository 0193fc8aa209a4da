//! Entries of tables that wait for the commit.

/// A table whose entries are cached until the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedTable {
    /// Positions of transactions.
    Transactions,
    /// `Conflicts` attributes.
    Conflicts,
    /// Transfers by account.
    Transfers,
    /// Last changes of balances.
    Updates,
}

impl CachedTable {
    const ALL: [Self; 4] = [Self::Transactions, Self::Conflicts, Self::Transfers, Self::Updates];
}

/// Entries of tables, for each table in the order in which they were put. Of equal keys the last
/// one counts.
#[derive(Debug, Default)]
pub(crate) struct TableCache([Entries; CachedTable::ALL.len()]);

/// Entries of a table.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// The end of an entry, and its block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The index of its block in the batch.
    block: u32,
    key_end: usize,
    end: usize,
}

impl TableCache {
    pub fn clear(&mut self) {
        for entries in &mut self.0 {
            entries.bytes.clear();
            entries.entries.clear();
        }
    }

    /// Puts an entry of a block of the batch.
    pub fn put(&mut self, (block, kept): (u32, CachedTable), key: &[u8], value: &[u8]) {
        let Entries { bytes, entries } = &mut self.0[kept as usize];
        bytes.extend_from_slice(key);
        let key_end = bytes.len();
        bytes.extend_from_slice(value);
        entries.push(Entry { block, key_end, end: bytes.len() });
    }

    /// The entries of each table.
    pub fn tables(&self) -> impl Iterator<Item = (CachedTable, &Entries)> {
        CachedTable::ALL.into_iter().zip(&self.0)
    }
}

impl Entries {
    /// The entries of the first `count` blocks: key and value.
    pub fn of_first(&self, count: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = [0].into_iter().chain(self.entries.iter().map(|entry| entry.end));
        let all = starts.zip(&self.entries);
        let wanted = all.filter(move |(_, entry)| (entry.block as usize) < count);
        wanted.map(|(start, entry)| {
            let (key, value) = (start..entry.key_end, entry.key_end..entry.end);
            (&self.bytes[key], &self.bytes[value])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_blocks_that_were_refused_are_left_out() {
        let mut cache = TableCache::default();
        for block in [0, 1, 0, 2] {
            cache.put((block, CachedTable::Conflicts), &[block as u8; 3], &[block as u8]);
        }
        let of = |count| {
            let entries = cache.tables().filter(|(kept, _)| *kept == CachedTable::Conflicts);
            let entries = entries.flat_map(move |(_, entries)| entries.of_first(count));
            entries.map(|(key, value)| (key[0], value.len()))
        };
        assert_eq!(of(1).collect::<Vec<_>>(), [(0, 1), (0, 1)]);
        assert_eq!(of(2).collect::<Vec<_>>(), [(0, 1), (1, 1), (0, 1)]);
        assert_eq!((of(0).count(), of(9).count()), (0, 4));
        assert_eq!(
            cache.tables().map(|(_, entries)| entries.of_first(9).count()).sum::<usize>(),
            4
        );
    }
}
