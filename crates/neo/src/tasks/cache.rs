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

/// Entries of tables, in the order in which they were put. Later ones of the same key count.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// Where an entry ends, and whose it is.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kept: Kept,
    /// The place of its block in the batch.
    block: u32,
    key_end: usize,
    end: usize,
}

impl Cache {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// Puts an entry of a block of the batch.
    pub fn put(&mut self, (block, kept): (u32, Kept), key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.entries.push(Entry { kept, block, key_end, end: self.bytes.len() });
    }

    /// The entries of the first `count` blocks: table, key and value.
    pub fn of_first(&self, count: usize) -> impl Iterator<Item = (Kept, &[u8], &[u8])> {
        let starts = [0].into_iter().chain(self.entries.iter().map(|entry| entry.end));
        let all = starts.zip(&self.entries);
        let wanted = all.filter(move |(_, entry)| (entry.block as usize) < count);
        wanted.map(|(start, entry)| {
            let (key, value) = (start..entry.key_end, entry.key_end..entry.end);
            (entry.kept, &self.bytes[key], &self.bytes[value])
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
        let of = |count| cache.of_first(count).map(|(_, key, value)| (key[0], value.len()));
        assert_eq!(of(1).collect::<Vec<_>>(), [(0, 1), (0, 1)]);
        assert_eq!(of(2).collect::<Vec<_>>(), [(0, 1), (1, 1), (0, 1)]);
        assert_eq!((of(0).count(), of(9).count()), (0, 4));
    }
}
