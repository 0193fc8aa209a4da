//! fjall: a log-structured merge tree in Rust.

mod driver;

use driver::keys::Key;
use driver::workload::{Change, Error, KeyValueStore};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    driver::main(&driver::Store { version: "fjall 3.1.13", open })
}

struct Fjall {
    database: Database,
    pairs: Keyspace,
}

/// A half of the memory for blocks; changes take the other.
fn open(dir: &Path, memory: usize) -> Result<Box<dyn KeyValueStore>, Error> {
    let half = memory as u64 / 2;
    let database = Database::builder(dir).cache_size(half).open()?;
    let options = || KeyspaceCreateOptions::default().max_memtable_size((half / 2).min(64 << 20));
    let pairs = database.keyspace("pairs", options)?;
    Ok(Box::new(Fjall { database, pairs }))
}

impl KeyValueStore for Fjall {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        let found = self.pairs.get(key)?;
        Ok(found.map(|value| out.extend_from_slice(&value)).is_some())
    }

    // it has no call for many keys; in their order, neighbours share blocks
    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let mut keys: Vec<&Key> = keys.iter().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(value) = self.pairs.get(key)? {
                found(&value);
            }
        }
        Ok(())
    }

    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        for pair in self.pairs.prefix(prefix) {
            let (key, value) = pair.into_inner()?;
            found(&key, &value);
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(&self.pairs, key, value.as_slice()),
                None => batch.remove(&self.pairs, key),
            }
        }
        Ok(batch.commit()?)
    }

    fn wait_for_background(&mut self) -> Result<(), Error> {
        Ok(self.pairs.rotate_memtable_and_wait()?)
    }
}
