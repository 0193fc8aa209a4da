//! A table of our own store under the workload.

use super::keys::{Key, PREFIX_BYTES};
use super::workload::{Change, Error, KeyValueStore};
use blockmill_store::{CommitPart, Fetched, Store, StoreOptions, Table, TableOptions};
use std::path::Path;

/// A store with one table.
pub struct Ours {
    store: Store,
    table: Table,
    fetched: Fetched,
}

impl Ours {
    /// Opens or creates it in `dir`; the table and its cache get `memory` bytes together.
    ///
    /// # Errors
    /// Returns an error of the store.
    pub fn open(dir: &Path, memory: usize) -> Result<Self, Error> {
        let mut opening = Store::open(dir, &StoreOptions::default())?;
        let options =
            TableOptions { prefix_bytes: PREFIX_BYTES as u8, ..TableOptions::new(memory) };
        let table = opening.table("pairs", &options)?;
        let (store, _) = opening.finish()?;
        Ok(Self { store, table, fetched: Fetched::default() })
    }

    fn commit(&mut self) -> Result<(), Error> {
        Ok(self.store.commit(&mut [CommitPart::Table(&mut self.table)], b"")?)
    }
}

impl KeyValueStore for Ours {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        Ok(self.table.get(key, out)?)
    }

    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        self.table.fetch(keys, &mut self.fetched)?;
        (0..keys.len()).filter_map(|at| self.fetched.value(at)).for_each(found);
        Ok(())
    }

    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let mut scan = self.table.scan_prefix(prefix)?;
        while let Some((key, value)) = scan.next()? {
            found(key, value);
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        for (key, value) in changes {
            match value {
                Some(value) => self.table.put(key, value)?,
                None => self.table.delete(key)?,
            }
        }
        self.commit()
    }

    fn wait_for_background(&mut self) -> Result<(), Error> {
        while self.table.is_merging() {
            self.table.wait_for_merge();
            self.commit()?;
        }
        Ok(())
    }
}
