//! Puts the results of executed blocks into the tables and the undo log.

use super::undo::Replacements;
use super::{CachedTable, Ledger, history};
use crate::execute::block::Executed;
use crate::import::TaskResults;
use crate::rule::Violation;
use blockmill_store::Table;

/// Number of table entries that are prefetched together.
const PREFETCH_BATCH: usize = 64;

impl Ledger {
    /// Puts the results of the first `count` blocks of a batch into the tables, for the next
    /// commit.
    ///
    /// # Errors
    /// Returns the error of the table or the undo log that cannot be written.
    pub(crate) fn put(
        &mut self,
        (first, count): (u32, usize),
        executed: &[Executed],
        (results, tolerated): (&TaskResults, &[(u32, Violation)]),
    ) -> blockmill_store::Result<()> {
        // after an error the tables hold a part of a chunk: nothing may be committed
        (self.pending, self.changed) = (None, true);
        let mut replaced = Replacements::new(first, tolerated);
        let storage = &mut self.storage;
        for changes in
            executed.iter().take(count).flat_map(|each| each.changes.chunks(PREFETCH_BATCH))
        {
            let keys: Vec<&[u8]> = changes.iter().map(|(key, _)| key.as_slice()).collect();
            storage.touch(&keys);
            for (key, value) in changes {
                match value {
                    Some(value) => storage.put(key.as_slice(), value)?,
                    None => storage.delete(key.as_slice())?,
                }
            }
        }
        if let Some(history) = &mut self.history {
            for (height, executed) in (first..).zip(executed.iter().take(count)) {
                history::put(history, height, &executed.changes)?;
            }
        }
        for cache in &results.caches() {
            for (kept, entries) in cache.tables() {
                let table = self.table(kept);
                if replaced.needs_lookup(kept) {
                    for (key, value) in entries.of_first(count) {
                        replaced.record(kept, table, key, value)?;
                        table.put(key, value)?;
                    }
                } else {
                    put_all(table, entries.of_first(count))?;
                }
            }
        }
        match replaced.records(&executed[..count.min(executed.len())]) {
            Some(records) => self.undo.append(first, &records, &mut self.facts)?,
            None => self.undo.give_up()?,
        }
        for (height, root) in (first..).zip(results.roots().iter().take(count)) {
            self.roots.put(&height.to_be_bytes(), &root.0)?;
            self.facts.root = *root;
        }
        Ok(())
    }

    fn table(&mut self, kept: CachedTable) -> &mut Table {
        match kept {
            CachedTable::Transactions => &mut self.transactions,
            CachedTable::Conflicts => &mut self.conflicts,
            CachedTable::Transfers => &mut self.transfers,
            CachedTable::Updates => &mut self.updates,
        }
    }
}

/// Puts entries into a table.
fn put_all<'a>(
    table: &mut Table,
    mut entries: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> blockmill_store::Result<()> {
    let (mut keys, mut values) =
        (Vec::with_capacity(PREFETCH_BATCH), Vec::with_capacity(PREFETCH_BATCH));
    loop {
        keys.clear();
        values.clear();
        for (key, value) in entries.by_ref().take(PREFETCH_BATCH) {
            keys.push(key);
            values.push(value);
        }
        if keys.is_empty() {
            return Ok(());
        }
        table.touch(&keys);
        keys.iter().zip(&values).try_for_each(|(key, value)| table.put(key, value))?;
    }
}
