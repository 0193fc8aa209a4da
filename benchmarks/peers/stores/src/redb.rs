//! redb: a copy-on-write B-tree in Rust.

mod driver;

use driver::keys::Key;
use driver::workload::{Change, Error, KeyValueStore};
use redb::{Database, ReadableDatabase, TableDefinition};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    driver::main(&driver::Store { version: "redb 4.6.0", open })
}

const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");

struct Redb(Database);

/// All the memory is one cache.
fn open(dir: &Path, memory: usize) -> Result<Box<dyn KeyValueStore>, Error> {
    let database = Database::builder().set_cache_size(memory).create(dir.join("pairs.redb"))?;
    let transaction = database.begin_write()?;
    transaction.open_table(PAIRS)?;
    transaction.commit()?;
    Ok(Box::new(Redb(database)))
}

impl KeyValueStore for Redb {
    fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, Error> {
        let table = self.0.begin_read()?.open_table(PAIRS)?;
        let found = table.get(&key[..])?;
        Ok(found.map(|value| out.extend_from_slice(value.value())).is_some())
    }

    // it has no call for many keys; in their order, neighbours share pages
    fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let table = self.0.begin_read()?.open_table(PAIRS)?;
        let mut keys: Vec<&Key> = keys.iter().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(value) = table.get(&key[..])? {
                found(value.value());
            }
        }
        Ok(())
    }

    fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let table = self.0.begin_read()?.open_table(PAIRS)?;
        for pair in table.range(prefix..)? {
            let (key, value) = pair?;
            if !key.value().starts_with(prefix) {
                break;
            }
            found(key.value(), value.value());
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), Error> {
        let transaction = self.0.begin_write()?;
        {
            let mut table = transaction.open_table(PAIRS)?;
            for (key, value) in changes {
                match value {
                    Some(value) => table.insert(&key[..], value.as_slice())?,
                    None => table.remove(&key[..])?,
                };
            }
        }
        Ok(transaction.commit()?)
    }

    fn wait_for_background(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
