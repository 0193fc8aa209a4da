//! Entries of tables on their way to the commit.

/// A table that blocks and results have entries in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Where transactions are.
    Transactions,
    /// What transactions name as conflicting.
    Conflicts,
    /// Transfers by account.
    Transfers,
    /// When balances changed last.
    Updates,
}

impl Kept {
    const ALL: [Self; 4] = [Self::Transactions, Self::Conflicts, Self::Transfers, Self::Updates];
}

/// Entries of tables, those of each in the order in which they were put. Later ones of the same key
/// count.
#[derive(Debug, Default)]
pub(crate) struct Cache([Entries; Kept::ALL.len()]);

/// Entries of a table.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// Where an entry ends, and whose it is.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The place of its block in the batch.
    block: u32,
    key_end: usize,
    end: usize,
}

impl Cache {
    pub fn clear(&mut self) {
        for entries in &mut self.0 {
            entries.bytes.clear();
            entries.entries.clear();
        }
    }

    /// Puts an entry of a block of the batch.
    pub fn put(&mut self, (block, kept): (u32, Kept), key: &[u8], value: &[u8]) {
        let Entries { bytes, entries } = &mut self.0[kept as usize];
        bytes.extend_from_slice(key);
        let key_end = bytes.len();
        bytes.extend_from_slice(value);
        entries.push(Entry { block, key_end, end: bytes.len() });
    }

    /// The entries of each table.
    pub fn tables(&self) -> impl Iterator<Item = (Kept, &Entries)> {
        Kept::ALL.into_iter().zip(&self.0)
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
        let mut cache = Cache::default();
        for block in [0, 1, 0, 2] {
            cache.put((block, Kept::Conflicts), &[block as u8; 3], &[block as u8]);
        }
        let of = |count| {
            let entries = cache.tables().filter(|(kept, _)| *kept == Kept::Conflicts);
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
